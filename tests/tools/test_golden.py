"""The net and the gates of tools/: a bit that changed is noticed, and what is not kept. No time is asserted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import poise

FOLDER = Path(__file__).parent.parent.parent / "tools"
SOLVERS = ("auto", "levenberg_marquardt", "ccd", "fabrik", "two_bone")


@pytest.fixture(autouse=True)
def kept_elsewhere(monkeypatch, tmp_path):
    """Keep golden answers that a test writes out of the repository."""
    import golden

    monkeypatch.setattr(golden, "FOLDER", tmp_path / "golden")


class Changed:
    """A Result of which one number of q has another last bit."""

    def __init__(self, result):
        self._result = result
        self.q = np.array(result.q)
        self.q.flat[-1] = np.nextafter(self.q.flat[-1], np.inf)

    def __getattr__(self, name):
        return getattr(self._result, name)


def answered(name):
    import golden_cases

    ((_, *entry),) = golden_cases.wanted(name)
    return golden_cases.answered(*entry)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("rig", ["arm", "coupled", "glb", "bvh", "spine", "limited"])
def test_a_new_pose_has_the_answer_of_what_was_prepared(rig, solver):
    assert answered(f"{rig}/{solver}/new_pose") == answered(f"{rig}/{solver}/prepared")


def test_each_last_bit_is_noticed(monkeypatch, capsys):
    import golden

    name = "glb/ccd/single"
    before, solve = {name: answered(name)}, poise.solve
    assert golden.tell(golden.changes(before, {name: answered(name)}), 1, "itself") == 0
    monkeypatch.setattr(poise, "solve", lambda *args, **options: Changed(solve(*args, **options)))
    assert golden.changes(before, {name: answered(name)}) == {name: "q"}
    assert golden.tell({name: "q"}, 1, "before") == 1
    assert "1 of 1 answers differ from before: q 1" in capsys.readouterr().out


def test_every_kind_of_change_is_distinguished():
    import golden

    entry = {"q": "a", "status": "b", "iterations": "c", "words": "d", "reached": "1 of 2", "worst": "0.5"}
    now = {
        "q": {**entry, "q": "z"},
        "status": {**entry, "status": "z", "reached": "2 of 2"},
        "iterations": {**entry, "iterations": "z"},
        "words": {**entry, "words": "z"},
        "worst": {**entry, "worst": "0.51"},
        "rounding": {**entry, "worst": "0.50001"},
        "refused": {"refused": "no"},
        "new": entry,
    }
    before = {name: entry for name in ("gone", *now) if name != "new"}
    assert golden.changes(before, now) == {
        "q": "q",
        "status": "status, reached 1 of 2 -> 2 of 2",
        "iterations": "iterations",
        "words": "words",
        "worst": "worst error 0.5 -> 0.51",
        "refused": "refused: 'it was answered' -> 'no'",
        "new": "is new",
        "gone": "is gone",
    }


@pytest.mark.long
def test_an_answer_that_may_change_is_accepted_with_its_reason(tmp_path, capsys):
    import golden

    name, other = "arm/two_bone/single", "arm/two_bone/batch"
    old = {name: {"refused": "an old sentence"}, other: {"refused": "another"}}
    golden.write(tmp_path / "golden" / "golden.json", old)
    assert golden.main(["--only", "arm/two_bone/[sb]*"]) == 1
    assert golden.main(["--accept", name, "--why", "the sentence is clearer"]) == 0
    entries = golden.read(tmp_path / "golden" / "golden.json")["entries"]
    assert entries == {name: answered(name), other: old[other]}
    assert (
        "`arm/two_bone/single`, 1 entries (refused 1): the sentence is clearer"
        in (tmp_path / "golden" / "changes.md").read_text()
    )
    assert golden.main(["--only", name]) == 0
    with pytest.raises(SystemExit):
        golden.main(["--accept", name])
    assert "say why" in capsys.readouterr().err


def test_a_file_of_another_machine_is_not_compared(tmp_path, monkeypatch, capsys):
    import golden

    golden.write(tmp_path / "golden" / "golden.json", {})
    here = golden.machine()
    monkeypatch.setattr(golden, "machine", lambda: {**here, "cpu": "an abacus"})
    assert golden.main([]) == 2
    assert "'an abacus' here" in capsys.readouterr().err


def test_answers_that_are_kept_are_of_every_solver_and_question():
    import golden
    import golden_cases

    kept = golden.read(FOLDER / "golden" / "golden.json")["entries"]
    assert list(kept) == [name for name, *_ in golden_cases.wanted()]
    answers = [name.split("/") for name, entry in kept.items() if "q" in entry]
    assert {solver for _, solver, _ in answers} == {*golden_cases.METHODS, *golden_cases.VARIANTS}
    assert {ask for _, _, ask in answers} == set(golden_cases.QUESTIONS)


def test_gates_measure_what_they_say(monkeypatch):
    import gates_work

    for name, few in {"POSES": 6, "FRAMES": 1, "BATCH": 20, "STEPS": 60, "SLOW_STEPS": 3}.items():
        monkeypatch.setattr(gates_work, name, few)
    for name, measure in gates_work.GATES.items():
        try:
            found = measure(0)
        except FileNotFoundError:
            assert name == "robot"
            continue
        facts = {what: fact for what, fact in found.facts.items() if what != "goals"}
        assert all(facts.values()), facts
        assert found.facts.get("goals", 27) == 27
        assert min(min(times) for times in found.times.values()) > 0


def side(**of):
    """Times and facts by which every gate is kept but those given."""
    import gates_work
    import regression_gates

    times, facts = (
        {},
        {"goals": 27, "none reached": True, "tracker, Place: lags": True, "tracker, Position: lags": True},
    )
    for label, _, solver in gates_work.REQUESTED:
        name = f"{label}, {solver}"
        times |= {f"{name}: new pose": 20.0, f"{name}: prepared": 3.0}
        facts[f"{name}: same bits"] = True
        for kind in ("new pose", "batch", "prepared"):
            times |= {f"{name}, {kind}: wall": 10.0, f"{name}, {kind}: told": 9.0}
    for solver in gates_work.CLIPS:
        for rig in ("glb", "bvh"):
            times |= {f"{solver}: {verb} of {rig}": 5.0 for verb in ("bake()", "solve()")}
            facts[f"{solver}, {rig}: same bits"] = True
    times |= {"27 goals": 1.0, "tracker step, Place": 1.0, "tracker step, Position": 1.0, "warm": 30.0, "first": 300.0}
    times |= {
        "start: numpy": 0.1,
        "start: poise": 0.15,
        "start: numba": 0.3,
        "start: bare numba": 0.2,
        "start: first": 0.45,
    }
    times |= {name: value for name, value in of.items() if not isinstance(value, bool)}
    facts |= {name: value for name, value in of.items() if isinstance(value, bool)}
    return regression_gates.Side({name: [[value]] * 3 for name, value in times.items()}, facts)


BASE = {"27 goals": 20.0, "tracker step, Place": 40.0, "tracker step, Position": 40.0} | {
    f"figure, {name}: prepared": 500.0 for name in ("levenberg_marquardt", "ccd", "two_bone", "fabrik")
}


@pytest.mark.parametrize(
    ("name", "value", "gate"),
    [
        ("arm, ccd: new pose", 31.0, "new_poses"),
        ("arm, ccd: same bits", False, "new_poses"),
        ("figure, fabrik: prepared", 51.0, "new_poses"),
        ("ccd: bake() of glb", 10.1, "clips"),
        ("two_bone, glb: same bits", False, "clips"),
        ("27 goals", 1.4, "robot"),
        ("none reached", False, "robot"),
        ("tracker step, Place", 1.4, "tracker"),
        ("tracker, Place: lags", False, "tracker"),
        ("warm", 41.0, "calls"),
        ("first", 421.0, "calls"),
        ("arm, fabrik, batch: told", 7.9, "seconds"),
        ("start: poise", 0.17, "start"),
        ("start: first", 0.51, "start"),
    ],
)
def test_a_gate_that_is_not_kept_is_reported(name, value, gate):
    import regression_gates

    base = side(**BASE)
    assert all(row[""] == "ok" for table in regression_gates.TABLES.values() for row in table(side(), base))
    assert [row[""] for row in regression_gates.TABLES[gate](side(**{name: value}), base)].count("NOT OK") >= 1
