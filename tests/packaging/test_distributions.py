"""Wheel and source distribution: what they hold, what their metadata says, and that they work where they are installed.

The lines of the README that an index shows run in fresh environments without extras, of each Python that the metadata
names and this machine has.
"""

from __future__ import annotations

import email.policy
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import poise
from tests.conftest import ROOT
from tests.docs.pages import blocks
from tests.packaging.test_versions import pip
from tests.timeouts import PROCESS
from tests.wheel import build, source_distribution, wheel
from tests.workload import draw

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = sorted(re.findall(r"Python :: (3\.\d+)", str(PROJECT["classifiers"])))
HERE = "{}.{}".format(*sys.version_info)

USE = """
import contextlib, importlib.util, io, json, pydoc, shlex, subprocess, sys
from importlib.metadata import version
from pathlib import Path
import poise

prefix = Path(sys.argv[1])
assert prefix in Path(poise.__file__).parents, poise.__file__
assert version("poise") == poise.__version__
for name in poise.__all__:
    assert len(pydoc.render_doc(getattr(poise, name))) > 100, name
assert "Parameters" in pydoc.render_doc(poise.solve)
names, lines = {"__name__": "__main__"}, 0
for language, code in json.load(sys.stdin):
    if language == "python":
        exec(compile(code, "README", "exec"), names)
        continue
    for line in code.splitlines():
        words = shlex.split(line, comments=True)
        called = subprocess.run([prefix / "bin" / words[0], *words[1:]], capture_output=True, text=True)
        extra = "plot" if "--plot" in words else "view" if "view" in words else None
        assert called.returncode == (2 if extra == "view" else 0), called.stdout + called.stderr
        assert extra is None or f"pip install 'poise[{extra}]'" in called.stderr, called.stderr
        lines += 1
assert names["result"].reached and names["answers"].reached.all() and not names["far"].reached
assert importlib.util.find_spec("numba") is None  # the library has all kernels
assert names["planted"].report and Path("upstairs.glb").stat().st_size > 10_000 and lines == 5
"""


@pytest.fixture(scope="module")
def metadata(tmp_path_factory):
    """The metadata of the wheel."""
    with zipfile.ZipFile(wheel(tmp_path_factory)) as file:
        (name,) = (name for name in file.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser(policy=email.policy.compat32).parsestr(file.read(name).decode())


def files_of_wheel(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def run_readme(environment, metadata, folder):
    """Run the lines of the README, and help(), with the environment's Python in a folder."""
    code = [(block.language, block.code) for block in blocks(metadata.get_payload())]
    assert [language for language, _ in code].count("python") == 6
    own = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PYTEST", "NUMBA"))}
    done = subprocess.run(
        [environment / "bin" / "python", "-W", "error", "-c", USE, environment], input=json.dumps(code), text=True,
        capture_output=True, timeout=2 * PROCESS, check=False, cwd=folder, env=own,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


class TestMetadata:
    @pytest.mark.long
    def test_the_version_is_that_of_the_package(self, metadata):
        assert metadata["Version"] == poise.__version__
        assert "version" in PROJECT["dynamic"]

    def test_licences(self, metadata, tmp_path_factory):
        assert metadata["License-Expression"] == "Apache-2.0 AND MIT"
        files = files_of_wheel(wheel(tmp_path_factory))
        held = {name.partition("/licenses/")[2]: text for name, text in files.items() if "/licenses/" in name}
        assert set(held) == set(metadata.get_all("License-File"))
        assert {"LICENSE", "NOTICE"} < set(held)
        for package in json.loads((ROOT / "src/poise/viewer/web/third_party/VERSIONS.json").read_text())["packages"]:
            assert f"src/poise/viewer/web/third_party/{package['name']}/LICENSE" in held
            assert package["version"] in held["NOTICE"].decode()

    def test_the_extra_all_has_all_others(self, metadata):
        extras = PROJECT["optional-dependencies"]
        (everything,) = extras["all"]
        assert everything == f"poise[{','.join(name for name in extras if name != 'all')}]"
        needed = [text for text in metadata.get_all("Requires-Dist") if "extra ==" in text]
        assert len({text.partition(";")[0] for text in needed}) == sum("'all'" in text for text in needed) > 9

    def test_the_readme_reads_well_on_an_index(self, metadata):
        text = metadata.get_payload()
        assert "pip install poise" in text
        assert "'poise[view]'" in text
        assert re.findall(r"\]\((?!https?:)", text) == []
        assert [word for word in ("![", "scripts/", "this folder", "<!--", "docs/") if word in text] == []
        headings = re.findall(r"^##+ .*", text, re.MULTILINE)
        assert set(re.findall(r"^##+ .*", (ROOT / "README.md").read_text(), re.MULTILINE)) - set(headings) == {
            "## Where to read on"
        }


class TestContents:
    def test_the_source_distribution_holds_what_builds_the_wheel(self, tmp_path_factory):
        with tarfile.open(source_distribution(tmp_path_factory)) as file:
            names = [name.partition("/")[2] for name in file.getnames()]
        beside = {name for name in names if not name.startswith("src/poise/")}
        assert beside == {
            "pyproject.toml", "hatch_build.py", "README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "NOTICE",
            ".gitignore", "PKG-INFO",
        }  # fmt: skip
        assert not [name for name in names if "__pycache__" in name]

    @pytest.mark.long
    def test_it_builds_the_same_wheel(self, tmp_path_factory, tmp_path):
        with tarfile.open(source_distribution(tmp_path_factory)) as file:
            file.extractall(tmp_path, filter="data")
        (unpacked,) = tmp_path.iterdir()
        build(unpacked, tmp_path / "built", "wheel")
        (again,) = (tmp_path / "built").iterdir()
        assert files_of_wheel(again) == files_of_wheel(wheel(tmp_path_factory))

    def test_the_wheel_has_every_file_of_the_package_once(self, tmp_path_factory):
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard", "src"], cwd=ROOT, capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        if listed.returncode:
            pytest.skip("this folder is no checkout of git")
        files = {name.removeprefix("src/") for name in listed.stdout.splitlines() if (ROOT / name).exists()}
        held = {name for name in files_of_wheel(wheel(tmp_path_factory)) if not name.startswith("poise-")}
        assert held == files


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="an environment has other folders there")
@pytest.mark.parametrize("version", draw("Python of the README", PYTHONS, 1))
def test_the_readme_in_a_fresh_environment_of_each_python(version, metadata, tmp_path_factory, tmp_path):
    """The source distribution with this Python, the wheel with the others; without extras."""
    python = find_python(version)
    if python is None:
        pytest.skip(f"no Python {version} here")
    folder = ROOT / ".venv" / "versions" / f"{version}-installed"
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True, timeout=PROCESS)
    pip("--python", folder / "bin" / "python", "uninstall", "--yes", "poise")  # of an earlier run
    file = source_distribution(tmp_path_factory) if version == HERE else wheel(tmp_path_factory)
    done = pip("--python", folder / "bin" / "python", "install", "--no-compile", file)
    if done.returncode and pip("download", "--no-cache-dir", "--no-deps", "--dest", tmp_path, "hatchling").returncode:
        pytest.skip("pip can download nothing here")
    assert not done.returncode, done.stderr
    run_readme(folder, metadata, tmp_path)


def find_python(version):
    """The path of an interpreter of this version on PATH or of pyenv; None without one."""
    found = [shutil.which(f"python{version}")] if version != HERE else [sys.executable]
    if shutil.which("pyenv"):
        root = subprocess.run(["pyenv", "root"], capture_output=True, text=True, check=True).stdout.strip()
        found += sorted(Path(root).glob(f"versions/{version}.*/bin/python"))
    for path in filter(None, found):
        if not subprocess.run([path, "-c", "import venv"], capture_output=True, check=False).returncode:
            return path
    return None
