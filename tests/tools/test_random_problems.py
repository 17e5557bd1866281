"""The generator of random problems: its kinematics is right, it sees each kind of fault, and Poise has none."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import poise
from tests.model.test_pinocchio import models, pin_name
from tests.reference import slow_kinematics
from tests.strategies import random_q, random_skeleton, rng_of
from tests.workload import draw

FOLDER = Path(__file__).parent.parent.parent / "tools"
QUICK, LONG, PART = range(40), range(10_000, 13_000), 100


def faults(seeds):
    from random_problems import judged

    return [(seed, *fault) for seed in seeds for fault in judged(seed) or []]


@pytest.mark.long
def test_no_problem_breaks_a_promise():
    assert faults(QUICK) == []


@pytest.mark.long
@pytest.mark.parametrize("first", draw("random problems", LONG[::PART], 2))
def test_no_problem_of_thousands_breaks_a_promise(first):
    assert faults(range(first, first + PART)) == []


def test_its_kinematics_is_that_of_the_definition():
    from random_cases.kinematics import world

    for seed in range(20):
        s = random_skeleton(rng_of(seed), 8)
        q = random_q(rng_of(seed), s, 3)
        linear, place = world(poise.Pose(s, s.rest_q), q)
        wanted = np.array([slow_kinematics.world(s, row) for row in q])
        np.testing.assert_allclose(linear, wanted[..., :3, :3], rtol=0, atol=1e-12)
        np.testing.assert_allclose(place, wanted[..., :3, 3], rtol=0, atol=1e-11)


def test_its_kinematics_is_that_of_pinocchio(data):
    from random_cases.kinematics import world

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a compiled module, when it is imported
        pin = pytest.importorskip("pinocchio")
    model, known, s = models(pin, data, "panda")
    q = random_q(rng_of(4), s, 5)
    linear, place = world(poise.Pose(s, s.rest_q), q)
    assert s.nq == model.nq
    for i in range(5):
        pin.framesForwardKinematics(model, known, q[i])
        for row in range(len(s)):
            frame = known.oMf[model.getFrameId(pin_name(s, row))]
            np.testing.assert_allclose(place[i, row], frame.translation, rtol=0, atol=1e-12)
            np.testing.assert_allclose(linear[i, row], frame.rotation, rtol=0, atol=1e-12)


@pytest.fixture
def answer():
    """A problem with limits that is reached, and its answer as plain numbers that can be spoilt."""
    from random_cases.kinematics import world
    from random_cases.problems import RequestedProblem

    s = poise.Skeleton.build(
        ["a", "b", "tip"], [-1, 0, 1], [1, 2, 0], offsets=[(0, 0, 0), (1, 0, 0), (1, 0, 0)],
        axes=[(0, 0, 1), (1, 0, 0), (0, 0, 0)], limits=[poise.Range(-1, 1), poise.Range(0, 0.5), None],
    )  # fmt: skip
    start, known = poise.Pose(s, s.rest_q), np.array([[0.3, 0.2], [-0.7, 0.5]])
    rows = np.concatenate([world(start, known)[1][:, 2], [[9.0, 9.0, 0.0]]])
    how = {"tolerance": 1e-6, "angle_tolerance": 1e-6}
    requested = RequestedProblem(start, (poise.Position("tip", rows),), how, known, 1.0)
    result = poise.solve(start, requested.goals, **how)
    names = ("q", "errors", "reached", "codes", "violation", "problem", "message")
    return requested, {name: getattr(result, name) for name in names}


def judged_with(answer, **changed):
    from random_cases.checks import _answer

    requested, facts = answer
    return {name for name, _ in _answer(requested, SimpleNamespace(**{**facts, **changed}))}


def test_it_sees_what_is_wrong(answer):
    facts = answer[1]
    assert judged_with(answer) == set()
    assert judged_with(answer, errors=facts["errors"] + 1e-10) == {"an error is wrong"}
    assert "an error is wrong" in judged_with(answer, q=facts["q"] + 1e-10)
    assert judged_with(answer, reached=~facts["reached"]) == {"reached disagrees with the errors"}
    assert judged_with(answer, violation=2e-9) == {"a limit is exceeded"}
    assert "a range is exceeded" in judged_with(answer, q=facts["q"] + np.array((0.0, 0.5)))
    met = "out of reach, though a pose is known that meets the goals"
    assert judged_with(answer, codes=np.array([1, 0, 1])) == {met}
    assert judged_with(answer, codes=np.array([0, 0, 4])) == {"nothing to move, though joints can"}
    stands = "limited: limits keep the target away, 1 left; a at its highest, 1 rad"
    assert judged_with(answer, codes=np.array([0, 0, 2]), message=lambda _: stands) == {
        "a joint is said to be at a limit"
    }
    nameless = {"codes": np.array([0, 0, 2]), "message": lambda _: "limited: no name"}
    assert judged_with(answer, **nameless) == {"limited, though no joint at a limit is named"}


def test_a_run_goes_on_where_it_stopped(tmp_path, monkeypatch, capsys):
    import random_problems

    requested = []
    monkeypatch.setattr(random_problems, "BLOCK", 2)
    monkeypatch.setattr(random_problems, "judged", lambda seed: requested.append(seed) or [("a fault", str(seed))])
    file = tmp_path / "blocks.jsonl"
    assert random_problems.main(["--count", "4", "--file", str(file)]) == 1
    assert requested == [0, 1, 2, 3]
    assert random_problems.main(["--count", "6", "--file", str(file)]) == 1
    assert requested == [0, 1, 2, 3, 4, 5]
    assert "| a fault | 6 | 0 |" in capsys.readouterr().out
