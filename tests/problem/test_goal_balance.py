"""Balance: the centre of mass stands above what bears it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from scipy.spatial import ConvexHull, QhullError

import poise
from poise import Balance, Pin, Position, samples
from poise.maths import rotations
from poise.problem.goal_errors import find_nearest_shares
from poise.problem.problem import Problem
from poise.problem.residuals import compute_residual
from tests.contracts.cases import limb
from tests.strategies import random_q, rng_of, seeds

FIGURE = poise.load(samples.path("humanoid.glb"))
AT = FIGURE.rest.world
FEET = [Pin("leftFoot"), Pin("rightFoot")]
SOLE = ("LeftFoot", "LeftToe", "RightFoot", "RightToe")


def hand(*aside):
    return Position("leftHand", AT["LeftHand"].positions + aside)


def beyond(pose, margin=0.5, feet=SOLE):
    """How far the centre of mass is outside of the drawn-in feet, by the half-planes of SciPy's hull."""
    corners = np.array([pose.world[name].positions[[0, 2]] for name in feet])
    hull = ConvexHull((1 - margin) * corners + margin * corners.mean(axis=0))
    return float((hull.equations[:, :2] @ poise.centre_of_mass(pose)[[0, 2]] + hull.equations[:, 2]).max())


@given(seeds)
@settings(max_examples=100)
def test_the_nearest_point_of_the_hull(seed):
    """No point of the hull is nearer, and inside is told as SciPy tells it."""
    rng = rng_of(seed)
    corners, at = rng.normal(size=(1, int(rng.integers(3, 7)), 2)), 1.5 * rng.normal(size=(1, 2))
    try:
        hull = ConvexHull(corners[0])
    except QhullError:
        assume(False)
    outside = (hull.equations[:, :2] @ at[0] + hull.equations[:, 2]).max()
    assume(abs(outside) > 1e-9)
    shares = find_nearest_shares(corners, at)[0]
    assert shares.any() == (outside > 0)
    if outside > 0:
        assert shares.sum() == pytest.approx(1.0)
        assert (shares >= 0).all()
        nearest = shares @ corners[0]
        for corner in corners[0]:  # the hull lies beyond the line through the nearest point, square to the way there
            assert (corner - nearest) @ (at[0] - nearest) <= 1e-12


@pytest.mark.parametrize("corners", [[(1, 0)], [(1, 0), (1, 0)], [(0, 1), (2, 1)], [(0, 1), (1, 1), (2, 1), (1, 1)]])
def test_what_bears_may_be_a_point_or_a_line(corners):
    points = np.array([corners], dtype=float)
    for at in ([1.0, 5.0], [0.9, -3.0], [7.0, 1.0]):
        shares = find_nearest_shares(points, np.array([at]))
        ways = [np.array(corners) @ np.eye(2)] if len(corners) == 1 else [points[0]]
        found = shares[0] @ points[0]
        dense = np.concatenate(
            [
                (1 - t) * a + t * b
                for a, b in itertools.product(ways[0], ways[0])
                for t in [np.linspace(0, 1, 801)[:, None]]
            ]
        )
        assert np.linalg.norm(found - at) <= np.linalg.norm(dense - at, axis=1).min() + 1e-6


@given(seeds)
@settings(max_examples=25, deadline=None)
def test_rates_are_those_of_small_turns(seed):
    """Each ball turned a little about each axis, against differences of what forward kinematics measures."""
    rng, s, none = rng_of(seed), limb(), np.zeros((1, 0))
    masses = {name: (float(rng.uniform(0.5, 2)), tuple(rng.normal(size=3))) for name in s.names}
    over = [("upper", (4.0, 0.0, 3.0)), ("lower", (5.0, 1.0, 3.0)), ("hand", (4.0, -1.0, 5.0))]
    goal = Balance(over, joints=s.names, masses=masses, margin=float(rng.uniform(0, 1)), weight=1.5)
    q, step = random_q(rng, s)[None], 1e-6
    problem = Problem(poise.Pose(s, q[0]), (goal,), False)
    rates, left = compute_residual(problem, q, none)
    shares = nearest_of(problem, q)
    assume((shares > 1e-3).sum() < 3 and shares.any() and ((shares == 0) | (shares > 1e-3)).all())
    for dof in range(9):
        moved = []
        for way in (-step, step):
            turned, ball = q.copy(), slice(4 * (dof // 3), 4 * (dof // 3) + 4)
            turned[:, ball] = rotations.multiply(rotations.from_vector(way * np.eye(3)[dof % 3]), turned[:, ball])
            moved.append(compute_residual(problem, turned, none)[1][0])
        gone = (moved[0] - moved[1]) / (2 * step)  # by how much it goes down
        e = left[0] / np.linalg.norm(left[0])
        assert e @ gone == pytest.approx(float(e @ rates[0, :, dof]), abs=1e-6)


def nearest_of(problem, q):
    """The shares of what bears in the point that is nearest to the centre of mass, without the margin."""
    goal = problem.goals[0]
    pose = poise.Pose(problem.skeleton, q)
    corners = np.stack(
        [pose.world[n].positions + rotations.rotate(pose.world[n].rotations, np.array(p)) for n, p in goal.over], 1
    )
    drawn = (1 - goal.margin) * corners + goal.margin * corners.mean(axis=1, keepdims=True)
    level = [[0, 0, 1], [1, 0, 0]]
    centre = poise.centre_of_mass(pose, dict(goal.masses))
    return find_nearest_shares(drawn @ np.transpose(level), centre @ np.transpose(level))


ASIDE = [(0, -0.3, 0.4), (0, -0.6, 0.5), (-0.2, -0.8, 0.4), (0.1, -0.2, 0.2)]


@pytest.mark.parametrize("aside", ASIDE)
def test_a_figure_that_reaches_stands(aside):
    """The hand and both feet are where they were asked to be, and the mass is above the feet, by another hull."""
    goals = [*FEET, hand(*aside)]
    loose = poise.solve(FIGURE.rest, goals, free_root=True)
    result = poise.solve(FIGURE.rest, [*goals, Balance()], free_root=True)
    assert result.reached
    assert result.natural == loose.natural
    assert beyond(result.pose) <= result.tolerance
    assert result.errors[-1] == pytest.approx(max(beyond(result.pose), 0.0), abs=1e-3)
    for joint in ("LeftFoot", "RightFoot"):
        at = result.pose.world[joint].positions
        assert np.linalg.norm(at - AT[joint].positions) <= result.tolerance * (1 + 1e-9)


def test_without_it_some_of_these_fall():
    poses = [poise.solve(FIGURE.rest, [*FEET, hand(*aside)], free_root=True).pose for aside in ASIDE]
    assert max(map(beyond, poses)) > 0.005


@pytest.mark.parametrize("margin", [0.0, 0.5, 1.0])
def test_the_margin_says_how_far_inside(margin):
    result = poise.solve(FIGURE.rest, [*FEET, hand(0, -0.6, 0.5), Balance(margin=margin)], free_root=True)
    assert result.reached
    if margin < 1.0:
        assert beyond(result.pose, margin) <= result.tolerance
    else:
        feet = np.mean([result.pose.world[name].positions for name in SOLE], axis=0)
        assert np.linalg.norm((poise.centre_of_mass(result.pose) - feet)[[0, 2]]) <= result.tolerance * (1 + 1e-9)


def test_a_pose_that_stands_stays_as_it_is():
    goals = [*FEET, hand(0, -0.2, 0.1), Balance()]
    there = poise.solve(FIGURE.rest, goals, free_root=True)
    assert there.iterations > 0
    result = poise.solve(there.pose, goals, free_root=True)
    assert result.reached
    assert result.iterations == 0
    assert result.errors[-1] == 0.0
    np.testing.assert_array_equal(result.q, result.problem.start.q)


def test_what_cannot_stand_is_reported():
    result = poise.solve(FIGURE.rest, [*FEET, hand(2.0, 0.0, 2.0), Balance()], free_root=True)
    assert not result.reached
    assert np.isfinite(result.q).all()
    assert "\n" not in str(result)


@pytest.mark.long
def test_optional_it_gives_way():
    goals = [*FEET, hand(0.3, -0.3, 0.2)]
    firm = poise.solve(FIGURE.rest, [*goals, Balance(["RightToe"], margin=1.0, optional=True)], free_root=True)
    assert firm.reached
    plain = poise.solve(FIGURE.rest, goals, free_root=True)
    wish = Balance(["RightToe"], margin=1.0)
    away = [
        poise.solve(found.pose, [wish], solver=poise.LevenbergMarquardt(iterations=0, restarts=0))
        for found in (firm, plain)
    ]
    assert away[0].errors[0] < away[1].errors[0]


def test_one_foot_and_up_along_z():
    """A rig that lies on its back, whose world is turned with it."""
    goals = [Pin("leftFoot"), Balance(["LeftFoot", "LeftToe"], margin=0.2, up=(0, 1, 0))]
    result = poise.solve(
        FIGURE.rest, [*goals, Position("rightFoot", AT["RightFoot"].positions + np.array([0, 0.2, 0]))], free_root=True
    )
    assert result.reached
    at = result.pose.world
    foot, toe = at["LeftFoot"].positions, at["LeftToe"].positions
    way, centre = (toe - foot)[[0, 2]], (poise.centre_of_mass(result.pose) - foot)[[0, 2]]
    share = centre @ way / (way @ way)
    assert 0.1 - 1e-3 <= share <= 0.9 + 1e-3
    assert np.linalg.norm(centre - share * way) <= result.tolerance * (1 + 1e-6)


@pytest.mark.parametrize("solver", ["jacobian_transpose", "ccd", "fabrik", "two_bone", "pseudo_inverse"])
def test_other_methods_refuse_it(solver):
    with pytest.raises(poise.UnsupportedError, match="not Balance"):
        poise.solve(FIGURE.rest, [hand(0, 0, 0.1), Balance()], solver=solver)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Balance("LeftFoot"), "are several joints, such as"),
        (lambda: Balance(7), "are several joints, such as"),
        (lambda: Balance([]), "Balance has no supports"),
        (lambda: Balance([3]), "are names, or pairs of a name and a point"),
        (lambda: Balance([("LeftFoot", (0, 1))]), "LeftFoot"),
        (lambda: Balance(joints="Spine"), "the joints of Balance are several names"),
        (lambda: Balance(margin=1.5), "a share from 0 to 1"),
        (lambda: Balance(margin=np.nan), "margin"),
        (lambda: Balance(up=(0, 0, 0)), "zero|0"),
        (lambda: Balance(masses={"Hips": 0}), "the mass of 'Hips'"),
        (lambda: Balance(weight=0), "weight"),
        (lambda: poise.solve(limb_pose(), Balance()), "no joint is known to be a foot"),
        (lambda: poise.solve(limb_pose(), Balance(["hand"])), "give masses="),
        (lambda: poise.solve(limb_pose(), Balance(["wrist"], masses={"hand": 1})), "wrist"),
        (lambda: poise.solve(limb_pose(), Balance(["hand"], masses={"wrist": 1})), "wrist"),
        (lambda: poise.solve(limb_pose(), Balance(["hand"], masses={"hand": 1}, joints=["wrist"])), "wrist"),
        (lambda: poise.solve(FIGURE.rest, Balance(), prefer="closest"), "prefer='first' only"),
    ],
)
def test_wrong_calls_are_reported(make, sentence):
    with pytest.raises(poise.PoiseError, match=sentence):
        make()


def limb_pose():
    return poise.Pose(limb(), limb().rest_q)
