"""The library of kernels: its stamps, its choice, its arguments, and the same bits as the JIT."""

from __future__ import annotations

import compileall
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import poise
from poise.kernels import levels, native, stamps
from poise.maths.arrays import allocate_aligned

ROOT = Path(poise.__file__).parent.parent.parent
LIBRARY = native.load_library()
pytestmark = pytest.mark.skipif(
    not native.get_library_path().exists(), reason="this platform has no library of kernels: they are compiled"
)

SOLVE_ARM = """
import sys
import poise
from poise.io import samples
from poise.kernels import entries, levels

arm = poise.load(samples.path("arm.urdf")).rest
result = poise.solve(arm, poise.Position("tool", (0.3, 0.2, 0.4)))
# Those of eight lanes are plain where registers have four numbers: nothing calls them there.
used = sorted({str(each.backend) for name, each in entries.ENTRIES.items() if not levels.has_eight_lanes(name)})
print(bool(result.reached), "numba" in sys.modules, used)
"""


def run_python(code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own."""
    cleared = {name: value for name, value in os.environ.items() if name not in ("POISE_KERNELS", "POISE_LEVEL")}
    return subprocess.run(
        [sys.executable, "-c", code], env=cleared | variables, capture_output=True, text=True, cwd=ROOT, check=False
    )


def test_the_library_can_be_loaded():
    assert LIBRARY is not None


class TestStamps:
    @pytest.mark.long
    def test_library_belongs_to_the_sources(self):
        """A kernel was edited and the library not built again: run scripts/kernels."""
        assert LIBRARY.package_stamp == stamps.compute_package_stamp()
        assert LIBRARY.list_stamps() == stamps.compute_kernel_stamps()

    def test_every_entry_has_a_stamp(self):
        assert len(stamps.compute_kernel_stamps()) > 50
        level = levels.find_level()
        has_eight = levels.LEVELS[level].lane_count == 8
        names = {name for name in LIBRARY.list_stamps() if has_eight or not levels.has_eight_lanes(name)}
        assert names == set(LIBRARY.list_kernels(level))

    @pytest.mark.long
    def test_an_edit_changes_the_stamps_of_the_kernels_that_reach_it(self, tmp_path):
        copy = copy_package(tmp_path)
        path = copy / "poise" / "kernels" / "fabrik.py"
        path.write_text(path.read_text() + "\n\ndef unused():\n    return 1\n")
        assert find_backends(copy, "fabrik.solve", "ccd_position.solve") == ["native", "native"]
        edit(path, "return 23 * m + 6", "return 24 * m + 6")
        assert find_backends(copy, "fabrik.solve", "ccd_position.solve") == ["jit", "native"]

    @pytest.mark.long
    def test_an_edit_of_a_shared_function_reaches_every_kernel_that_calls_it(self, tmp_path):
        copy = copy_package(tmp_path)
        edit(copy / "poise" / "kernels" / "vec_quat.py", "return Vec(a.x + b.x, a.y + b.y, a.z + b.z)",
             "return Vec(b.x + a.x, b.y + a.y, b.z + a.z)")  # fmt: skip
        names = "fabrik.solve", "ccd_position.solve", "unit_rows.scale_rows_to_unit"
        assert find_backends(copy, *names) == ["jit", "jit", "native"]

    @pytest.mark.long
    def test_an_edit_of_a_constant_reaches_the_kernels_that_name_its_module(self, tmp_path):
        """Kernels read columns as `layout.TREE_DAMPING_FLOOR`."""
        copy = copy_package(tmp_path)
        path = copy / "poise" / "kernels" / "layout.py"
        edit(path, "TREE_DAMPING_FACTOR, TREE_DAMPING_FLOOR = 0, 1", "TREE_DAMPING_FACTOR, TREE_DAMPING_FLOOR = 1, 0")
        assert find_backends(copy, "tree_lm.plain4", "unit_rows.scale_rows_to_unit") == ["jit", "native"]

    @pytest.mark.long
    def test_an_edit_of_a_function_reaches_the_kernels_that_name_its_module(self, tmp_path):
        """Kernels call functions as `goal_jacobians.write_pole`."""
        copy = copy_package(tmp_path)
        path = copy / "poise" / "kernels" / "goal_jacobians.py"
        edit(path, "def write_pole(", "def write_pole_(")
        edit(path, "def write_pole_(", "def write_pole(tree, lanes, targets, t):\n    return 0.0\n\n\ndef write_pole_(")
        assert find_backends(copy, "tree_lm.plain4", "unit_rows.scale_rows_to_unit") == ["jit", "native"]


def copy_package(folder: Path) -> Path:
    """Copy the package without compiled files and return the folder that holds it."""
    shutil.copytree(
        Path(poise.__file__).parent, folder / "src" / "poise", ignore=shutil.ignore_patterns("__pycache__", "web")
    )
    return folder / "src"


def edit(path: Path, old: str, new: str) -> None:
    """Replace a text in a file."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def find_backends(source_folder: Path, *names: str) -> list[str]:
    """Return the backends of kernels in a copy of the package."""
    modules = sorted({name.rpartition(".")[0] for name in names})
    code = "".join(f"import poise.kernels.{module}\n" for module in modules) + (
        "import json\nfrom poise.kernels.entries import ENTRIES\n"
        f"print(json.dumps([ENTRIES[name].backend for name in {names!r}]))"
    )
    done = run_python(code, PYTHONPATH=str(source_folder))
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class TestBackend:
    def test_a_solve_runs_without_numba(self):
        assert run_python(SOLVE_ARM).stdout == "True False ['native']\n"

    @pytest.mark.long
    def test_plain_python_solves_without_numba(self):
        assert run_python(SOLVE_ARM, POISE_KERNELS="plain").stdout == "True False ['plain']\n"

    def test_an_unknown_backend_is_refused(self):
        done = run_python(SOLVE_ARM, POISE_KERNELS="fast")
        assert done.returncode == 1
        assert "POISE_KERNELS is one of native, jit, plain, not 'fast'" in done.stderr

    def test_an_unknown_level_is_refused(self):
        done = run_python(SOLVE_ARM, POISE_LEVEL="v9")
        assert done.returncode == 1
        assert re.search(r"POISE_LEVEL is one of portable, v2(, v3)?(, v4)? on this processor, not 'v9'", done.stderr)

    @pytest.mark.long
    def test_every_level_of_this_processor_solves(self):
        for level in LIBRARY.list_levels():
            assert run_python(SOLVE_ARM, POISE_LEVEL=level).stdout == "True False ['native']\n"

    @pytest.mark.long
    def test_without_library_and_numba_one_line_says_what_helps(self, tmp_path):
        copy = copy_package(tmp_path)
        shutil.rmtree(copy / "poise" / "kernels" / "libraries")
        code = "import sys\nsys.modules['numba'] = None\n" + SOLVE_ARM.replace('"numba" in sys.modules', "False")
        code = code.replace("import sys\n", "import sys, importlib.util\n", 1).replace(
            "sys.modules['numba'] = None\n",
            "find = importlib.util.find_spec\n"
            "importlib.util.find_spec = lambda name, *rest: None if name == 'numba' else find(name, *rest)\n",
        )
        done = run_python(code, PYTHONPATH=str(copy))
        assert done.stdout == "True False ['plain']\n", done.stderr
        assert done.stderr.count("pip install poise[jit]") == 1
        assert run_python(code, PYTHONPATH=str(copy), POISE_QUIET="1").stderr == ""
        logged = run_python(f"import logging\nlogging.basicConfig()\n{code}", PYTHONPATH=str(copy)).stderr
        assert logged.startswith("WARNING:poise.kernels:kernels run as plain Python")
        level = "logging.getLogger('poise').setLevel('ERROR')"
        assert run_python(f"import logging\n{level}\n{code}", PYTHONPATH=str(copy)).stderr == ""

    @pytest.mark.long
    def test_native_refuses_an_edited_kernel(self, tmp_path):
        copy = copy_package(tmp_path)
        edit(copy / "poise" / "kernels" / "arm_targets.py", "return is_reached", "return 1 * is_reached")
        done = run_python(SOLVE_ARM, PYTHONPATH=str(copy), POISE_KERNELS="native")
        assert "no code for arm_targets.solve_targets" in done.stderr

    @pytest.mark.long
    def test_a_package_without_sources_solves(self, tmp_path):
        """As in a program that is distributed without Python files."""
        copy = copy_package(tmp_path)
        assert compileall.compile_dir(copy, quiet=1, legacy=True)
        for path in copy.rglob("*.py"):
            path.unlink()
        done = run_python(SOLVE_ARM, PYTHONPATH=str(copy))
        assert (done.stdout, done.stderr) == ("True False ['native']\n", "")

    @pytest.mark.long
    def test_read_only_package_and_home_change_nothing(self, tmp_path):
        copy = copy_package(tmp_path)
        subprocess.run(["chmod", "-R", "a-w", str(copy)], check=True)
        try:
            done = run_python(SOLVE_ARM, PYTHONPATH=str(copy), HOME="/nonexistent", NUMBA_CACHE_DIR="/nonexistent")
            assert (done.stdout, done.stderr) == ("True False ['native']\n", "")
        finally:
            subprocess.run(["chmod", "-R", "u+w", str(copy)], check=True)


class TestArguments:
    """Arguments of native kernels: the right answer, or a TypeError with the kernel's name."""

    def kernel(self, name: str):
        return LIBRARY.list_kernels(levels.find_level())[name]

    def test_too_few_and_too_many(self):
        scale_rows = self.kernel("unit_rows.scale_rows_to_unit")
        with pytest.raises(TypeError, match="unit_rows.scale_rows_to_unit: too few arguments"):
            scale_rows()
        with pytest.raises(TypeError, match="too many arguments"):
            scale_rows(np.ones((1, 3)), 1.0)

    @pytest.mark.parametrize(
        ("rows", "reason"),
        [
            ([[1.0, 2.0]], "must be a NumPy array of float64"),
            (None, "must be a NumPy array"),
            (np.ones(3), "array of float64 with 2 dimensions"),
            (np.ones((2, 2, 2)), "array of float64 with 2 dimensions"),
            (np.ones((2, 3), dtype=np.float32), "array of float64"),
            (np.ones((2, 3), dtype=np.int64), "array of float64"),
            (np.ones((2, 3), dtype=">f8"), "array of float64"),
            (np.ones((3, 2)).T, "C order"),
            (np.ones((4, 4))[:, ::2], "C order"),
            (np.frombuffer(b"\0" * 49, dtype=np.uint8)[1:].view(np.float64).reshape(2, 3), "aligned|writeable"),
        ],
    )
    def test_another_array_is_refused(self, rows, reason):
        with pytest.raises(TypeError, match=reason):
            self.kernel("unit_rows.scale_rows_to_unit")(rows)

    def test_a_read_only_array_is_taken_where_it_is_read(self):
        rows = np.ones((2, 3))
        rows.flags.writeable = False
        with pytest.raises(TypeError, match="argument 0 must be writeable"):
            self.kernel("unit_rows.scale_rows_to_unit")(rows)
        columns, limits, q = np.zeros(0, dtype=np.int64), np.zeros((0, 8)), np.zeros((1, 4))
        for each in (columns, limits, q):
            each.flags.writeable = False
        assert self.kernel("limits.find_max_rotation_excess")(columns, limits, q) == 0.0

    def test_scratch_memory_must_be_aligned(self):
        kernel, memory = self.kernel("goal_errors.measure4"), allocate_aligned(32)
        empty, indices = np.zeros((0, 0)), np.zeros(0, dtype=np.int64)
        given = empty, np.zeros((0, 2), dtype=np.int64), empty, np.zeros((0, 3)), indices, np.zeros((1, 3))
        for work in (memory[:24], memory[:0], memory[1:1]):  # without items nothing is read
            kernel(*given, work, np.zeros((0, 0, 2)))
        with pytest.raises(TypeError, match="argument 6 must be aligned to 64 bytes"):
            kernel(*given, memory[1:25], np.zeros((0, 0, 2)))

    def test_arrays_with_an_equal_type_of_their_own_are_taken(self):
        import pickle

        rows = pickle.loads(pickle.dumps(np.array([[3.0, 0.0, 4.0]])))  # noqa: S301  (our own bytes)
        assert self.kernel("unit_rows.scale_rows_to_unit")(rows) == -1
        assert rows.tolist() == [[0.6, 0.0, 0.8]]

    def test_subclasses_and_numpy_numbers_are_taken(self):
        class Rows(np.ndarray):
            pass

        rows = np.array([[3.0, 0.0, 4.0]]).view(Rows)
        assert self.kernel("unit_rows.scale_rows_to_unit")(rows) == -1
        maps, rotations = np.eye(3, 4).reshape(1, 12), np.zeros((1, 4))
        self.kernel("kinematics.similarities_to_quaternions")(maps, np.float32(0.5), rotations)
        assert rotations.tolist() == [[1.0, 0.0, 0.0, 0.0]]

    @pytest.mark.parametrize("number", ["1", None, 1j, [1.0]])
    def test_what_is_no_number_is_refused(self, number):
        with pytest.raises(TypeError):
            self.kernel("kinematics.similarities_to_quaternions")(np.zeros((0, 12)), number, np.zeros((0, 4)))


@pytest.mark.skipif(shutil.which("nm") is None, reason="nm of binutils lists symbols")
def test_the_library_asks_for_nothing_but_libm_memory_and_python():
    listed = subprocess.run(["nm", "-D", "--undefined-only", str(native.get_library_path())], capture_output=True,
                            text=True, check=True).stdout  # fmt: skip
    names = {line.split()[-1].partition("@")[0] for line in listed.splitlines()}
    libm = {
        "acos",
        "asin",
        "atan",
        "atan2",
        "cos",
        "exp",
        "exp2",
        "expm1",
        "hypot",
        "pow",
        "sin",
        "sincos",
        "tanh",
        "fmod",
    }
    memory = {"memcpy", "memset", "memmove", "strcmp", "strlen"}
    runtime = {"__cxa_finalize", "__gmon_start__", "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable"}
    assert {name for name in names - libm - memory - runtime if not re.match(r"_?Py", name)} == set()
