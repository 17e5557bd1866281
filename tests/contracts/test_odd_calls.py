"""Every public call with one argument that is odd: it succeeds, or raises a PoiseError that quotes little."""

from __future__ import annotations

import contextlib
import warnings

import numpy as np
import pytest

import poise
from tests.contracts import odd_calls
from tests.contracts.odd_calls import LONG, LONGEST_QUOTE, SLOW
from tests.workload import amount

CALLS = odd_calls.calls()
COUNT = amount(5_000, 50_000)
PARTS = 10  # tests, so that several processes share them
_LONGEST_MESSAGE = 2_500  # characters: twelve names of a list, each quoted, and a sentence


def ways():
    """Every (call, parameter, odd value), by names."""
    values = [*odd_calls.odd_values()]
    return [
        (name, parameter, value)
        for name, call in CALLS.items()
        for parameter in call.parameters
        for value in values
        if value not in SLOW.get(name, {}).get(parameter, ())
    ]


def chosen(part):
    """A tenth of the ways that are tried, spread evenly over the calls; the same in every run."""
    every = ways()
    rng = np.random.default_rng(41)
    order = rng.permutation(len(every))[:COUNT]
    return [every[i] for i in sorted(order[part::PARTS].tolist())]


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """Files that are named without a folder are written to a folder of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda *_: pytest.fail("a browser was opened"))


@pytest.mark.long
@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize("part", range(PARTS))
def test_an_odd_argument_is_taken_or_refused_in_one_sentence(part):
    raw, quoted = [], []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name, parameter, value in chosen(part):
            try:
                CALLS[name](**{parameter: odd_calls.odd(value)})
            except poise.PoiseError as error:
                message = str(error)
                if LONG[: LONGEST_QUOTE + 1] in message or len(message) > _LONGEST_MESSAGE or "\n" in message:
                    quoted.append(f"{name}({parameter}={value}): {message[:100]}")
            except Exception as error:  # noqa: BLE001  (which is what the test is about)
                raw.append(f"{name}({parameter}={value}): {type(error).__name__}: {str(error)[:100]}")
    assert raw == []
    assert quoted == []


def test_there_are_as_many_ways_as_are_tried():
    assert len(ways()) >= 50_000
    assert len({way for part in range(PARTS) for way in chosen(part)}) == COUNT


def test_every_public_name_is_called():
    """A name that is neither called nor left out with a reason has no row here."""
    names = {name.partition(".")[0] for name in CALLS} | {name.partition(".")[0] for name in odd_calls.LEFT_OUT}
    errors = {name for name in poise.__all__ if name.endswith(("Error", "Warning"))}
    assert sorted(set(poise.__all__) - names - errors) == ["errors"]


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize("name", [name for name in CALLS if name not in odd_calls.REFUSED])
def test_what_is_right_is_taken(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        CALLS[name]()


def _solved(goal):
    return poise.solve(odd_calls.REST, goal)


def _posed(skeleton):
    return poise.Pose(skeleton, skeleton.rest_q).world, skeleton == odd_calls.BODY, skeleton.with_limits({})


def _limited(limit):
    return odd_calls.BODY.with_limits({"LeftArm": limit})


USES = {
    **dict.fromkeys(
        ("Position", "Orientation", "Place", "Direction", "Aim", "LookAt", "Pole", "Near", "Balance"), _solved
    ),
    **dict.fromkeys(("Range", "SwingTwist", "EulerBox"), _limited),
    **dict.fromkeys(
        ("CCD", "FABRIK", "TwoBone", "LevenbergMarquardt", "DampedLeastSquares", "Anneal"),
        lambda solver: poise.solve(odd_calls.ARM.rest, odd_calls.GOAL, solver=solver),
    ),
    "Skeleton": _posed,
    "Clip": lambda clip: (clip.at(0.1), clip.fps),
    "KeyedClip": lambda clip: (clip.at(0.1), clip.fps),
    "Pose": lambda pose: (pose.world.positions, pose.local),
    "Contacts": lambda contacts: contacts.intervals(),
    "Markers": lambda markers: (markers.times, markers["a"]),
    "Rig": lambda rig: (rig.rest, poise.find_roles(rig)),
    "Transforms": lambda world: (world.rotations, world.matrices),
    "Terrain": lambda ground: (ground.heights([1.0, 2.0, 3.0]), ground.lift_by(1.0)),
}


@pytest.mark.parametrize("name", USES)
def test_a_value_that_was_taken_can_be_used(name):
    raw, call = [], CALLS[name]
    rng = np.random.default_rng(43)
    odd = [(parameter, value) for parameter in call.parameters for value in odd_calls.odd_values()]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for i in rng.permutation(len(odd))[: amount(60, len(odd))]:
            parameter, value = odd[i]
            with contextlib.suppress(poise.PoiseError):
                made = call(**{parameter: odd_calls.odd(value)})
                try:
                    USES[name](made)
                except poise.PoiseError:
                    pass
                except Exception as error:  # noqa: BLE001
                    raw.append(f"{name}({parameter}={value}), used: {type(error).__name__}: {str(error)[:100]}")
    assert raw == []
