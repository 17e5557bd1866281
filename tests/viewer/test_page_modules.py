"""The modules of the page: folders by subject, imports that exist and point down."""

from __future__ import annotations

import re
from pathlib import Path

from poise.viewer.offline_page import WEB_FOLDER

MODULES = WEB_FOLDER / "js"
IMPORT = re.compile(r"(?:\bfrom|\bimport)\s*\(?\s*\"poise/([^\"]+)\"")
FOLDERS = re.findall(r"^- `(\w+)/`", (MODULES / "README.md").read_text(encoding="utf-8"), re.MULTILINE)


def find_imports(module: Path) -> set[str]:
    return set(IMPORT.findall(module.read_text(encoding="utf-8")))


def test_every_folder_is_listed_and_says_what_it_is_for():
    assert sorted(FOLDERS) == sorted(path.name for path in MODULES.iterdir() if path.is_dir())
    for name in FOLDERS:
        assert (MODULES / name / "README.md").read_text(encoding="utf-8").startswith(f"# {name}/\n\n"), name


def test_imports_of_folders_point_down():
    """In js/README.md a folder stands above those that it imports from, types in comments left out."""
    for module in MODULES.glob("*/*.js"):
        code = re.sub(r"/\*\*.*?\*/", "", module.read_text(encoding="utf-8"), flags=re.DOTALL)
        for name in IMPORT.findall(code):
            folder = name.split("/")[0]
            assert FOLDERS.index(module.parent.name) <= FOLDERS.index(folder), f"{module.name} imports {name}"


def test_imports_exist_and_every_module_is_imported():
    """Files of types (.ts) are imported in comments only."""
    imports = set().union(*map(find_imports, MODULES.rglob("*.js")))
    modules = {path.relative_to(MODULES).as_posix() for path in MODULES.rglob("*.[jt]s")}
    assert imports <= modules
    assert modules - imports == {"main.js", "player.js"}


def test_state_of_the_page_is_in_the_store():
    """A module has no variable that outlives a call; caches of drawings are objects and constants."""
    for module in MODULES.rglob("*.js"):
        assert not re.findall(r"^(?:export )?(?:let|var) \w+", module.read_text(encoding="utf-8"), re.MULTILINE), module
