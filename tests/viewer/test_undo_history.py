"""Undo and redo against a list that a test keeps itself."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from poise.errors import InputError
from poise.viewer.session.undo_history import History


@given(st.lists(st.sampled_from(["do", "undo", "redo"]), max_size=60))
def test_any_order_of_steps_against_a_plain_list(steps):
    """The oracle: all values ever reached on this branch, and where one stands among them."""
    history, values, at = History(), [0], 0
    for number, step in enumerate(steps, 1):
        if step == "do":
            history.add(f"label {number}", values[at])
            values, at = [*values[: at + 1], number], at + 1
        elif step == "undo" and at > 0:
            at -= 1
            assert history.undo(values[at + 1]) == values[at]
        elif step == "redo" and at + 1 < len(values):
            at += 1
            assert history.redo(values[at - 1]) == values[at]
        assert [label is not None for label in history.labels] == [at > 0, at + 1 < len(values)]


def test_nothing_to_do_is_reported():
    history = History()
    with pytest.raises(InputError, match="nothing to undo"):
        history.undo(0)
    with pytest.raises(InputError, match="nothing to redo"):
        history.redo(0)
    assert history.labels == (None, None)


def test_labels_follow():
    history = History()
    history.add("pin", 0)
    history.add("move target", 1)
    assert history.labels == ("move target", None)
    history.undo(2)
    assert history.labels == ("pin", "move target")
    history.add("choose solver", 1)
    assert history.labels == ("choose solver", None)  # what was undone is forgotten


def test_it_keeps_two_hundred_steps():
    history = History()
    for i in range(1000):
        history.add("step", i)
    assert len(history.past) == 200
    undone = [history.undo(-1) for _ in range(200)]
    assert undone == list(range(999, 799, -1))
    assert history.labels[0] is None


def test_clear_forgets():
    history = History()
    history.add("a", 0)
    history.add("b", 1)
    history.undo(2)
    history.clear()
    assert history.labels == (None, None)
