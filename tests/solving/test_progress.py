"""progress=True: a bar on the terminal."""

from __future__ import annotations

import io
import sys

import pytest

import poise
from poise import precompile
from tests.strategies import straight_chain

CHAIN = straight_chain(2)
START = poise.Pose(CHAIN, CHAIN.rest_q)
POINT = [0.5, 1.0, 0.5]


class Terminal(io.StringIO):
    def isatty(self):
        return True


def open_terminal(monkeypatch):
    for name in ("TTY_COMPATIBLE", "TTY_INTERACTIVE", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys, "stderr", Terminal())
    return sys.stderr


@pytest.mark.parametrize(("targets", "done"), [(POINT, "1/1"), ([POINT], "1/1"), ([POINT] * 7, "7/7")])
def test_the_bar_ends_with_all_targets_done(targets, done, monkeypatch):
    terminal = open_terminal(monkeypatch)
    poise.solve(START, poise.Position("tip", targets), progress=True)
    assert done in terminal.getvalue()


def test_without_a_terminal_nothing_is_written(capsys):
    poise.solve(START, poise.Position("tip", POINT), progress=True)
    assert capsys.readouterr().err == ""


def test_compare_shows_its_stages(monkeypatch):
    terminal = open_terminal(monkeypatch)
    arm = poise.load(poise.samples.path("arm.urdf"))
    poise.compare(arm.rest, poise.Position("tool", POINT), solvers=["ccd"], effort="quick", progress=True)
    assert "100%" in terminal.getvalue()
    assert "ccd, " in terminal.getvalue()


def test_warmup_shows_its_steps(monkeypatch):
    terminal = open_terminal(monkeypatch)
    monkeypatch.setattr(precompile, "list_steps", lambda _: [("first [step]", lambda: None), ("last", lambda: None)])
    poise.warmup("arms", progress=True)
    assert "first [step]" in terminal.getvalue()
    assert "2/2" in terminal.getvalue()
    with pytest.raises(poise.InputError, match="progress must be a function, not 'yes'"):
        poise.warmup("arms", progress="yes")
