"""The compiled kernels: their cache stamp, and that they give what the uncompiled functions give."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.kernels import ccd_position, entries, levels, stamps  # noqa: F401  (the entries of a module)
from poise.kernels.jit import compiler

SCRIPT = """
import json, sys
import numpy as np
import poise
from tests.strategies import random_q, random_skeleton, rng_of
out = []
for seed in range(4):
    rng = rng_of(seed)
    s = random_skeleton(rng, 6, couple=False)
    pose = poise.Pose(s, random_q(rng, s))
    out.append(pose.world.affine.ravel().tolist())
    out.append(pose.world.rotations.ravel().tolist())
    out.append(pose.jacobian("j5").ravel().tolist())
    for solver in (poise.CCD(iterations=3), poise.CCD(iterations=3, order="tip-first", hinge="project", max_turn=0.5)):
        out.append(poise.solve(pose, poise.Position("j5", rng.normal(size=3)), solver=solver).pose.q.tolist())
json.dump(out, sys.stdout)
"""


def run(**environment):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], check=True, capture_output=True, text=True, env=os.environ | environment
    )
    return json.loads(done.stdout)


@pytest.mark.long
def test_compiled_and_uncompiled_kernels_agree():
    for compiled_row, plain_row in zip(run(), run(POISE_KERNELS="plain"), strict=True):
        np.testing.assert_allclose(compiled_row, plain_row, atol=1e-9)


def test_the_cache_is_stamped_with_the_whole_kernel_package():
    """The stamp is a private attribute of Numba: a new release must be seen to honour it still."""
    function = entries.ENTRIES["ccd_position.solve"].function
    dispatcher = compiler.make_kernel_dispatcher(function, releases_gil=True)
    stamp = f"{stamps.compute_package_stamp()} {levels.LEVELS[levels.find_level()].cpu}"
    assert dispatcher._cache._cache_file._source_stamp == stamp


@pytest.mark.long
def test_changing_a_kernel_file_invalidates_the_cache(tmp_path):
    """A callee in another file changes; without the stamp the caller's stale machine code would run."""
    shutil.copytree(
        Path(poise.__file__).parent, tmp_path / "poise", ignore=shutil.ignore_patterns("__pycache__", "web")
    )
    callee = tmp_path / "poise" / "kernels" / "unit_rows.py"
    code = (
        "import numpy as np\nfrom poise.kernels.unit_rows import scale_rows_to_unit as kernel\n"
        "rows = np.array([[3.0, 4.0]])\nkernel(rows)\nprint(rows[0, 0], sum(kernel.stats.cache_hits.values()))"
    )

    def answer():
        done = subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=tmp_path,
            # Python's own cache tells sources apart by whole seconds, and would run the old one.
            env=os.environ
            | {"POISE_KERNELS": "jit", "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
            | {"PYTHONPATH": str(tmp_path)},
        )  # fmt: skip
        return done.stdout.split()

    assert answer() == ["0.6", "0"]
    assert answer() == ["0.6", "1"]  # unchanged: from the cache
    callee.write_text(callee.read_text().replace("row[i] /= length", "row[i] /= 0.5 * length"))
    assert answer() == ["1.2", "0"]  # the callee changed: compiled anew


def test_importing_poise_does_not_import_numba():
    code = "import sys, poise, poise.cli; print('numba' in sys.modules, 'matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["False", "False"]
