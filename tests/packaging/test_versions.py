"""Poise with the lowest and the highest versions of what it needs, installed in an environment of its own each.

The lowest are the lower bounds in pyproject.toml, the highest what pip finds today; a commit draws one of the two. In
each environment every solver solves, every format is read, the command line is started, and the kernels' own tests run:
not where all that was installed has the versions that it has here, for then they are run here. The environments, with
the kernels compiled in them, stay in .venv/versions for the next run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from packaging.requirements import Requirement

from poise.io import samples
from tests.kernels.tree_cases import NO_EIGHT_LANES
from tests.timeouts import PROCESS
from tests.wheel import PIP, wheel
from tests.workload import LONG, amount, draw, is_drawn

pytestmark = pytest.mark.long

ROOT = Path(__file__).parent.parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
NEEDED = [Requirement(text) for text in PYPROJECT["project"]["dependencies"]]
TOOLS = ("pytest", "hypothesis", "scipy")  # what the kernels' tests import
KERNELS = ROOT / "tests" / "kernels"
OTHER_KERNEL_TESTS = ("test_cuda", "test_native_bits")  # of a compiler and of a library that are the same there
SLOW_KERNEL_TESTS = ("test_a_process_that_compiles", "test_of_all_that_meets_the_goals")
OLDEST = PYPROJECT["project"]["requires-python"].removeprefix(">=")
PYTHON = "{}.{}".format(*sys.version_info)

USE = """
import sys
from pathlib import Path
import numpy as np
import poise
from poise import solvers
from poise.io import samples

prefix, folder = map(Path, sys.argv[1:])
assert prefix in Path(poise.__file__).parents, poise.__file__
figure, again, arm = (poise.load(samples.path(name)) for name in ("humanoid.glb", "humanoid.bvh", "arm.urdf"))
for rig in (figure, again, arm):
    poise.save(rig, folder / "rig.glb")
    assert poise.load(folder / "rig.glb").skeleton.names == rig.skeleton.names
assert set(sys.modules).isdisjoint({"jax", "matplotlib", "trimesh"})
target = figure.rest.world_of("LeftHand").positions + (-0.2, 0.1, 0.15)
many = target + np.linspace(-0.05, 0.05, 20)[:, None]
for name in solvers.names():
    if name != "autodiff":  # of the extra jax
        for solved in (target, many):
            result = poise.solve(figure.rest, poise.Position("LeftHand", solved, root="LeftArm"), solver=name)
            assert np.all(result.reached), name
        print(name)
assert poise.solve(arm.rest, poise.Position("tool", (0.2, 0.2, 0.4))).reached
"""
CALLS = (  # and what each answers with
    (0, ("--help",)),
    (0, ("solve", "--help")),
    (2, ("solve", "--no-such-option")),
    (0, ("info", "humanoid.bvh")),
    (0, ("solve", "humanoid.glb", "--joint", "LeftHand", "--to", "0.45", "1.75", "0.25")),
    (1, ("solve", "arm.urdf", "--joint", "tool", "--to", "9", "9", "9")),
)


def lowest(needed):
    """The version that a requirement allows and none before it."""
    (bound,) = (each.version for each in needed.specifier if each.operator == ">=")
    return f"{needed.name}=={bound}"


VERSIONS = {
    "lowest": [lowest(needed) for needed in NEEDED],
    "highest": [f"{needed.name}{needed.specifier}" for needed in NEEDED],  # with Numba, which kernel tests need
}


def pip(*arguments):
    return subprocess.run([*PIP, *arguments], capture_output=True, text=True, timeout=PROCESS, check=False)


def environment(name, wheel, scratch):
    """The folder of an environment with Poise, these versions of what it needs, and what its tests need."""
    tests = [text for text in PYPROJECT["dependency-groups"]["test"] if Requirement(text).name in TOOLS]
    folder = ROOT / ".venv" / "versions" / f"{PYTHON}-{name}"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=PROCESS)
    # eager: what these need in turn is the newest, too, whatever an earlier run left there
    upgrade = ("install", "--upgrade", "--upgrade-strategy=eager", "--no-compile")  # Python compiles what is used
    if "poise" in versions_in(folder):  # of an earlier run: it has this version too, and would be kept
        pip("--python", folder / "bin" / "python", "uninstall", "--yes", "poise")
    done = pip("--python", folder / "bin" / "python", *upgrade, wheel, *VERSIONS[name], *tests)
    if done.returncode and pip("download", "--no-cache-dir", "--no-deps", "--dest", scratch, "hatchling").returncode:
        pytest.skip("pip can download nothing here; the versions that are wanted are not installed")
    assert not done.returncode, done.stderr
    return folder


def packages_of(folder):
    return folder / "lib" / "python{}.{}".format(*sys.version_info) / "site-packages"


def versions_in(folder):
    """Version by name of all that is installed in an environment."""
    return {each.name: each.version for each in metadata.distributions(path=[str(packages_of(folder))])}


def is_as_here(folder):
    """Whether what is installed there has the same version here: what is tested here is tested for it, too."""
    here = {each.name: each.version for each in metadata.distributions()}
    return all(here.get(name) == version for name, version in versions_in(folder).items())


def run(folder, *arguments):
    """Start the environment's Python in the root of the repository, with nothing of this process's own.

    Tests of trees try two random ones instead of twelve: all kernels run, which other versions may compile wrongly.
    """
    own = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PYTEST", "NUMBA"))}
    return subprocess.run(
        [folder / "bin" / "python", *arguments], capture_output=True, text=True, timeout=PROCESS, check=False, cwd=ROOT,
        env=own | {"CI": "true", "COLUMNS": "120", "POISE_TREES": amount("2", "12")},
    )  # fmt: skip


# The lower bounds are those of the oldest Python.
@pytest.mark.parametrize("name", draw("versions", VERSIONS if PYTHON == OLDEST else [*VERSIONS][1:], 1))
def test_kernels_solvers_formats_and_command_line(name, tmp_path, tmp_path_factory):
    folder = environment(name, wheel(tmp_path_factory), tmp_path)
    used = run(folder, "-W", "error", "-c", USE, folder, tmp_path)
    assert used.returncode == 0, used.stderr
    for code, call in CALLS:
        called = run(folder, "-m", "poise", *(samples.path(word) if word in samples.NAMES else word for word in call))
        assert called.returncode == code, called.stdout + called.stderr
        assert "Traceback" not in called.stderr
    if LONG or (not is_as_here(folder) and is_drawn(f"kernels with the {name} versions", 3)):
        assert_kernels_pass(folder, tmp_path / "report.xml")


def is_too_wide(case):
    """Whether a test was skipped, as this processor has four lanes."""
    return any(each.tag == "skipped" and each.get("message") == NO_EIGHT_LANES for each in case)


def assert_kernels_pass(folder, report):
    files = [path for path in sorted(KERNELS.glob("test_*.py")) if path.stem not in OTHER_KERNEL_TESTS]
    left_out = f"not ({' or '.join(SLOW_KERNEL_TESTS)})"
    tested = run(folder, "-m", "pytest", "-p", "no:cacheprovider", f"--junitxml={report}", "-k", left_out, *files)
    assert tested.returncode == 0, tested.stdout
    cases = list(ET.parse(report).iter("testcase"))  # noqa: S314  (written by the line above)
    assert not [case.get("name") for case in cases if len(case) and not is_too_wide(case)]  # failed or skipped
    found = {f"{case.get('classname')}.".split(".")[2] for case in cases}
    assert found == {path.stem for path in files}
