"""Numbers that Python and kernels share: rows are read as they are packed, and knowing them does not bring Numba in."""

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from poise import Kind
from poise.kernels import codes
from poise.kernels.limb import planar, rows
from tests.kernels.entered import entered


def flat(row) -> list[float]:
    """The numbers of a row's fields in their order."""
    return [number for field in row for number in (field if isinstance(field, tuple) else (field,))]


class TestRows:
    def test_a_limb_reads_every_number_of_its_row_once_and_in_order(self):
        numbers = np.arange(float(codes.LIMB_ROW))
        assert flat(entered(rows.limb_in)(numbers)) == numbers.tolist()

    def test_a_planar_limb_does_too(self):
        numbers = np.arange(float(codes.PLANE_ROW))
        assert flat(entered(planar.plane_at)(numbers[None], 0)) == numbers.tolist()

    def test_limbs_are_stored_as_they_are_read(self):
        for count, read, put in (
            (codes.LIMB_ROW, entered(rows.limb_in), entered(rows.put_limb)),
            (codes.PLANE_ROW, lambda row: entered(planar.plane_at)(row[None], 0), entered(planar.put_plane)),
        ):
            numbers, stored = np.arange(float(count)), np.zeros(count)
            put(stored, read(numbers))
            assert stored.tolist() == numbers.tolist()

    def test_settings_of_a_limb_do_too(self):
        numbers = np.arange(1.0, codes.LIMB_SETTINGS + 1)
        settings = flat(entered(rows.settings_of)(numbers))
        assert [number for number in settings if number] == numbers.tolist()  # a 0 fills the swivel's quaternion

    @pytest.mark.parametrize(
        ("first", "last"),
        [
            (codes.REACH_LINKS, codes.REACH_WIDTH), (codes.ARM_DISTANCE, codes.ARM_RACE),
            (codes.METHOD_RULE, codes.METHOD_SECOND), (codes.TREE_FACTOR, codes.TREE_PULL),
        ],
    )  # fmt: skip
    def test_layouts_begin_at_zero_and_end_where_their_size_says(self, first, last):
        sizes = {codes.REACH_HEAD, codes.ARM_SETTINGS, codes.METHOD_SETTINGS, codes.TREE_SETTINGS}
        assert first == 0
        assert last + 1 in sizes


class TestModule:
    def test_kinds_of_joints_are_the_skeletons_own(self):
        assert {kind.name: kind.value for kind in Kind} == {name: getattr(codes, name) for name in Kind.__members__}

    def test_no_name_is_given_twice(self):
        tree = ast.parse(Path(codes.__file__).read_text(encoding="utf-8"))
        names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
        assert len(names) == len(set(names)) > 100

    def test_knowing_them_does_not_import_numba(self):
        script = "import sys, poise.kernels.codes; sys.exit('numba' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
