"""The contract: what holds for every solver in the folder and for `auto`, or is refused in one sentence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

import poise
from poise import EulerBox, Kind, Position, Range, Status, SwingTwist, solvers
from poise.problem import goals
from poise.solvers.base.option_parsing import list_parameters
from tests.contracts.cases import (
    CHAINS,
    LENGTHS,
    LIMITS,
    SOLVERS,
    TURNING,
    assert_honest,
    chain,
    goal_for,
    handles_of,
    limb,
    movable,
    posed,
    refused,
    requested,
    rest,
    targets_of,
)
from tests.strategies import random_q, random_skeleton, rng_of, seeds, straight_chain
from tests.workload import draw

pytestmark = pytest.mark.parametrize("name", SOLVERS)
TOLERANCE = 1e-4


def test_it_is_found_where_people_look(name):
    """By the name of its file, with a sentence for each option."""
    if name == "auto":
        return
    solver = solvers.make_solver(name)
    assert solver.name == name
    for parameter in list_parameters(type(solver)):
        assert parameter.description, f"the docstring of {type(solver).__name__}: {parameter.name}"


@pytest.mark.parametrize(("joints", "limits"), draw("chains", CHAINS, 4))
class TestChains:
    """Chains of 1 to 60 joints; a commit draws their kinds and limits."""

    @pytest.mark.parametrize("n", LENGTHS)
    def test_every_target_gives_an_honest_legal_pose(self, name, joints, limits, n):
        s = chain(joints, limits, n)
        targets = targets_of(s)
        result = requested(rest(s), Position("tip", targets), name, tolerance=TOLERANCE)
        if result is None:
            return
        assert_honest(result, "tip", targets)
        assert result.reached[4]
        assert result.iterations[4] == 0
        np.testing.assert_array_equal(result.pose.q[4], s.rest_q)
        before = np.linalg.norm(targets - rest(s).world["tip"].positions, axis=1)
        assert (result.errors[:, 0] <= before * (1 + 1e-9) + 1e-12).all()
        if "slides" not in joints and joints != "mixed":
            assert result.status[1] == Status.out_of_reach

    @pytest.mark.parametrize("scale", [0.01, 4.0, -1.0, -2.5])
    def test_scaled_and_mirrored_parents(self, name, joints, limits, scale):
        s = chain(joints, limits, 3, scales=[[scale] * 3, [1] * 3, [0.5] * 3, [3, 1, 2]])
        targets = targets_of(s)
        result = requested(rest(s), Position("tip", targets), name, tolerance=TOLERANCE * abs(scale))
        if result is not None:
            assert_honest(result, "tip", targets)
            assert result.reached[4]


@pytest.mark.long
@settings(max_examples=25)
@given(seed=seeds)
def test_errors_are_those_of_forward_kinematics_and_limits_hold(name, seed):
    """On random trees with scale of either sign, free joints, offsets, random starts and limits."""
    rng = rng_of(seed)
    kinds = [kind for kind in Kind if kind in (Kind.FIXED, Kind.FREE, *handles_of(name).joints)]
    s = random_skeleton(rng, 6, couple=False, kinds=kinds)
    limits = {}
    for joint in s.names:
        if s[joint].kind and rng.random() < 0.7:
            bound = LIMITS[rng.choice(["hinge", "SwingTwist", "EulerBox"])]
            low, high = np.sort(rng.uniform(-4, 4, size=2))
            limits[joint] = Range(low, high) if s[joint].kind < Kind.BALL else bound
    s = s.with_limits(limits)
    start = poise.Pose(s, random_q(rng, s))
    offset = rng.normal(size=3) if rng.random() < 0.5 else np.zeros(3)
    target = rng.normal(size=3) * 2
    if (result := requested(start, Position("j5", target, offset=offset), name)) is not None:
        assert_honest(result, "j5", target, offset)


@settings(max_examples=15)
@given(seed=seeds)
def test_a_start_that_meets_the_goal_comes_back_bit_for_bit(name, seed):
    rng = rng_of(seed)
    kinds = [kind for kind in Kind if kind in (Kind.FIXED, Kind.FREE, *handles_of(name).joints)]
    s = random_skeleton(rng, 6, couple=False, kinds=kinds)
    pose = poise.Pose(s, random_q(rng, s))
    if (result := requested(pose, Position("j5", pose.world["j5"].positions), name)) is None:
        return
    assert result.reached
    assert result.iterations == 0
    np.testing.assert_array_equal(result.pose.q, pose.q)


@pytest.mark.parametrize("target", [(0, 0, 0), (0, 1e-300, 0), (0, 5, 0), (0, -5, 0), (0, 2.5, 0), (1e-9, 0, 0)])
@pytest.mark.parametrize("kind", [Kind.HINGE, Kind.BALL])
@pytest.mark.parametrize("n", [2, 5])
def test_a_straight_chain_and_a_target_on_its_own_line(name, n, kind, target):
    s = straight_chain(n, kind=kind, axes=[(0, 0, 1)] * n)
    target = np.array(target) * n / 5
    if (result := requested(rest(s), Position("tip", target), name)) is not None:
        assert_honest(result, "tip", target)


@pytest.mark.parametrize("joints", ["hinges", "balls", "mixed"])
def test_zero_length_bones(name, joints):
    """Some of the joints stand in one point, or all of them: then nothing can be reached."""
    s = chain(joints, "none", 4)
    offsets = np.array(s.A[:, :3])
    for some in ([1, 3], [1, 2, 3, 4]):
        offsets[some] = 0.0
        short = poise.Skeleton.build(s.names, s.parents, s.kinds, offsets=offsets, axes=s.axes)
        beside = targets_of(short) + np.array([0.1, 0.0, 0.0])
        result = requested(rest(short), Position("tip", beside), name, tolerance=TOLERANCE)
        if result is not None:
            assert_honest(result, "tip", beside)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_target_that_is_no_number_is_refused(name, bad):
    s = chain("balls" if movable(name) == Kind.BALL else "hinges", "none", 2)
    target = np.array([0.5, bad, 0.0])
    with pytest.raises(poise.InputError, match="target"):
        poise.solve(rest(s), Position("tip", target), solver=name)
    reach = poise.prepare(rest(s), Position("tip", np.zeros(3)), solver=name)
    for value in (target, np.stack([target, np.zeros(3)])):
        with pytest.raises(poise.InputError, match="target"):
            reach(value)
    with pytest.raises(poise.InputError, match="target"):
        poise.Tracker(rest(s), Position("tip", np.zeros(3)), solver=name)(target)


@pytest.mark.parametrize("target", [(1.0, 1.0, 0.5), (9.0, 0.0, 0.0), (0.0, 2.0, 0.0)])
def test_a_trace_begins_at_the_start_and_holds_the_answer(name, target):
    s = straight_chain(2, kind=movable(name), axes=[(0, 0, 1)] * 2)
    result = requested(rest(s), Position("tip", target), name, trace=True)
    np.testing.assert_array_equal(result.trace.q[0], s.rest_q)
    assert len(result.trace.errors) == len(result.trace.q)
    assert np.abs(result.trace.q - result.pose.q).max(axis=1).min() < 1e-9
    plain = poise.solve(rest(s), Position("tip", target), solver=name)
    np.testing.assert_array_equal(plain.pose.q, result.pose.q)


def test_where_nothing_moves_the_start_stays(name):
    s = poise.Skeleton.build("ab", [-1, 0], [0, 0], offsets=np.ones((2, 3)))
    result = requested(rest(s), Position("b", [5.0, 1.0, 1.0], root="a"), name, trace=True)
    if result is None:
        return
    assert result.status is Status.nothing_to_move
    assert "a is fixed" in result.message()
    np.testing.assert_allclose(result.trace.errors, result.errors)


def test_empty_batches(name):
    """Of targets, of starts, and of targets for a batch of starts that are packed together or alone."""
    s = straight_chain(2, kind=movable(name), axes=[(0, 0, 1)] * 2)
    one, none = np.array([0.5, 1.0, 0.0]), np.zeros((0, 3))
    rows = s.rest_q[None]
    scaled = poise.Pose(s, rows, scales=np.ones((1, 3, 3)))
    for start, target in [
        (rest(s), none),
        (poise.Pose(s, rows[:0]), one),
        (poise.Pose(s, rows), none),
        (scaled, none),
        (scaled[:0], one),
        (poise.Pose(s, s.rest_q, translations=s.A[:, :3] + 0.5), none),
    ]:
        result = poise.solve(start, Position("tip", target), solver=name)
        assert result.errors.shape == (0, 1)
        assert result.pose.q.shape == (0, s.nq)
        for what in ("translations", "scales"):
            wanted = None if getattr(start, what) is None else (0, len(s), 3)
            beside = getattr(result.pose, what)
            assert (None if beside is None else beside.shape) == wanted
        assert "0 of 0 reached" in str(result)


# --- what a solver says that it handles --------------------------------------------------------------------------


def goals_of(s):
    """A goal of every type that a limb can meet."""
    bent = posed(s, 3, 0.5)
    hand = bent.world["hand"]
    point, turn = hand.positions, hand.rotations
    return {kind.__name__: goal_for(kind, rest(s), bent) for kind in goals.GOAL_CLASSES} | {
        "Position": Position("hand", point),
        "Orientation": poise.Orientation("hand", turn),
        "Place": poise.Place("hand", point, turn),
        "Direction": poise.Direction("hand", (1, 2, 0.5)),
        "Aim": poise.Aim("hand", (1, 2, 3)),
        "LookAt": poise.LookAt("hand", (1, 2, 3), axis=(0, 0, 1)),
        "Pole": [Position("hand", point), poise.Pole("lower", (1, 2, 3))],
        "Pin": poise.Pin("hand", rotation=False),
        "Near": poise.Near(bent),
    }


def declared(name, what, start, goals):
    """Solve what a solver says that it handles, or come near; have refused what it says it does not."""
    if what:
        result = poise.solve(start, goals, solver=name, tolerance=TOLERANCE, angle_tolerance=TOLERANCE)
        still = result.problem.compute_errors(start.q[None], result.targets)
        assert result.reached or np.linalg.norm(result.errors) < 0.5 * np.linalg.norm(still)
        assert result.violation <= 1e-9
    else:
        assert requested(start, goals, name) is None


@pytest.mark.parametrize("goal", goals_of(limb()))
def test_goals(name, goal):
    s = limb(movable(name), others=movable(name))
    declared(name, goal in handles_of(name).goals, rest(s), goals_of(s)[goal])


@pytest.mark.parametrize("kind", [Kind.HINGE, Kind.SLIDE, Kind.BALL])
def test_joints(name, kind):
    s = limb(kind, others=movable(name))
    declared(name, kind in handles_of(name).joints, rest(s), goals_of(s)["Position"])


@pytest.mark.parametrize("limit", TURNING)
def test_limits(name, limit):
    s = limb(limit=LIMITS[limit])
    kept = handles_of(name).limits
    keeps = any(kind.__name__ in kept for kind in type(LIMITS[limit]).__mro__)
    declared(name, keeps and Kind.BALL in handles_of(name).joints, rest(s), goals_of(s)["Position"])


def test_several_goals(name):
    """Of two joints, or two of one joint: solved, or refused; always refused where goals come one at a time."""
    s, handles = limb(movable(name), others=movable(name)), handles_of(name)
    wanted = goals_of(s)["Position"]
    elbow = Position("lower", posed(s, 3, 0.5).world["lower"].positions)
    for second in (elbow, poise.Direction("hand", (0, 0, 1), axis=(0, 1, 0))):
        result = requested(rest(s), [wanted, second], name)
        if result is not None:
            assert handles.several
            assert result.violation <= 1e-9
            assert np.linalg.norm(result.errors) < np.linalg.norm(
                result.problem.compute_errors(s.rest_q[None], result.targets)
            )


def test_the_same_call_twice(name):
    """Solved, or refused by the solver that was named, also where another one inside it refuses."""
    s = limb(movable(name), others=movable(name))
    goal = goals_of(s)["Position"]
    if (result := requested(rest(s), [goal, goal], name)) is not None:
        assert result.errors[0] == result.errors[1]


def test_a_free_root(name):
    s = poise.Skeleton.build("abcd", range(-1, 3), [4, 3, 3, 0], offsets=[(0, 0, 0), *[(1, 0, 0)] * 3])
    goal = Position("d", (7, 1, 0), root="b")
    if handles_of(name).free_root:
        assert poise.solve(rest(s), goal, solver=name, free_root=True).reached
    else:
        with pytest.raises(poise.UnsupportedError) as refusal:
            poise.solve(rest(s), goal, solver=name, free_root=True)
        refused(name, str(refusal.value))


@pytest.mark.parametrize("prefer", ["first", "closest", "all"])
def test_preferences(name, prefer):
    s = limb(Kind.HINGE, others=movable(name))
    if prefer in handles_of(name).prefer:
        assert poise.solve(rest(s), goals_of(s)["Position"], solver=name, prefer=prefer).reached
    else:
        with pytest.raises(poise.UnsupportedError) as refusal:
            poise.solve(rest(s), goals_of(s)["Position"], solver=name, prefer=prefer)
        refused(name, str(refusal.value))


@pytest.mark.parametrize(
    "soft",
    [
        Range(-0.1, 0.1, axis=(0, 0, 1), soft=2.0),
        SwingTwist((1, 0, 0), swing=0.2, soft=2.0),
        EulerBox("XYZ", z=(-0.1, 0.1), soft=2.0),
    ],
)
def test_soft_limits_are_a_cost_or_refused(name, soft):
    s = limb(limit=soft)
    goal = Position("hand", [1.0, 1.0, 0.0])
    if not handles_of(name).soft:
        assert requested(rest(s), goal, name) is None
        return
    result = poise.solve(rest(s), goal, solver=name)
    assert result.reached
    assert result.violation <= 1e-9
    assert "soft limits cost" in str(result)
    hard = s.with_limits({"lower": type(soft)(**{**vars(soft), "soft": 0.0})})
    inside = hard.legal(result.pose.q)[0][s.q_slice("lower")]
    excess = 2 * np.arccos(min(1.0, abs(inside @ result.pose.q[s.q_slice("lower")])))
    if isinstance(soft, Range):  # turned about another axis than its own it would not be a hinge
        excess = np.pi / 2 - 0.1
    assert result.cost == pytest.approx(2.0 * excess**2, rel=1e-3)


# --- why a target was missed -------------------------------------------------------------------------------------

BLOCKED = {
    "hinge": limb(Kind.HINGE, Range(0.0, 0.3)),
    "ball as a hinge": limb(limit=Range(0.0, 0.3, axis=(0, 0, 1))),
    "SwingTwist": limb(limit=SwingTwist((1, 0, 0), swing=0.3)),
    "EulerBox": limb(limit=EulerBox("XYZ", x=(-0.1, 0.1), y=(-0.2, 0.2), z=(0.0, 0.3))),
}


@pytest.mark.parametrize("limit", BLOCKED)
def test_limited_results_name_the_joint(name, limit):
    """The hand would have to come nearer than the elbow lets it."""
    s = BLOCKED[limit]
    result = requested(rest(s), Position("hand", [0.0, 0.9, 0.0]), name)
    if result is None:
        return
    assert_honest(result, "hand", np.array([0.0, 0.9, 0.0]))
    assert result.status in {Status.limited, Status.stalled}  # what only comes near has not been kept by limits
    if result.status is Status.limited:
        assert "lower at" in result.message()
        assert "upper" not in result.message()


def test_a_slide_at_its_end_is_named(name):
    s = poise.Skeleton.build(
        ["rail", "lift", "tool"], range(-1, 2), [2, 2, 0], offsets=[(0, 0, 0), (0, 0, 0), (0, 0, 1)],
        axes=[(1, 0, 0), (0, 0, 1), (0, 0, 0)], limits=[Range(0, 5), Range(0, 0.5), None],
    )  # fmt: skip
    result = requested(rest(s), Position("tool", [2, 0, 3]), name)
    if result is None:
        return
    assert result.status is Status.limited
    assert "lift at its highest, 0.5" in result.message()
    assert "rail" not in result.message()
    assert result.pose.q == pytest.approx([2.0, 0.5], abs=1e-3)
