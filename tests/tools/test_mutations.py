"""The mutations stand where they should, a mutant that matters is killed, one that does not survives."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

TEXT = '''"""Docs: 1 < 2."""
from a import b  # 3

__all__ = ["x"]
MOST = 2.0


def f(x: Literal[4], *, low=0) -> "1 < 2":
    """Docs: 5."""
    if x < 1 and not x == low:  # 6 < 7
        raise ValueError(f"{x + 1} of {8 < 9}")
    for _ in zip(x, strict=True):
        continue
    return min(x, g(x, key=True)) - 3
'''


def changes(text):
    from mutation.mutants import differs, mutants

    return [(m.line, m.kind, m.old, m.new) for m in mutants("f.py", text) if differs(m, text)]


def test_every_kind_of_change_and_none_where_nothing_may_change():
    assert changes(TEXT) == [
        (5, "constant", "2.0", "2.2"),
        (5, "constant", "2.0", "4.0"),
        (8, "constant", "0", "1"),
        (10, "and/or", "x < 1 and not x == low", "x < 1 or not x == low"),
        (10, "comparison", "<", "<="),
        (10, "comparison", "<", ">="),
        (10, "constant", "1", "0"),
        (10, "constant", "1", "2"),
        (10, "not", "not ", ""),
        (10, "comparison", "==", "!="),
        (13, "loop", "continue", "break"),
        (14, "swapped", "min", "max"),
        (14, "sign", "min(x, g(x, key=True)) - 3", "-(min(x, g(x, key=True)) - 3)"),
        (14, "argument", ", key=True", ""),
        (14, "boolean", "True", "False"),
        (14, "arithmetic", "-", "+"),
        (14, "constant", "3", "2"),
        (14, "constant", "3", "4"),
    ]


def test_a_change_is_of_its_place_alone():
    from mutation.mutants import mutants

    for mutant in mutants("f.py", TEXT):
        changed = mutant.apply(TEXT)
        assert changed[: mutant.start] + mutant.old + changed[mutant.start + len(mutant.new) :] == TEXT


def test_letters_of_several_bytes_do_not_move_a_change():
    assert changes('x = "µ°", 1 < y\n') == [
        (1, "constant", "1", "0"),
        (1, "constant", "1", "2"),
        (1, "comparison", "<", "<="),
        (1, "comparison", "<", ">="),
    ]


def test_no_name_is_made_up():
    assert changes("x = floor(y)\n") == []
    assert changes("x = math.floor(y)\n") == [(1, "swapped", "floor", "ceil")]
    assert changes("x = sin(y), cos\n") == [(1, "swapped", "sin", "cos")]


def test_what_a_change_belongs_to():
    from mutation.mutants import mutants

    found = {(m.line, m.new): m for m in mutants("f.py", TEXT)}
    assert found[5, "4.0"].names == ("MOST",)
    assert found[8, "1"].function == (9, 14)
    assert found[10, "<="].lines == (10, 10)


def test_a_key_names_one_change_and_stays_while_others_are_edited():
    from mutation.mutants import mutants

    twins = TEXT + "\n\nx = 1\nx = 1\n"
    keys = [m.key for m in mutants("f.py", twins)]
    assert len(set(keys)) == len(keys)
    before, after = {m.key for m in mutants("f.py", TEXT)}, {m.key for m in mutants("f.py", "y = 5\n" + TEXT)}
    assert before < after
    assert [m.key for m in mutants("f.py", TEXT) if m.new == "4.0"] == ["f.py module: 2.0 -> 4.0 #f6437e"]
    assert {m.scope for m in mutants("f.py", TEXT)} == {"module", "f"}


def test_what_is_drawn_hardly_changes_with_an_edit(tmp_path):
    from mutation.rooms import drawn

    file = tmp_path / "ground" / "legs.py"
    file.parent.mkdir()
    lines = "".join(f"    x{i} = {i} + y{i}\n" for i in range(200))
    file.write_text(f"def f():\n{lines}")
    before = {m.key for _, m in drawn(tmp_path, 40, 1)}
    file.write_text(f"def f():\n    z = 3\n{lines}")
    assert len(before) == 25
    assert len(before & {m.key for _, m in drawn(tmp_path, 40, 1)}) >= 24


def test_every_room_gets_its_share_and_the_same_ones_each_time():
    from mutation.rooms import LEAST, ROOMS, files_of, room_of, shares

    package = ROOT / "src" / "poise"
    count = shares(package, 400)
    assert sum(count.values()) == 400
    assert min(count.values()) >= LEAST
    assert {room.name for room in ROOMS} == set(count)
    assert room_of("solving/diagnosis.py").name == "judge"
    assert room_of("solving/solve.py").name == "solving"
    assert room_of("kernels/limits.py").name == "limits"
    assert all(files_of(room, package) for room in ROOMS)
    for room in ROOMS:
        for each in room.tests:
            assert (ROOT / each).exists()


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A package named as ours with a module, its tests, and a copy of its sources."""
    from mutation import trial

    package = tmp_path / "scratch" / "src" / "poise"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "tiny.py").write_text(
        "def least(a, b):\n    kept = 7\n    while b < 0:\n        b += 1\n    return min(a, b)\n"
    )
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_tiny.py").write_text(
        "from poise.tiny import least\n\n\ndef test_least():\n    assert least(1, -2) == 0\n"
        "\n\ndef test_fails():\n    assert least(1, 2) == 2\n\n\ndef test_elsewhere():\n    pass\n"
    )
    monkeypatch.setattr(trial, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.long
def test_a_mutant_that_matters_is_killed(tiny):
    from mutation.mutants import mutants
    from mutation.rooms import Room
    from mutation.trial import HERE, Runner, Traces, tried

    scratch, package = tiny / "scratch", tiny / "scratch" / "src" / "poise"
    environment = {
        "PYTHONPATH": f"{package.parent}{os.pathsep}{HERE.parent}",
        "MUTATION_SOURCE": str(package),
        "MUTATION_TRACE": str(scratch / "lines.jsonl"),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "mutation.traced", "tests"]
    subprocess.run(command, cwd=tiny, env=os.environ | environment, check=False, capture_output=True)
    rows = [json.loads(line) for line in (scratch / "lines.jsonl").read_text().splitlines()]
    assert [(row["test"], row["lines"]) for row in rows] == [
        ("tests/test_tiny.py::test_least", {"tiny.py": [1, 2, 3, 4, 5]}),
        ("tests/test_tiny.py::test_elsewhere", {}),
    ]

    text = (package / "tiny.py").read_text()
    room, traces = Room("tiny", ("",), ("tests",)), Traces(scratch / "lines.jsonl", package)
    wanted = ("8", "-=", "max")
    some = [mutant for mutant in mutants("tiny.py", text) if mutant.new in wanted]
    assert [mutant.new for mutant in some] == list(wanted)
    with Runner(scratch, plain=False, limit=10) as runner:
        runner.control(["tests/test_tiny.py::test_least"])
        with pytest.raises(RuntimeError, match="nothing is changed, but the tests end with failed"):
            runner.control(["tests/test_tiny.py::test_fails"])
        with pytest.raises(RuntimeError, match="no test failed"):
            runner.run(["tests/test_nowhere.py::test_none"])
        rows = [tried(runner, room, mutant, traces) for mutant in some]
    assert [(row["outcome"], row["tests"], row["by"][:37]) for row in rows] == [
        ("survived", 1, ""),
        ("killed", 1, "it hangs"),
        ("killed", 1, "FAILED tests/test_tiny.py::test_least"),
    ]
    assert (package / "tiny.py").read_text() == text
