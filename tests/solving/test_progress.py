"""The argument `progress`: a bar on the terminal, or calls of a function."""

from __future__ import annotations

import inspect
import io
import re
import sys
import warnings

import numpy as np
import pytest

import poise
from poise import cli, precompile
from poise.io import samples
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
    done, total = re.findall(r"(\d+)/(\d+)", terminal.getvalue())[-1]
    assert done == total
    assert "ccd, " in terminal.getvalue()


def pretend_to_compile(monkeypatch):
    """Warm up with two short steps, as where no library has the kernels."""
    monkeypatch.setattr(precompile, "has_code_of_all", lambda: False)
    monkeypatch.setattr(precompile, "list_steps", lambda _: [("first [step]", lambda: None), ("last", lambda: None)])


def test_warmup_shows_its_steps(monkeypatch):
    terminal = open_terminal(monkeypatch)
    pretend_to_compile(monkeypatch)
    poise.warmup("arms", progress=True)
    assert "first [step]" in terminal.getvalue()
    assert "2/2" in terminal.getvalue()
    with pytest.raises(poise.InputError, match="progress must be a function, not 'yes'"):
        poise.warmup("arms", progress="yes")


WALK = samples.path("humanoid.bvh")
CLIP = poise.load(WALK).clips[0]
PLANTING = ["finding contacts", "placing feet", "writing poses"]


def stream(progress):
    return list(poise.prepare(START, poise.Position("tip", POINT)).stream(np.array([POINT] * 7), progress=progress))


def bake(progress):
    clip = poise.Clip.at_rate(poise.Pose(CHAIN, np.tile(CHAIN.rest_q, (7, 1))), 30)
    return poise.bake(clip, poise.Position("tip", POINT), progress=progress)


CALLS = {
    "solve": lambda progress, _: poise.solve(START, poise.Position("tip", [POINT] * 7), progress=progress),
    "stream": lambda progress, _: stream(progress),
    "bake": lambda progress, _: bake(progress),
    "plant_feet": lambda progress, _: poise.plant_feet(CLIP, poise.Terrain.slope(5), progress=progress),
    "lock_feet": lambda progress, _: poise.lock_feet(CLIP, progress=progress),
    "convert": lambda progress, folder: poise.convert(WALK, folder / "walk.glb", progress=progress),
    "warmup": lambda progress, _: poise.warmup("arms", progress=progress),
}
STAGES = {
    "solve": (7, ["solving"]),
    "stream": (7, ["solving"]),
    "bake": (7, ["solving"]),
    "plant_feet": (3, [*PLANTING, "planting"]),
    "lock_feet": (3, [*PLANTING, "locking"]),
    "convert": (4, ["reading", "converting", "writing", "checking"]),
    "warmup": (2, ["first [step]", "last"]),
}


@pytest.fixture
def fast_warmup(monkeypatch):
    pretend_to_compile(monkeypatch)


@pytest.mark.usefixtures("fast_warmup")
@pytest.mark.parametrize("name", STAGES)
class TestEveryFunction:
    def test_a_function_gets_done_total_and_stage(self, name, tmp_path):
        calls = []
        CALLS[name](lambda *call: calls.append(call), tmp_path)
        done, totals, stages = zip(*calls, strict=True)
        total, names = STAGES[name]
        assert done == tuple(sorted(done))
        assert done[-1] == total
        assert set(totals) == {total}
        assert [stage for stage in dict.fromkeys(stages) if stage in names] == names

    def test_true_shows_a_bar_that_ends(self, name, tmp_path, monkeypatch):
        terminal = open_terminal(monkeypatch)
        CALLS[name](True, tmp_path)
        total, names = STAGES[name]
        assert f"{total}/{total}" in terminal.getvalue()
        assert names[-1] in terminal.getvalue()

    def test_false_and_none_show_nothing(self, name, tmp_path, monkeypatch):
        terminal = open_terminal(monkeypatch)
        for progress in (False, None):
            CALLS[name](progress, tmp_path)
        assert terminal.getvalue() == ""

    @pytest.mark.parametrize("progress", ["yes", 1, lambda: None])
    def test_anything_else_is_refused(self, name, progress, tmp_path):
        with pytest.raises(poise.InputError, match=r"progress must be a function( of done, total and stage)?, not "):
            CALLS[name](progress, tmp_path)


def test_the_argument_has_one_type_everywhere():
    functions = [poise.solve, poise.bake, poise.compare, poise.warmup, poise.plant_feet, poise.lock_feet, poise.convert]
    functions.append(poise.Prepared.stream)
    types = {inspect.signature(function).parameters["progress"].annotation for function in functions}
    assert types == {"bool | Callable[[int, int, str], None] | None"}


@pytest.mark.usefixtures("fast_warmup")
@pytest.mark.parametrize(
    ("name", "expected"), [("solve", [7]), ("stream", [7]), ("bake", [7]), ("warmup", ["first [step]", "last"])]
)
def test_functions_of_one_argument_warn(name, expected, tmp_path):
    calls = []
    with pytest.warns(DeprecationWarning, match="of done, total and stage") as caught:
        CALLS[name](calls.append, tmp_path)
    assert calls == expected
    assert [warning.filename for warning in caught] == [__file__]


def test_functions_of_step_and_share_warn():
    arm, calls = poise.load(samples.path("arm.urdf")), []

    def report(step, share):
        calls.append((step, share))

    with pytest.warns(DeprecationWarning, match="that of stage and share") as caught:
        poise.compare(arm.rest, poise.Position("tool", POINT), solvers=["ccd"], effort="quick", progress=report)
    assert [warning.filename for warning in caught] == [__file__]
    assert calls[-1][1] == 1.0
    assert "ccd, iterations" in dict(calls)


def test_an_error_in_the_function_stops_the_work():
    def stop(_done, _total, stage):
        if stage == "placing feet":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        poise.plant_feet(CLIP, poise.Terrain.slope(5), progress=stop)


@pytest.mark.parametrize(
    ("words", "stages"),
    [
        (("lock", WALK, "-o", "a.bvh"), ["reading", *PLANTING, "measuring", "6/6"]),
        (("convert", WALK, "a.glb"), ["reading", "checking", "4/4"]),
    ],
)
def test_commands_show_the_same_stages(words, stages, tmp_path, monkeypatch):
    terminal = open_terminal(monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["poise", *map(str, words)])
    with warnings.catch_warnings(), pytest.raises(SystemExit, match="0"):
        cli.main()
    assert [stage for stage in stages if stage not in terminal.getvalue()] == []
