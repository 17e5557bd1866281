"""The API reference: every public name is in it once, and its docstring speaks of every parameter."""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections import Counter
from functools import cached_property

import pytest
from numpydoc.validate import validate

import poise
from tests.docs.pages import DOCS

PAGES = {path.stem: path.read_text(encoding="utf-8") for path in (DOCS / "api").glob("*.md")}
PUBLIC = [name for name in poise.__all__ if not inspect.ismodule(getattr(poise, name))]
SHOWN = [
    f"poise.{name.removeprefix('poise.')}"
    for text in PAGES.values()
    for name in re.findall(r"^\.\. auto(?:class|function|exception):: (\S+)$", text, flags=re.MULTILINE)
]
TYPES = re.findall(r"^\.\. autodata:: (\S+)$", PAGES["solving"], flags=re.MULTILINE)  # for annotations
CHECKED = {
    "GL06": "a section that nobody knows",
    "GL07": "sections out of order",
    "PR01": "parameters that are not documented",
    "PR02": "parameters that do not exist",
    "PR03": "parameters out of order",
    "PR07": "a parameter of which nothing is said",
    "PR10": "a parameter's colon",
    "SS01": "no summary",
}
NOT_CALLED = {
    "poise.Kind", "poise.Prepared", "poise.Result", "poise.Status", "poise.View", "poise.viewer.widgets.Handle",
    "poise.extend.Format", "poise.extend.JointGoal", "poise.extend.Solver",
}  # fmt: skip


def value_of(name):
    return pkgutil.resolve_name(name)


CLASSES = [name for name in SHOWN if inspect.isclass(value_of(name))]


def members(kind):
    """Full names of the public methods and properties of a class, those of our own bases included."""
    for base in kind.__mro__:
        if base.__module__.startswith("poise."):
            for name, value in vars(base).items():
                function = getattr(value, "__func__", value)
                if not name.startswith("_") and (
                    inspect.isfunction(function) or isinstance(value, property | cached_property)
                ):
                    yield f"{base.__module__}.{base.__qualname__}.{name}"


def wrong(name, *, briefly=False):
    """What is wrong with a docstring; one that is brief may have no section Parameters: `with_target(value)`."""
    found = validate(name)
    whole = not briefly or "\nParameters\n" in found["docstring"]
    return [text for code, text in found["errors"] if code in CHECKED and (whole or code != "PR01")]


def test_every_public_name_is_on_one_page():
    times = Counter([*SHOWN, *(f"poise.{name}" for name in TYPES)])
    assert {name: times[f"poise.{name}"] for name in PUBLIC} == dict.fromkeys(PUBLIC, 1)
    assert set(times.values()) == {1}


def test_what_extensions_are_written_with_is_on_a_page():
    known = {value_of(name) for name in SHOWN}
    callables = {name for name in poise.extend.__all__ if inspect.isroutine(value_of(f"poise.extend.{name}"))}
    classes = {name for name in poise.extend.__all__ if inspect.isclass(value_of(f"poise.extend.{name}"))}
    assert [name for name in sorted(callables | classes) if value_of(f"poise.extend.{name}") not in known] == []


def test_the_index_lists_what_is_on_the_pages():
    listed = re.findall(r"^\| \[(poise\.\S+)\]", PAGES["index"], flags=re.MULTILINE)
    assert sorted(listed) == sorted(SHOWN)


@pytest.mark.parametrize("name", SHOWN)
def test_a_docstring_names_every_parameter(name):
    assert wrong(name, briefly=name in NOT_CALLED) == []


@pytest.mark.parametrize("name", CLASSES)
def test_every_member_has_a_docstring_that_names_what_exists(name):
    found = {member: wrong(member, briefly=True) for member in members(value_of(name))}
    assert {member: message for member, message in found.items() if message} == {}


def sample(a, b, *, c=1):
    """Add numbers.

    Parameters
    ----------
    b
        One.
    d
        No such thing.
    """
    return a + b + c


def test_what_is_left_out_is_found():
    left_out, unknown = wrong(f"{__name__}.sample", briefly=True)
    assert all(name in left_out for name in "ac")
    assert "'d'" in unknown
