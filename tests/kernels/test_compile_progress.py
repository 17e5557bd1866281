"""Compiling is said in one line: running where a person looks, once elsewhere, never where the caller says it."""

from __future__ import annotations

import io
import logging
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from numba.core.event import Event, EventStatus

from poise.kernels.jit import compilation


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self):
        return True


class Gone(Screen):
    """A terminal that was closed."""

    def write(self, text):
        raise OSError(text)


def event(module="poise.kernels.arm_targets"):
    function = SimpleNamespace(__module__=module)
    return Event("numba:compile", EventStatus.START, data={"dispatcher": SimpleNamespace(py_func=function)})


@pytest.fixture
def announcer():
    return compilation.CompileProgress()


def compiled(announcer, *modules):
    """Begin and end to compile functions, each inside of the one before."""
    events = [event(module) for module in modules] or [event()]
    for one in events:
        announcer.on_start(one)
    for one in reversed(events):
        announcer.on_end(one)


class TestElsewhere:
    def test_it_is_reported_once(self, announcer, capsys):
        compiled(announcer)
        compiled(announcer)
        message = capsys.readouterr()
        assert message.out == ""
        assert message.err.startswith("poise: compiling for this machine, once")
        assert message.err.count("\n") == 1

    def test_functions_of_others_are_theirs(self, announcer, capsys):
        compiled(announcer, "somebody.else")
        compiled(announcer, "somebody.else", "poise.kernels.kinematics")
        assert capsys.readouterr().err == ""

    def test_a_caller_says_it_itself(self, capsys, monkeypatch):
        monkeypatch.setattr(compilation, "COMPILE_PROGRESS", one := compilation.CompileProgress())
        with compilation.suppress_progress():
            compiled(one)
        assert capsys.readouterr().err == ""
        compiled(one)
        assert capsys.readouterr().err != ""

    def test_without_standard_error(self, announcer, monkeypatch):
        monkeypatch.setattr(sys, "stderr", None)
        compiled(announcer)


class TestWhereAPersonLooks:
    def test_the_line_is_there_and_wiped_out(self, announcer, monkeypatch):
        monkeypatch.setattr(sys, "stderr", screen := Screen())
        compiled(announcer, "poise.kernels.arm", "poise.kernels.kinematics")
        pictures = screen.getvalue().split("\r")
        assert pictures[1] == compilation.format_progress(0, 0.0)
        assert set(pictures[-2]) == {" "}
        assert len(pictures[-2]) >= len(pictures[1])
        assert pictures[-1] == ""
        assert "\n" not in screen.getvalue()

    def test_seconds_add_up(self, announcer, monkeypatch):
        clock = SimpleNamespace(perf_counter=lambda: clock.now, now=0.0)
        monkeypatch.setattr(compilation, "time", clock)
        monkeypatch.setattr(sys, "stderr", screen := Screen())
        for _ in range(3):
            announcer.on_start(event())
            clock.now += 4.0
            announcer.on_end(event())
        assert "] 8 s" in screen.getvalue()

    def test_a_closed_terminal_stops_nothing(self, announcer, monkeypatch):
        monkeypatch.setattr(sys, "stderr", Gone())
        compiled(announcer)

    @pytest.mark.parametrize("step", range(60))
    def test_the_mark_stays_in_its_bar(self, step):
        text = compilation.format_progress(step, 12.3)
        assert len(text) == len(compilation.format_progress(0, 12.3)) < 80
        assert text[text.index("[") + 1 : text.index("]")].strip() == "===="


class TestSilence:
    @pytest.mark.parametrize("stream", [io.StringIO, Screen])
    @pytest.mark.parametrize(("value", "lines"), [("1", False), ("0", True), ("", True)])
    def test_the_variable(self, announcer, monkeypatch, stream, value, lines):
        monkeypatch.setenv("POISE_QUIET", value)
        monkeypatch.setattr(sys, "stderr", screen := stream())
        compiled(announcer)
        assert bool(screen.getvalue()) is lines

    @pytest.mark.parametrize("name", ["poise", "poise.kernels"])
    @pytest.mark.parametrize(("level", "lines"), [(logging.WARNING, 0), (logging.INFO, 1)])
    def test_the_level_of_a_logger(self, announcer, monkeypatch, capsys, name, level, lines):
        monkeypatch.setattr(logging.getLogger("poise"), "propagate", False)
        monkeypatch.setattr(logging.getLogger(name), "level", level)
        logging.getLogger("poise.kernels").manager._clear_cache()
        compiled(announcer)
        assert capsys.readouterr().err.count("\n") == lines

    @pytest.mark.parametrize(("level", "records"), [(logging.WARNING, 0), (logging.INFO, 1)])
    def test_records_replace_the_line_where_a_program_wants_them(self, announcer, capsys, caplog, level, records):
        caplog.set_level(level)  # of the root logger
        compiled(announcer)
        compiled(announcer)
        found = [(each.name, each.levelname, each.getMessage()) for each in caplog.records]
        text = "compiling for this machine, once, which takes seconds; `poise warmup` does it ahead"
        assert found == [("poise.kernels", "INFO", text)] * records
        assert capsys.readouterr().err.count("poise: ") == 1 - records

    def test_a_handler_of_its_own_gets_what_its_level_allows(self, announcer, monkeypatch, capsys):
        monkeypatch.setattr(logging.getLogger("poise"), "handlers", [logging.NullHandler()])
        compiled(announcer)
        assert capsys.readouterr().err == ""


@pytest.mark.long
def test_a_fresh_process_says_it(tmp_path):
    code = "import poise; print(poise.load(poise.sample('arm')).rest.world.positions.shape)"
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "POISE_KERNELS": "jit"}
    for lines in (1, 0):
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        assert done.stderr.count("poise: compiling") == lines
        assert "3)" in done.stdout
