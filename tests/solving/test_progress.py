"""progress=True: a bar on the terminal."""

from __future__ import annotations

import io
import sys

import pytest

import poise
from tests.strategies import straight_chain

CHAIN = straight_chain(2)
START = poise.Pose(CHAIN, CHAIN.rest_q)
POINT = [0.5, 1.0, 0.5]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("targets", "done"), [(POINT, "1/1"), ([POINT], "1/1"), ([POINT] * 7, "7/7")])
def test_the_bar_ends_with_all_targets_done(targets, done, monkeypatch):
    for name in ("TTY_COMPATIBLE", "TTY_INTERACTIVE", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys, "stderr", Terminal())
    poise.solve(START, poise.Position("tip", targets), progress=True)
    assert done in sys.stderr.getvalue()


def test_without_a_terminal_nothing_is_written(capsys):
    poise.solve(START, poise.Position("tip", POINT), progress=True)
    assert capsys.readouterr().err == ""
