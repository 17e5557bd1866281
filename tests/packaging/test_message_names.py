"""Names of the package in messages and docstrings: each can be imported as it is written."""

from __future__ import annotations

import ast
import pkgutil
import re

import pytest

from tests.conftest import ROOT

DOTTED = re.compile(r"\bpoise(?:\.[A-Za-z_]\w*)+")
OF_FILES = {"poise.rest"}  # in glTF, below `extras`


def names_in(source):
    """The dotted names in the texts of a source. A text that is nothing but a name is a key, such as one of Numba."""
    texts = [node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    return {
        name for text in texts if isinstance(text, str) for name in DOTTED.findall(text) if name != text
    } - OF_FILES  # fmt: skip


def resolves(name):
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return False
    return True


@pytest.mark.long
def test_names_in_texts_can_be_imported():
    found = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in (ROOT / "src").rglob("*.py")
        for name in names_in(path.read_text(encoding="utf-8"))
    }
    assert ("src/poise/solving/solve.py", "poise.CCD") in found
    assert [f"{path} writes {name}" for path, name in sorted(found) if not resolves(name)] == []


def test_a_name_that_is_not_there_is_found():
    source = 'raise ValueError(f"give a poise.Nothing or a poise.CCD, not {1}")\nkey = "poise.key"'
    assert [name for name in sorted(names_in(source)) if not resolves(name)] == ["poise.Nothing"]
