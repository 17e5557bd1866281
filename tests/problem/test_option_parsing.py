"""What a class takes, read from its signature and docstring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
import pytest
from numpy.typing import ArrayLike

import poise
from poise import solvers
from poise.solvers.base import option_parsing
from poise.solvers.base.option_parsing import describe_type, list_parameters, parse_options, read_summary


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A class with one option of each type.

    Parameters
    ----------
    count
        How many.
    share
        A share,
        over two lines.
    sort, weights
        Of two options.
    """

    count: int = 3
    share: float | None = None
    sort: Literal["up", "down"] = "up"
    weights: Mapping[str, float] | float = 0.0
    names: tuple[str, ...] = ()
    keep: bool = False
    axis: ArrayLike = (0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("axis=1,0,-2.5", (1.0, 0.0, -2.5)),
        ("count=12", 12), ("share=none", None), ("share=0.25", 0.25), ("share=inf", np.inf), ("sort=down", "down"),
        ("weights=2", 2.0), ("weights=a=1,b c=0.5", {"a": 1.0, "b c": 0.5}),
        ("names=hand,left foot", ("hand", "left foot")),
        ("keep=yes", True), ("keep=false", False),
    ],
)  # fmt: skip
def test_a_text_is_read_by_the_type_of_its_option(text, value):
    (found,) = parse_options(Sample, [text], "sample").values()
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("count=1.5", "count is a whole number, not '1.5'"),
        ("count=true", "count is a whole number"),
        ("share=nan", "share is a number or none"),
        ("share=much", "share is a number or none, not 'much'"),
        ("sort=left", "sort is up or down"),
        ("weights=a=b", "weights is joint=number with commas between or a number"),
        ("weights=a=1,2", "weights is joint=number with commas between or a number"),
        ("keep=maybe", "keep is true or false"),
        ("axis=", "axis is numbers with commas between"),
        ("count", "written name=value, not 'count'"),
        ("counts=2", "no option of sample 'counts'; did you mean 'count'"),
        ("zzz=2", "no option of sample 'zzz'; options of sample: count, "),
    ],
)
def test_what_cannot_be_read_says_what_would_do(text, says):
    with pytest.raises(poise.PoiseError, match=says):
        parse_options(Sample, [text], "sample")


def test_an_option_is_given_once():
    with pytest.raises(poise.InputError, match="count of sample is given twice"):
        parse_options(Sample, ["count=1", "count=2"], "sample")


def test_sentences_come_from_the_docstring():
    message = {parameter.name: parameter.description for parameter in list_parameters(Sample)}
    assert message["count"] == "How many."
    assert message["share"] == "A share, over two lines."
    assert message["sort"] == message["weights"] == "Of two options."
    assert message["names"] == ""


@pytest.mark.parametrize("name", solvers.names())
def test_every_option_of_every_solver_has_a_sentence_and_a_type(name):
    found = list_parameters(type(solvers.make_solver(name)))
    assert found
    for parameter in found:
        assert parameter.description, f"{name} does not say what {parameter.name} is"
        assert describe_type(parameter.type_hint)


@pytest.mark.parametrize("name", solvers.names())
def test_a_default_that_is_written_out_is_read_back(name):
    solver = solvers.make_solver(name)
    for parameter in list_parameters(type(solver)):
        if isinstance(parameter.default, bool | int | float | str):
            text = repr(parameter.default) if isinstance(parameter.default, float) else str(parameter.default)
            assert parameter.read(text) == parameter.default


def test_the_summary_is_the_first_line_of_what_a_class_says():
    class Silent:
        pass

    Silent.__doc__ = None
    assert read_summary(Sample) == "A class with one option of each type."
    assert read_summary(Silent) == ""


def test_an_alias_for_numbers_is_in_no_other_type(monkeypatch):
    """From NumPy 2.5 on ArrayLike is an alias without arguments of its own."""
    monkeypatch.setattr(option_parsing, "ArrayLike", TypeVar("ArrayLike"))
    assert describe_type(float | None) == "a number or none"
