"""The public interface is that of public_api.txt: a change of it is seen, and written down."""

from __future__ import annotations

import difflib
import importlib
import sys

import pytest

import poise
from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import write_public_api

RENEW = "run `python scripts/write_public_api.py`, and write the change into CHANGELOG.md"
WRITTEN = write_public_api.read_sections()
LONG = ("poise.jax", "JSON")


def difference(section):
    """The lines of a section that the file and the package do not share."""
    lines = WRITTEN[section].splitlines(), write_public_api.describe(section).splitlines()
    return [line for line in difflib.ndiff(*lines) if line[0] in "+-"]


def test_the_file_has_every_section():
    assert list(WRITTEN) == list(write_public_api.SECTIONS), RENEW


@pytest.mark.parametrize(
    "section",
    [
        pytest.param(section, marks=[pytest.mark.long] if section.startswith(LONG) else [], id=section)
        for section in write_public_api.SECTIONS
    ],
)
def test_the_file_says_what_the_package_has(section):
    assert not difference(section), RENEW


def test_a_changed_signature_is_seen(monkeypatch):
    def masses(thing: poise.Rig, *, unit: str = "kg") -> dict[str, float]:
        raise NotImplementedError

    monkeypatch.setattr(poise, "masses", masses)
    monkeypatch.delattr(poise.Pose, "blend")
    removed, added = ([line[2:].strip() for line in difference("poise") if line[0] == sign] for sign in "-+")
    assert [line.partition("(")[0] for line in removed] == ["def blend", "def masses"]
    assert added == ["def masses(thing: poise.Rig, *, unit: str = 'kg') -> dict[str, float]"]


def test_a_changed_option_is_seen(monkeypatch):
    module = importlib.import_module("poise.cli.solve")

    def solve(file: str, *, loud: bool = False) -> None:
        raise NotImplementedError

    monkeypatch.setattr(module, "solve", solve)
    assert "-         --joint: str" in difference("command line")
