"""Numbers that Python and kernels share: rows are read as they are packed, and knowing them does not bring Numba in."""

import ast
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from poise import Kind
from poise.kernels import arm_targets, layout, planar_two_bone, problem_arrays, two_bone
from tests.kernels.kernel_entries import entered


def flat(row) -> list[float]:
    """The numbers of a row's fields in their order."""
    return [number for field in row for number in (field if isinstance(field, tuple) else (field,))]


class TestRows:
    def test_a_limb_reads_every_number_of_its_row_once_and_in_order(self):
        numbers = np.arange(float(layout.POSED_LIMB_ROW))
        assert flat(entered(two_bone.read_limb)(numbers)) == numbers.tolist()

    def test_a_planar_limb_does_too(self):
        numbers = np.arange(float(layout.POSED_PLANE_ROW))
        assert flat(entered(planar_two_bone.read_plane)(numbers[None], 0)) == numbers.tolist()

    @pytest.mark.long
    def test_limbs_are_stored_as_they_are_read(self):
        for count, read, put in (
            (layout.POSED_LIMB_ROW, entered(two_bone.read_limb), entered(two_bone.write_limb)),
            (
                layout.POSED_PLANE_ROW,
                lambda row: entered(planar_two_bone.read_plane)(row[None], 0),
                entered(planar_two_bone.write_plane),
            ),
        ):
            numbers, stored = np.arange(float(count)), np.zeros(count)
            put(stored, read(numbers))
            assert stored.tolist() == numbers.tolist()

    def test_settings_of_a_limb_do_too(self):
        numbers = np.arange(1.0, layout.LIMB_SETTINGS + 1)
        settings = flat(entered(two_bone.read_settings)(numbers))
        assert [number for number in settings if number] == numbers.tolist()  # a 0 fills the swivel's quaternion

    def test_the_head_of_an_arm_is_read_as_it_is_packed(self):
        numbers = np.arange(layout.ARM_HEAD_SIZE + 3)  # lists follow
        assert entered(arm_targets.read_layout)(numbers) == layout.ArmLayout(*range(layout.ARM_HEAD_SIZE))

    def test_nodes_and_terms_of_a_tree_read_their_columns_in_order(self):
        nodes, terms = np.arange(8).reshape(2, 4), np.arange(20).reshape(2, 10)
        assert entered(problem_arrays.read_node)(nodes, 1) == (4, 5, 6, 7)
        assert entered(problem_arrays.read_term)(terms, 1) == (10, 11, 12, 13, 14, 15)

    @pytest.mark.parametrize(
        ("first", "last"),
        [
            (layout.ARM_DISTANCE_TOLERANCE2, layout.ARM_FIRST_FINISH_WINS), (layout.METHOD_RULE,
            layout.METHOD_SECOND_SETTING),
            (layout.TREE_DAMPING_FACTOR, layout.TREE_PREFERENCE_SHARE),
        ],
    )  # fmt: skip
    def test_layouts_begin_at_zero_and_end_where_their_size_says(self, first, last):
        sizes = {layout.ARM_SETTINGS, layout.METHOD_SETTINGS, layout.TREE_SETTINGS}
        assert first == 0
        assert last + 1 in sizes


class TestModule:
    def test_kinds_of_joints_are_the_skeletons_own(self):
        assert {kind.name: kind.value for kind in Kind} == {name: getattr(layout, name) for name in Kind.__members__}

    def test_no_name_is_given_twice(self):
        tree = ast.parse(Path(layout.__file__).read_text(encoding="utf-8"))
        scopes = [
            tree,
            *(node for node in tree.body if isinstance(node, ast.ClassDef)),
        ]  # two records may share a field
        statements = [[node for node in scope.body if not isinstance(node, ast.ClassDef)] for scope in scopes]
        for own in statements:
            stored = (node for statement in own for node in ast.walk(statement) if isinstance(node, ast.Name))
            names = [node.id for node in stored if isinstance(node.ctx, ast.Store)]
            assert len(names) == len(set(names))
        assert len(statements[0]) > 50

    def test_knowing_them_does_not_import_numba(self):
        script = "import sys, poise.kernels.layout; sys.exit('numba' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
