"""What commits draw: each choice comes, and never none."""

from __future__ import annotations

import pytest

from tests import workload


@pytest.fixture(autouse=True)
def usual_amount(monkeypatch):
    monkeypatch.setattr(workload, "LONG", False)


def test_each_choice_is_drawn_by_some_commit(monkeypatch):
    found = set()
    for commit in range(100):
        monkeypatch.setenv(workload.DRAWN_COMMIT, str(commit))
        drawn = workload.draw("letters", "abcdefg", 3)
        assert len(drawn) == 3
        found |= {*drawn}
    assert found == {*"abcdefg"}


def test_one_of_so_many_commits_draws(monkeypatch):
    drawn = 0
    for commit in range(1000):
        monkeypatch.setenv(workload.DRAWN_COMMIT, str(commit))
        drawn += workload.is_drawn("a name", 5)
    assert 150 < drawn < 250


def test_without_a_commit_everything_is_drawn(monkeypatch):
    monkeypatch.setenv(workload.DRAWN_COMMIT, "")
    assert workload.draw("letters", "abcdefg", 3) == [*"abcdefg"]
    assert workload.is_drawn("a name", 1000)
