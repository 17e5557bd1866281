"""What the contract suites ask with: chains of every kind with every limit, targets, goals of every type, refusals."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import EulerBox, Kind, Range, SwingTwist, solvers
from poise.cli.goal_options import format_goal_kind, parse_goal
from poise.maths import rotations
from poise.problem.goals import Near
from poise.solvers.base.interface import Capabilities
from poise.solvers.base.option_parsing import list_parameters
from tests.reference import slow_kinematics
from tests.strategies import unit_quaternions

SOLVERS = (*solvers.names(), "auto")
LENGTHS = (1, 2, 3, 7, 60)

_MIXED = (Kind.HINGE, Kind.BALL, Kind.SLIDE, Kind.BALL, Kind.BALL)
JOINTS = {"hinges": (Kind.HINGE,), "slides": (Kind.SLIDE,), "balls": (Kind.BALL,), "mixed": _MIXED}

LIMITS = {
    "Range": Range(-0.4, 0.7),
    "hinge": Range(-1.2, 0.7, axis=(0.6, 0.0, 0.8)),
    "SwingTwist": SwingTwist((1.0, 0.2, 0.0), swing=((-0.3, 0.9), 0.6), twist=(-0.5, 0.4)),
    "EulerBox": EulerBox("ZXY", x=(-0.8, 0.5), y=(-0.4, 0.6), z=(-0.2, 1.0)),
}
TURNING = tuple(name for name in LIMITS if name != "Range")  # those of ball joints
LIMITED = {
    "none": (None,),
    **{name: (limit,) for name, limit in LIMITS.items()},
    "every": (LIMITS["Range"], LIMITS["SwingTwist"], LIMITS["Range"], LIMITS["EulerBox"], LIMITS["hinge"]),
}
CHAINS = [
    *((joints, limits) for joints in ("hinges", "slides") for limits in ("none", "Range")),
    *(("balls", limits) for limits in ("none", *TURNING)),
    *(("mixed", limits) for limits in ("none", "every")),
]


def handles_of(name: str) -> Capabilities:
    """What a solver says it can do; `auto` ends at the engine."""
    return solvers.make_solver("levenberg_marquardt" if name == "auto" else name).handles


def chain(joints: str, limits: str, n: int, unit: float = 1.0, scales=None) -> poise.Skeleton:
    """n joints, bones of one length in bent directions along x, and a tip; the whole is some two units long."""
    rng = np.random.default_rng(n)
    kinds = [JOINTS[joints][i % len(JOINTS[joints])] for i in range(n)]
    bones = rng.normal(size=(n, 3)) * 0.3 + (1.0, 0.0, 0.0)
    bones *= 2.0 / (n * np.linalg.norm(bones, axis=1, keepdims=True))
    bounds = [LIMITED[limits][i % len(LIMITED[limits])] for i in range(n)]
    return poise.Skeleton.build(
        [*(f"j{i}" for i in range(n)), "tip"],
        range(-1, n),
        [*kinds, Kind.FIXED],
        offsets=np.concatenate([np.zeros((1, 3)), bones]) * unit,
        axes=np.concatenate([rng.normal(size=(n, 3)), np.zeros((1, 3))]),
        limits=[*(in_unit(bound, kind, unit) for bound, kind in zip(bounds, kinds, strict=True)), None],
        scales=scales,
    )


def in_unit(limit, kind, unit):
    """A limit in other file units: only that of a slide is a length."""
    if limit is None or kind != Kind.SLIDE:
        return limit
    return Range(limit.low * unit, limit.high * unit)


def rest(skeleton):
    """The rest pose."""
    return poise.Pose(skeleton, skeleton.rest_q)


def posed(skeleton, seed, share=1.0):
    """A random legal pose."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=skeleton.nq) * share * np.abs(skeleton.A[:, :3]).max()
    for i, kind in enumerate(skeleton.kinds):
        start = skeleton.q_start[i]
        if kind == Kind.HINGE:
            q[start] = rng.normal() * share
        if kind == Kind.BALL:
            q[start : start + 4] = unit_quaternions(rng)
    return poise.Pose(skeleton, skeleton.legal(q)[0])


def targets_of(skeleton):
    """World targets: within reach, far out of it, at the base, on the line of the chain, where the tip already is."""
    start, within = rest(skeleton).world.positions, posed(skeleton, 7).world.positions
    base, tip = start[0], start[-1]
    return np.array([within[-1], base + 9.0 * (tip - base), base, base + 0.6 * (tip - base), tip])


def movable(name):
    """A kind of joint that a solver moves: balls where it can."""
    joints = handles_of(name).joints
    return Kind.BALL if Kind.BALL in joints else joints[0]


def limb(kind=Kind.BALL, limit=None, others=Kind.BALL):
    """Two bones: a joint, one of some kind with a limit, then a hand; the first and the last are balls, or `others`."""
    return poise.Skeleton.build(
        ["upper", "lower", "hand"], range(-1, 2), [others, kind, others],
        offsets=[(0, 0, 0), (1, 0, 0), (1, 0, 0)], axes=[(0, 0, 1)] * 3, limits=[None, limit, None],
    )  # fmt: skip


def goal_for(kind, start, bent):
    """A goal of any kind that the pose `bent` of a limb comes near, made from words as on the command line.

    The first three numbers are where the hand is in that pose, further ones point somewhere.
    """
    if kind is Near:
        return Near(bent)
    if kind is poise.Balance:
        return _balance(bent)
    hand = bent.world["hand"]
    point, known = hand.positions, {"rotation": hand.rotations}
    arrays = [parameter.name for parameter in list_parameters(kind) if parameter.is_required][1:]
    numbers = [known.get(name, point if i == 0 else (0.3, 0.9, 0.2)) for i, name in enumerate(arrays)]
    words = " ".join(f"{number!r}" for array in numbers for number in np.asarray(array).tolist())
    words += " axis=0,0,1" if kind is poise.LookAt else ""  # a limb has no face that could say it
    return parse_goal(f"{format_goal_kind(kind)} {'lower' if kind is poise.Pole else 'hand'} {words}", start)


def _balance(bent):
    """Masses of a limb that are in balance in the pose `bent`, over a point that its first bone carries."""
    names = bent.skeleton.names
    masses = {name: (1.0 + i, (0.25, 0.0, 0.125)) for i, name in enumerate(names)}
    centre = poise.centre_of_mass(bent, masses)
    first = bent.world[names[0]]
    point = rotations.rotate(rotations.inverse(first.rotations), centre - first.positions)
    return poise.Balance([(names[0], point)], joints=names, masses=masses)


def refused(name, sentence) -> None:
    """Check that a refusal is one sentence that begins with the solver's name."""
    assert sentence.startswith(name), sentence
    assert "\n" not in sentence


def requested(start, goals, name, **how):
    """The result; or None where solver `name` refuses, with the same sentence from prepare() and for other targets."""
    sentence = ""
    try:
        return poise.solve(start, goals, solver=name, **how)
    except poise.UnsupportedError as refusal:
        sentence = str(refusal)
    refused(name, sentence)
    if not start.shape:
        with pytest.raises(poise.UnsupportedError) as again:
            poise.prepare(start, goals, solver=name)
        assert str(again.value) == sentence
    return None


def assert_honest(result, joint, targets, offset=(0.0, 0.0, 0.0)) -> None:
    """Legal to 1e-9, finite, and errors that forward kinematics of another making finds too; for Position goals."""
    skeleton, pose = result.problem.skeleton, result.pose
    assert np.isfinite(pose.q).all()
    assert result.violation <= 1e-9
    assert skeleton.legal(pose.q)[1] == ()
    np.testing.assert_array_equal(skeleton.legal(pose.q)[0], pose.q)
    row = skeleton.index(joint)
    errors = result.errors.reshape(-1)
    for q, target, error in zip(pose.q.reshape(len(errors), skeleton.nq), targets.reshape(-1, 3), errors, strict=True):
        point = (slow_kinematics.world(skeleton, q)[row] @ np.array([*offset, 1.0]))[:3]
        assert error == pytest.approx(np.linalg.norm(target - point), rel=1e-9, abs=1e-9 * (1 + np.abs(target).max()))
    np.testing.assert_array_equal(result.reached, result.errors[..., 0] <= result.tolerance * (1 + 1e-8))
