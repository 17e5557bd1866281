"""The gate that no clock is needed for: how many Python functions a call of solve() takes."""

from __future__ import annotations


def test_solving_for_a_foot_takes_few_calls():
    from gates_work import calls
    from regression_gates import CALLS

    found = calls(0)
    assert found.facts == {"reached": True}
    assert {name: counts[0] <= CALLS[name] for name, counts in found.times.items()} == {"first": True, "warm": True}
