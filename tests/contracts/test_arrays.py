"""Numbers mean the same however an array holds them: where they lie in memory, in which order, of which kind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import poise
from poise import Clip, Grounder, Pose, Position, Terrain
from tests.contracts import values
from tests.contracts.clips import walk
from tests.contracts.problems import PROBLEMS
from tests.strategies import figure, generic_arm, rng_of, unit_quaternions
from tests.terrain.terrains import ground


def _unaligned(array, _):
    return np.frombuffer(b"\0" + array.tobytes(), dtype=array.dtype, offset=1).reshape(array.shape)


def _read_only(array, _):
    array.setflags(write=False)
    return array


def _every_second(array, _):
    room = np.full([2 * n for n in array.shape], np.nan)
    part = room[tuple(slice(None, None, 2) for _ in array.shape)]
    part[...] = array
    return part


def _backwards(array, _):
    turn = (slice(None, None, -1),) * array.ndim
    return array[turn].copy()[turn]


def _mapped(array, folder):
    file = folder / f"{array.ndim}{array.dtype}{array.shape}.npy"
    np.save(file, array)
    return np.load(file, mmap_mode="r")


QUARTER_TURNS = np.rint(Rotation.create_group("O").as_matrix())  # the 24 that whole numbers can tell
FORMS = {
    "unaligned": _unaligned,
    "read-only": _read_only,
    "other bytes first": lambda array, _: array.astype(">f8"),
    "columns first": lambda array, _: np.asfortranarray(array),
    "every second": _every_second,
    "backwards": _backwards,
    "mapped": _mapped,
    "one many times": lambda array, _: np.broadcast_to(array[:1], array.shape) if array.ndim > 1 else array,
    "float32": lambda array, _: array.astype(np.float32),
    "float16": lambda array, _: array.astype(np.float16),
    "long double": lambda array, _: array.astype(np.longdouble),
    "whole": lambda array, _: np.rint(array).astype(np.int64),
    "small and whole": lambda array, _: np.rint(array).astype(">i2"),
    "lists": lambda array, _: array.tolist(),
    "objects": lambda array, _: array.astype(object),
    "none": lambda array, _: array[:0] if array.ndim > 1 else array,
}


@dataclass(frozen=True)
class Turned:
    """A solver that answers in arrays of any form."""

    make: object
    name: str = "turned"

    @property
    def handles(self):
        return poise.CCD().handles

    def run(self, *given):
        answer = poise.CCD().run(*given)
        columns = [self.make(getattr(answer, what).astype(float)) for what in ("q", "iterations")]
        return answer._replace(q=columns[0], iterations=columns[1])


def _arm():
    skeleton = generic_arm()
    return Pose(skeleton, skeleton.rest_q)


def _found(result):
    return result.q, result.errors, result.codes, result.iterations, result.message() if np.size(result.reached) else ""


def _goal(made, count, width):
    """A goal of the arm for targets of some form."""

    def ask(array):
        goal = made(array)
        return goal.rows(), *_found(poise.solve(_arm(), goal))

    return ask, lambda: _targets(count, width)


def _targets(count, width):
    """Targets that an arm of a metre can reach, more or less; rounded to whole numbers they are targets still."""
    rng = rng_of(width)
    shape = () if count is None else (count,)
    if width == (3, 3):
        return QUARTER_TURNS[rng.integers(len(QUARTER_TURNS), size=shape)]
    if width == (4, 4):
        affine = np.zeros((*shape, 4, 4))
        affine[..., :3, :3], affine[..., 3, 3] = _targets(count, (3, 3)), 1.0
        affine[..., :3, 3] = rng.uniform(-0.5, 0.5, (*shape, 3))
        return affine
    return rng.uniform(-1.0, 1.0, (*shape, width)) + 0.1


def _turns(count):
    """Quaternions; only their directions count."""
    return 4.0 * unit_quaternions(rng_of(4), count)


def _position(array):
    return Position("tool", array)


def _prepared(solver):
    def ask(array):
        return _found(poise.prepare(_arm(), _position(np.zeros(3)), solver=solver)(array))

    return ask


def _started(solver):
    def ask(array):
        go = poise.prepare(_arm(), _position(np.zeros(3)), solver=solver)
        return _found(go(np.array([0.3, 0.2, 0.4]), start=array))

    return ask


def _followed(solver):
    def ask(array):
        follow = poise.Tracker(_arm(), _position(np.zeros(3)), solver=solver, speed=1.0)
        return _found(follow(array)) if np.ndim(array) == 1 else follow.clip(array, 30.0).poses.q

    return ask


def _posed(array):
    pose = Pose(figure(), array)
    found = pose.q, pose.world.affine, pose.local.affine, pose.world_of("l_foot").affine, pose.jacobian("l_foot")
    return *found, pose.skeleton.legal(pose.q)[0]


def _beside(array):
    clip = walk()
    moved = np.asarray(array).reshape(-1, len(clip.skeleton), 3)
    return [
        Pose(clip.skeleton, clip.poses.q[: len(moved)], *parts).world.affine for parts in ((moved, None), (None, moved))
    ]


def _point(array):
    pose = walk().poses[:5]
    return pose.jacobian("LeftHand", array if np.ndim(array) == 1 or len(array) else np.zeros((5, 3)))


def _landscape(kind):
    def ask(array):
        return *ground(kind).sample(array), ground(kind).heights(array), *ground(kind).hit(array, [0.1, 0.0, -1.0])

    return ask


def _stood(array):
    live, pose = Grounder(walk(), Terrain.noise(0.1)), walk().poses[4]
    given = np.asarray(array).reshape(-1, 2)
    shown = live(pose, 0.03, contacts=given[:2] > 0 if len(given) else None)
    return shown.q, shown.translations


def _q(count=None):
    return lambda: figure().legal(
        figure().rest_q + 0.1 * rng_of(1).normal(size=(*([count] if count else []), figure().nq))
    )[0]


def _errors(array):
    problem = PROBLEMS["arm to points"]
    packed = poise.extend.Problem(problem.start, problem.goals)
    targets = np.asarray(array)
    return packed.compute_errors(np.zeros((len(targets), 6)), targets), packed.compute_errors(
        _many_q(len(targets), targets), targets
    )


def _many_q(count, like):
    """Configurations of an arm in memory like an array."""
    return like[:, [0, 1, 2, 2, 1, 0]] if count else np.zeros((0, 6))


REQUESTED = {
    "Position": _goal(_position, None, 3),
    "Positions": _goal(_position, 9, 3),
    "Orientations": (_goal(lambda array: poise.Orientation("tool", array), 9, 4)[0], lambda: _turns(9)),
    "matrices": _goal(lambda array: poise.Orientation("tool", array), 9, (3, 3)),
    "Directions": _goal(lambda array: poise.Direction("tool", array), 9, 3),
    "Aims": _goal(lambda array: poise.Aim("tool", array), 9, 3),
    "Places": _goal(lambda array: poise.Place.from_matrix("tool", array), 9, (4, 4)),
    **{f"prepare, {name}": (_prepared(name), lambda: _targets(None, 3)) for name in ("auto", "ccd")},
    **{f"prepare for many, {name}": (_prepared(name), lambda: _targets(9, 3)) for name in ("auto", "ccd")},
    **{f"start, {name}": (_started(name), lambda: 0.1 * _targets(None, 6)) for name in ("auto", "ccd")},
    **{f"Tracker, {name}": (_followed(name), lambda: _targets(None, 3)) for name in ("auto", "ccd")},
    "Tracker.clip": (_followed("auto"), lambda: _targets(9, 3)),
    "stream": (
        lambda array: [
            _found(part) for part in poise.prepare(_arm(), _position(np.zeros(3))).stream(np.asanyarray(array), chunk=4)
        ],
        lambda: _targets(9, 3),
    ),
    "a pose": (_posed, _q()),
    "poses": (_posed, _q(9)),
    "translations and scales": (_beside, lambda: 1.0 + _targets(4, 3 * len(walk().skeleton))),
    "the point of a Jacobian": (_point, lambda: _targets(None, 3)),
    "points of a Jacobian": (_point, lambda: _targets(5, 3)),
    "the errors of a problem": (_errors, lambda: _targets(9, 3)),
    "the times of a clip": (
        lambda array: (
            Clip(np.sort(np.ravel(array)), walk().poses[: np.size(array)]).at(0.3).q if np.size(array) else None
        ),
        lambda: _targets(9, 1)[:, 0],
    ),
    "seconds": (lambda array: walk().at(array).q, lambda: _targets(9, 1)[:, 0]),
    "contacts": (_stood, lambda: _targets(2, 2)),
    "the weight of a blend": (
        lambda array: values.solved().blend(np.clip(np.asarray(array, dtype=float), 0, 1)).q,
        lambda: _targets(9, 1)[:, 0],
    ),
    **{f"terrain: {kind}": (_landscape(kind), lambda: _targets(9, 3)) for kind in ("map", "mesh", "noise", "flat")},
}


@pytest.mark.parametrize("requested", REQUESTED)
@pytest.mark.parametrize("form", FORMS)
def test_the_same_bits(requested, form, tmp_path):
    ask, made = REQUESTED[requested]
    given = FORMS[form](made(), tmp_path)
    plain = np.array(given, dtype=np.float64, order="C")
    wanted = bits(ask(plain.reshape(np.shape(given))))
    assert bits(ask(given)) == wanted


@pytest.mark.parametrize(
    "form",
    [
        "unaligned",
        "read-only",
        "other bytes first",
        "columns first",
        "every second",
        "backwards",
        "mapped",
        "long double",
    ],
)
@pytest.mark.parametrize("rows", [0, slice(None)])
def test_what_a_solver_of_ones_own_answers(form, rows, tmp_path):
    problem = PROBLEMS["arm to points"]
    wanted = problem.solved("ccd", rows)
    found = poise.solve(
        problem.start, problem.at(rows), solver=Turned(lambda a: FORMS[form](a, tmp_path)), tolerance=problem.tolerance
    )
    assert bits(_found(found)) == bits(_found(wanted))


def bits(thing):
    """Arrays as bytes."""
    if isinstance(thing, list | tuple):
        return [bits(each) for each in thing]
    return (np.shape(thing), np.asarray(thing).tobytes()) if isinstance(thing, np.ndarray) else thing
