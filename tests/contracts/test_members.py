"""What editors, debuggers and notebooks ask of a value: each of its members, without an exception."""

from __future__ import annotations

import inspect
import pickle

import pytest

import poise
from poise import extend
from tests.contracts import values

# values ask their old names, too
pytestmark = pytest.mark.filterwarnings("ignore:.*was renamed to:DeprecationWarning")


@pytest.mark.parametrize("name", values.EVERY)
def test_the_members_of_a_value_can_be_listed(name):
    value = values.EVERY[name]()
    found = dict(inspect.getmembers(value))
    assert {member for member in dir(type(value)) if not member.startswith("_")} <= {*found, *MISSING.get(name, ())}


# A result has solutions only where all were asked for.
MISSING = {name: ["solutions"] for name in ("Result", "batch", "trace", "batch of a clip")}


@pytest.mark.parametrize("module", [poise, extend], ids=lambda module: module.__name__)
def test_the_members_of_a_class_can_be_listed(module):
    for name in module.__all__:
        assert inspect.getmembers(getattr(module, name)), name


def test_a_result_has_solutions_where_all_were_asked_for():
    assert hasattr(values.EVERY["every solution"](), "solutions")
    result = values.VALUES["Result"]()
    assert not hasattr(result, "solutions")
    with pytest.raises(poise.InputError, match='only with prefer="all"') as caught:
        _ = result.solutions
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # noqa: S301  (written here)
    with pytest.raises(AttributeError, match="'Result' has no attribute 'solution'"):
        _ = result.solution
