"""The JavaScript of others: what is shipped is what was fetched, and it needs nothing that is not shipped."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SCRIPT = ROOT / "scripts" / "refresh_third_party.py"
WEB = ROOT / "src" / "poise" / "viewer" / "web"
FOLDER = WEB / "third_party"


def check(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), "--check", "--folder", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def copied(tmp_path) -> Path:
    shutil.copytree(FOLDER, tmp_path / "third_party")
    return tmp_path / "third_party"


def test_shipped_files_are_the_listed_ones():
    done = check(FOLDER)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_changed_file_is_noticed(copied):
    path = copied / "three" / "three.core.js"
    path.write_bytes(path.read_bytes() + b" ")
    assert "three.core.js: is not what was fetched" in check(copied).stdout


def test_a_missing_and_an_added_file_are_noticed(copied):
    (copied / "uplot" / "LICENSE").rename(copied / "uplot" / "other.js")
    done = check(copied)
    assert done.returncode == 1
    assert "uplot/LICENSE: is missing" in done.stdout
    assert "uplot/other.js: is not listed" in done.stdout


def test_another_version_than_the_scripts_is_noticed(copied):
    versions = json.loads((copied / "VERSIONS.json").read_text())
    versions["packages"][0]["integrity"] = "sha512-other"
    (copied / "VERSIONS.json").write_text(json.dumps(versions))
    assert "lists other versions" in check(copied).stdout


def test_every_package_has_its_licence():
    for package in json.loads((FOLDER / "VERSIONS.json").read_text())["packages"]:
        assert package["licence"] == "MIT"
        licence = (FOLDER / package["name"] / "LICENSE").read_text()
        assert "Permission is hereby granted" in licence


def test_imports_are_names_of_shipped_modules():
    packages = json.loads((FOLDER / "VERSIONS.json").read_text())["packages"]
    known = {name: path for package in packages for name, path in package["imports"].items()}
    modules = set(FOLDER.rglob("*.js"))
    assert {FOLDER / path for path in known.values()} == modules
    for module in modules:
        text = module.read_text(encoding="utf-8")
        names = re.findall(r"""^(?:import|export|\})[^'"]*\bfrom\s*['"]([^'"]+)['"]""", text, flags=re.MULTILINE)
        assert set(names) <= set(known), module


def test_the_page_maps_every_module():
    packages = json.loads((FOLDER / "VERSIONS.json").read_text())["packages"]
    page = (WEB / "index.html").read_text(encoding="utf-8")
    imports = json.loads(re.search(r'<script type="importmap">(.*?)</script>', page, re.DOTALL)[1])["imports"]
    for package in packages:
        for name, path in package["imports"].items():
            assert imports[name] == f"./third_party/{path}"
