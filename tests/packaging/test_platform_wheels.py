"""Wheels of single platforms: what they hold and ask for, and that those work which run here.

The wheel of Linux x86-64 runs in a fresh environment, without Numba, at every level of this processor; that of Linux
AArch64 in an emulator. Those of macOS and Windows are looked at only.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import poise
from poise.kernels import native
from tests.conftest import ROOT
from tests.packaging import test_extras
from tests.packaging.binary_symbols import read_symbols
from tests.timeouts import PROCESS
from tests.wheel import PIP
from tests.workload import LONG

TOOLS = ROOT / "tools" / "native"
PLATFORMS = {  # file of the library: platform of the wheel
    "linux_x86_64.abi3.so": "manylinux_2_17_x86_64",
    "linux_aarch64.abi3.so": "manylinux_2_17_aarch64",
    "darwin_aarch64.abi3.so": "macosx_11_0_arm64",
    "darwin_x86_64.abi3.so": "macosx_11_0_x86_64",
    "win32_x86_64.pyd": "win_amd64",
}
MACOS_NAMES = {  # mathematical functions, memory, and what the linker adds
    "acos", "asin", "atan", "atan2", "cos", "exp", "exp2", "expm1", "fmod", "hypot", "pow", "sin", "tanh",
    "__sincos_stret", "__bzero", "bzero", "memcpy", "memmove", "memset", "memset_pattern16", "strcmp",
    "strlen", "dyld_stub_binder",
}  # fmt: skip
TRACKED = native.LIBRARY_FOLDER / "linux_x86_64.abi3.so"
CALL = """
import json, sys
from pathlib import Path
sys.path.insert(0, {tools!r})
from native import wheels
from native.platforms import PLATFORMS
{code}
"""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not TRACKED.exists(), reason="this checkout has no library of kernels"),
]


def call_tool(code: str) -> str:
    """Run code with tools/native/wheels.py in a process of its own, and return what it prints."""
    pytest.importorskip("hatchling", reason="scripts/test installs it")
    text = CALL.format(tools=str(TOOLS.parent), code=code)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False, timeout=PROCESS)
    assert done.returncode == 0, done.stderr
    return done.stdout


def build_wheel(folder: Path, platform: str, library: Path | None = None) -> Path:
    """Build the wheel of a platform."""
    given = "None" if library is None else f"Path({str(library)!r})"
    return Path(call_tool(f"print(wheels.build_wheel(Path({str(folder)!r}), {platform!r}, {given}))").strip())


def read_wheel(path: Path) -> tuple[list[str], dict[str, list[str]]]:
    """Return the libraries in a wheel, and the fields of METADATA and WHEEL."""
    with zipfile.ZipFile(path) as file:
        libraries = [name for name in file.namelist() if name.endswith((".so", ".pyd"))]
        fields: dict[str, list[str]] = {}
        for name in file.namelist():
            if name.endswith((".dist-info/METADATA", ".dist-info/WHEEL")):
                for key, value in Parser().parsestr(file.read(name).decode()).items():
                    fields.setdefault(key, []).append(value)
    return libraries, fields


def find_compiler(fields: dict[str, list[str]]) -> list[str]:
    """Return what a wheel without extras asks for of Numba."""
    return [text for text in fields["Requires-Dist"] if text.startswith("numba") and "extra ==" not in text]


class TestContents:
    def test_every_library_has_its_platform(self):
        code = "print(json.dumps({wheels.build.get_file_name(each): wheels.make_wheel_platform(each.zig_target)"
        assert json.loads(call_tool(f"{code} for each in PLATFORMS.values()}}))")) == PLATFORMS

    @pytest.mark.parametrize("file_name", PLATFORMS)
    def test_a_platform_has_its_own_library_and_no_numba(self, file_name, tmp_path):
        """Only the place of the library counts here, so its content is not the platform's."""
        library = tmp_path / file_name
        library.write_bytes(TRACKED.read_bytes())
        wheel = build_wheel(tmp_path / "dist", PLATFORMS[file_name], library)
        libraries, fields = read_wheel(wheel)
        assert wheel.name.endswith(f"-cp311-abi3-{PLATFORMS[file_name]}.whl")
        assert libraries == [f"poise/kernels/libraries/{file_name}"]
        assert fields["Tag"] == [f"cp311-abi3-{PLATFORMS[file_name]}"]
        assert fields["Root-Is-Purelib"] == ["false"]
        assert find_compiler(fields) == []
        assert any(text.startswith("numba") for text in fields["Requires-Dist"])  # of the extra `jit`

    def test_other_platforms_get_numba_and_no_library(self, tmp_path):
        wheel = build_wheel(tmp_path, "any")
        libraries, fields = read_wheel(wheel)
        assert wheel.name.endswith("-py3-none-any.whl")
        assert libraries == []
        assert fields["Root-Is-Purelib"] == ["true"]
        (compiler,) = find_compiler(fields)
        assert ";" not in compiler

    def test_builds_from_the_sources_have_the_tracked_library(self, tmp_path):
        """As by `pip install .`: any platform, and Numba where the library is not for it."""
        code = f"wheels._run_hatchling('wheel', Path({str(tmp_path)!r}), {{}})"
        call_tool(code)
        libraries, fields = read_wheel(next(tmp_path.iterdir()))
        assert libraries == [f"poise/kernels/libraries/{TRACKED.name}"]
        (compiler,) = find_compiler(fields)
        assert compiler.endswith("; sys_platform != 'linux' or platform_machine != 'x86_64'")


def run_answers(*command: str | Path, **variables: str) -> dict:
    """Run tools/native/answers.py by a command."""
    own = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "POISE_", "NUMBA"))}
    done = subprocess.run(
        [*command, TOOLS / "answers.py"], capture_output=True, text=True, check=False, timeout=2 * PROCESS,
        env=own | variables,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def assert_agree(answers: dict, others: dict) -> None:
    """Compare `reached` and errors, which agree on all processors."""
    assert set(answers) == set(others)
    for name, answer in answers.items():
        other = others[name]
        assert answer.get("reason") == other.get("reason"), name
        if "reason" not in answer:
            assert answer["reached"] == other["reached"], name
            assert answer["errors"] == pytest.approx(other["errors"], rel=0.0, abs=1e-9), name


@pytest.fixture(scope="module")
def x86_64_python(tmp_path_factory):
    """The Python of an environment with the wheel of Linux x86-64 and what it asks for, without Numba."""
    folder = tmp_path_factory.mktemp("x86_64")
    wheel = build_wheel(folder / "dist", PLATFORMS[TRACKED.name], TRACKED)
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    python = folder / "venv" / "bin" / "python"
    options = ("--no-deps", "--no-index", "--no-compile")
    subprocess.run([*PIP, "--python", python, "install", *options, wheel], check=True, timeout=PROCESS)
    packages = next((folder / "venv" / "lib").iterdir()) / "site-packages"
    (packages / "dependencies.pth").write_text(str(test_extras.environment(folder / "dependencies", "")))
    return python


@pytest.mark.skipif(sys.platform != "linux", reason="the wheel is for Linux")
class TestLinux:
    def test_every_level_solves_without_numba_and_agrees(self, x86_64_python):
        code = "from poise.kernels import native; print(*native.load_library().list_levels())"
        levels = subprocess.run([x86_64_python, "-c", code], capture_output=True, text=True, check=True).stdout.split()
        assert {"v2", "portable"} <= set(levels)
        found = {level: run_answers(x86_64_python, POISE_LEVEL=level) for level in levels}
        for level, answers in found.items():
            assert Path(answers["folder"]).is_relative_to(x86_64_python.parent.parent)
            assert (answers["level"], answers["backends"], answers["has Numba"]) == (level, ["native"], False)
            assert_agree(answers["answers"], found["v2"]["answers"])
        assert sum("errors" in answer for answer in found["v2"]["answers"].values()) > 60


needs_all_libraries = pytest.mark.skipif(
    not LONG, reason="minutes of compiling for all platforms: scripts/test --long, or POISE_LONG=1"
)


@pytest.fixture(scope="module")
def release(tmp_path_factory):
    """The folder with all files of a release."""
    pytest.importorskip("ziglang", reason="scripts/test installs it")
    folder = tmp_path_factory.mktemp("release")
    command = [sys.executable, TOOLS / "wheels.py", folder]
    built = subprocess.run(command, capture_output=True, text=True, check=False, timeout=4 * PROCESS)
    assert built.returncode == 0, built.stderr
    return folder


def find_wheel(release: Path, platform: str) -> Path:
    """Find the wheel of a platform."""
    (wheel,) = release.glob(f"*-cp311-abi3-{platform}.whl")
    return wheel


@needs_all_libraries
class TestRelease:
    def test_all_files_are_there(self, release):
        platforms = {f"cp311-abi3-{platform}.whl" for platform in PLATFORMS.values()}
        found = {path.name.partition(f"{poise.__version__}-")[2] or path.name for path in release.iterdir()}
        assert found == {*platforms, "py3-none-any.whl", f"poise-{poise.__version__}.tar.gz"}

    @pytest.mark.parametrize("file_name", [name for name in PLATFORMS if not name.startswith("linux")])
    def test_libraries_that_do_not_run_here_need_their_system_and_python(self, file_name, release):
        with zipfile.ZipFile(find_wheel(release, PLATFORMS[file_name])) as file:
            symbols = read_symbols(file.read(f"poise/kernels/libraries/{file_name}"))
        assert symbols.machine == ("arm64" if "aarch64" in file_name else "x86_64")
        assert {name for name in symbols.exported if name not in {"__dso_handle", "_mh_dylib_header"}} == {
            "PyInit_poise_kernels"
        }
        python = {name for name in symbols.imported if re.match(r"_?Py", name)}
        assert {"PyModule_Create2", "PyLong_FromLongLong"} < python <= read_stable_names()
        if file_name.endswith(".pyd"):
            own = {name for name in symbols.libraries if not name.startswith("api-ms-win-crt-")}
            assert own == {"KERNEL32.dll", "python3.dll"}
        else:
            assert symbols.libraries == {"/usr/lib/libSystem.B.dylib"}
            assert symbols.imported - python <= MACOS_NAMES


def read_stable_names() -> set[str]:
    """Read the names of Python's stable ABI that the library's C part declares."""
    text = (TOOLS / "python_abi.h").read_text(encoding="utf-8")
    return set(re.findall(r"\b_?Py\w+", "\n".join(line for line in text.splitlines() if "PYTHON_API" in line)))


@pytest.fixture(scope="module")
def aarch64_python(release):
    """The command of a Python for AArch64 in the emulator, with the wheel. What is downloaded stays in .venv."""
    wheel = find_wheel(release, "manylinux_2_17_aarch64")
    made = subprocess.run(
        [sys.executable, TOOLS / "aarch64.py", ROOT / ".venv" / "aarch64", wheel], capture_output=True, text=True,
        check=False, timeout=PROCESS,
    )  # fmt: skip
    if made.returncode == 3:
        pytest.skip(made.stderr)
    assert made.returncode == 0, made.stderr
    return shlex.split(made.stdout)


@needs_all_libraries
@pytest.mark.skipif(sys.platform != "linux", reason="the emulator runs on Linux")
class TestAArch64:
    @pytest.mark.parametrize("level", ["portable", "armv8"])
    def test_answers_agree_with_those_of_x86_64(self, level, aarch64_python):
        answers = run_answers(*aarch64_python, POISE_LEVEL=level)
        assert (answers["machine"], answers["level"], answers["backends"]) == ("aarch64", level, ["native"])
        assert not answers["has Numba"]
        here = run_answers("env", f"PYTHONPATH={ROOT / 'src'}", sys.executable, POISE_LEVEL="portable")
        assert_agree(answers["answers"], here["answers"])

    def test_kernels_of_the_portable_level_have_the_bits_of_x86_64(self, aarch64_python, tmp_path):
        """Kernels alone: NumPy, which prepares their arguments, has other last bits on another processor."""
        file, tool = tmp_path / "calls.pickle", TOOLS / "recorded_calls.py"
        portable = os.environ | {"POISE_LEVEL": "portable", "POISE_KERNELS": "native", "POISE_LANES": "4"}
        recorded = subprocess.run(
            [sys.executable, tool, "record", file], capture_output=True, text=True, check=True, env=portable,
            timeout=PROCESS,
        )  # fmt: skip
        compared = subprocess.run(
            [*aarch64_python, tool, "compare", file], capture_output=True, text=True, check=False, env=portable,
            timeout=PROCESS,
        )  # fmt: skip
        outcome = json.loads(compared.stdout)
        assert (outcome["different"], outcome["signs of zero"]) == ({}, {})
        assert outcome["equal"] == sum(json.loads(recorded.stdout).values()) > 200
