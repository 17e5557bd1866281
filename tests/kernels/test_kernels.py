"""The compiled kernels: their cache stamp, and that they give what the uncompiled functions give."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from poise.kernels import ccd_position, jit, kinematics

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
    for compiled_row, plain_row in zip(run(), run(NUMBA_DISABLE_JIT="1"), strict=True):
        np.testing.assert_allclose(compiled_row, plain_row, atol=1e-9)


@pytest.mark.parametrize(
    "dispatcher",
    [
        ccd_position.solve,
        ccd_position.measure_joint_leverage,
        kinematics.compute_world_maps8,
        kinematics.compute_local_transforms,
        kinematics.compute_jacobians8,
    ],
)
def test_the_cache_is_stamped_with_the_whole_kernel_package(dispatcher):
    """The stamp is a private attribute of Numba: a new release must be seen to honour it still."""
    assert dispatcher._cache._cache_file._source_stamp == jit.SOURCE_STAMP


def test_changing_any_kernel_file_invalidates_the_cache(tmp_path):
    """A callee in another file changes; without the stamp the caller's stale machine code would run."""
    package = tmp_path / "kernels"
    package.mkdir()
    (package / "__init__.py").touch()
    source = (jit.__file__, "jit.py")
    text = Path(source[0]).read_text(encoding="utf-8")
    (package / "jit.py").write_text(text)
    (package / "caller.py").write_text(
        "from kernels.callee import value\nfrom kernels.jit import kernel\n\n\n"
        "@kernel\ndef call():\n    return value()\n"
    )

    def answer(number):
        (package / "callee.py").write_text(
            f"from kernels.jit import inline\n\n\n@inline\ndef value():\n    return {number}\n"
        )
        code = "from kernels.caller import call; print(call(), sum(call.stats.cache_hits.values()))"
        done = subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=tmp_path,
            # Python's own cache tells sources apart by whole seconds, and would run the old one.
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip
        return done.stdout.split()

    assert answer(1) == ["1", "0"]
    assert answer(1) == ["1", "1"]  # unchanged: from the cache
    assert answer(2) == ["2", "0"]  # the callee's file changed: compiled anew


def test_importing_poise_does_not_import_numba():
    code = "import sys, poise, poise.cli; print('numba' in sys.modules, 'matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["False", "False"]
