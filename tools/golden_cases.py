"""What is solved for the golden answers: for every rig and solver a list of questions, each with its answer as hashes.

A question is a function from a rig's case and a solver to Results; its name is the last part of an entry's name,
rig/solver/question. What a solver refuses is an answer too: the sentence.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatch
from typing import Any

import golden_rigs
import numpy as np
from golden_rigs import Case, at_rest, places, poses, rig, size

import poise

METHODS = (
    "auto", "two_bone", "levenberg_marquardt", "ccd", "fabrik", "damped_least_squares", "pseudo_inverse",
    "selectively_damped", "jacobian_transpose", "anneal", "autodiff",
)  # fmt: skip
SINGLES, FEW, MANY = 8, 40, 300
MOST = {"levenberg_marquardt": 2000, "auto": 2000, "ccd": 1000, "two_bone": 1000, "fabrik": 600}
LEAST = {"anneal": 16, "autodiff": 20, "jacobian_transpose": 40}
STUDIED = {"arm", "glb"}  # rigs for autodiff, which compiles for seconds on each
VARIANTS: dict[str, Any] = {
    "classic ccd": poise.CCD(order="tip-first", bend=0, restarts=0, finish=False),
    "ccd window": poise.CCD(order="window", stiffness=0.1),
    "plain fabrik": poise.FABRIK(finish=False, bend=0),
    "few steps": poise.LevenbergMarquardt(restarts=0, iterations=4),
    "two_bone options": poise.TwoBone(bend="both", soft=0.02, swivel=0.2, keep_tip=True),
}
Results = Sequence[poise.Result]
Question = Callable[[Case, Any], Results]
Entry = dict[str, Any]
QUESTIONS: dict[str, tuple[Question, frozenset[str]]] = {}


def question(*rigs: str) -> Callable[[Question], Question]:
    """A question for some rigs, by default for all."""

    def kept(function: Question) -> Question:
        QUESTIONS[function.__name__] = function, frozenset(rigs) or frozenset(golden_rigs.RIGS)
        return function

    return kept


def many(solver: Any, usual: int) -> int:
    """How many targets: fewer for slow methods."""
    name = solver if isinstance(solver, str) else solver.name
    return min(usual, LEAST.get(name, usual)) if usual != MANY else LEAST.get(name, MOST.get(name, MANY))


@question()
def single(case: Case, solver: Any) -> Results:
    """One target after the other, from the pose at rest."""
    start = rig(case.name).rest
    spots = places(case, at_rest(case, SINGLES), 1)[0]
    return [
        poise.solve(start, poise.Position(case.tip, spot, root=case.root), solver=solver, natural=False)
        for spot in spots
    ]


@question()
def batch(case: Case, solver: Any) -> Results:
    """Many targets from the pose at rest."""
    spots = places(case, at_rest(case, many(solver, MANY)), 2)[0]
    return [
        poise.solve(rig(case.name).rest, poise.Position(case.tip, spots, root=case.root), solver=solver, natural=False)
    ]


def _new_poses(case: Case) -> tuple[poise.Pose, list[poise.Position]]:
    starts = poses(case, SINGLES, 3)
    return starts, [poise.Position(case.tip, spot, root=case.root) for spot in places(case, starts, 4)[0]]


@question()
def new_pose(case: Case, solver: Any) -> Results:
    """Each target from a pose of its own, which was not seen before."""
    starts, goals = _new_poses(case)
    return [poise.solve(starts[i], goal, solver=solver, natural=False) for i, goal in enumerate(goals)]


@question()
def prepared(case: Case, solver: Any) -> Results:
    """The same through prepare()."""
    starts, goals = _new_poses(case)
    go = poise.prepare(rig(case.name).rest, goals[0], solver=solver, natural=False)
    return [go(np.array(goal.target), start=starts.q[i]) for i, goal in enumerate(goals)]


@question()
def new_poses(case: Case, solver: Any) -> Results:
    """The same as one batch, and a longer one."""
    starts, goals = _new_poses(case)
    both = [(starts, np.array([goal.target for goal in goals]))]
    longer = poses(case, many(solver, 4 * FEW), 5)
    both.append((longer, places(case, longer, 6)[0]))
    return [
        poise.solve(pose, poise.Position(case.tip, spot, root=case.root), solver=solver, natural=False)
        for pose, spot in both
    ]


@question()
def far(case: Case, solver: Any) -> Results:
    """Targets beyond the reach, at the chain's own root, and at the tip."""
    rest = rig(case.name).rest
    base = rest.world_of(rest.skeleton.chain(case.root, case.tip)[0]).positions
    away = np.random.default_rng(7).normal(size=(10, 3))
    spots = (
        base + away / np.linalg.norm(away, axis=-1, keepdims=True) * size(case) * np.linspace(0.02, 1.6, 10)[:, None]
    )
    spots = np.concatenate([np.round([base, rest.world_of(case.tip).positions], 7), np.round(spots, 7)])
    together = poise.solve(rest, poise.Position(case.tip, spots, root=case.root), solver=solver, natural=False)
    alone = [
        poise.solve(rest, poise.Position(case.tip, spot, root=case.root), solver=solver, natural=False)
        for spot in spots[:4]
    ]
    return [together, *alone]


@question("arm", "panda", "coupled", "g1", "glb", "limited", "cesium")
def place(case: Case, solver: Any) -> Results:
    """Position and rotation."""
    spots, turns = places(case, at_rest(case, many(solver, FEW)), 8)
    rest = rig(case.name).rest
    together = poise.solve(rest, poise.Place(case.tip, spots, turns, root=case.root), solver=solver, natural=False)
    return [
        together,
        poise.solve(rest, poise.Place(case.tip, spots[0], turns[0], root=case.root), solver=solver, natural=False),
    ]


@question("arm", "glb", "spine", "limited")
def orientation(case: Case, solver: Any) -> Results:
    """Rotation alone."""
    turns = places(case, at_rest(case, many(solver, FEW)), 9)[1]
    return [
        poise.solve(
            rig(case.name).rest, poise.Orientation(case.tip, turns, root=case.root), solver=solver, natural=False
        )
    ]


@question("arm", "coupled", "spine", "limited")
def pointing(case: Case, solver: Any) -> Results:
    """A position with a direction; an aim; a look shared by three joints; a point beside the joint."""
    starts = at_rest(case, many(solver, FEW))
    spots, rest, requested = places(case, starts, 10)[0], rig(case.name).rest, {"solver": solver, "natural": False}
    ways = np.round(np.random.default_rng(11).normal(size=(len(spots), 3)), 6)
    at = poise.Position(case.tip, spots, root=case.root)
    kinds: list[Any] = [
        [at, poise.Direction(case.tip, ways, axis=(0, 0, 1), root=case.root)],
        poise.Aim(case.tip, spots + ways, axis=(1, 0, 0), root=case.root),
        poise.LookAt(case.tip, spots + ways, axis=(0, 0, 1)),
        poise.Position(case.tip, spots, offset=(0.01, 0.02, 0.03), root=case.root),
    ]
    return _each(lambda goal: poise.solve(rest, goal, **requested), kinds)


def _each(answer: Callable[[Any], poise.Result], kinds: Sequence[Any]) -> Results:
    """Answers for those that are not refused; the refusal where all are."""
    found: list[poise.Result] = []
    refused: poise.UnsupportedError | None = None
    for goal in kinds:
        try:
            found.append(answer(goal))
        except poise.UnsupportedError as error:
            refused = error
    if not found and refused is not None:
        raise refused
    return found


@question("glb", "bvh", "cesium", "soft")
def pole(case: Case, solver: Any) -> Results:
    """A position with a pole, for one target and for many."""
    spots, rest = places(case, at_rest(case, many(solver, FEW)), 12)[0], rig(case.name).rest
    sides = np.round(np.random.default_rng(13).normal(size=spots.shape), 6)
    answers: list[poise.Result] = []
    for row in (slice(None), 0):
        goals = [poise.Position(case.tip, spots[row], root=case.root), poise.Pole(case.mid, sides[row], root=case.root)]
        answers.append(poise.solve(rest, goals, solver=solver, natural=False))
    return answers


@question("arm", "g1", "glb", "bvh", "limited")
def several(case: Case, solver: Any) -> Results:
    """Two goals with weights, many at once and one from a new pose; a pin; a preference."""
    starts = at_rest(case, many(solver, FEW))
    here, there = places(case, starts, 14)[0], places(case, starts, 15, case.other)[0]
    rest, pose = rig(case.name).rest, poses(case, 2, 16)[1]

    def goals(row: Any) -> list[Any]:
        return [poise.Position(case.tip, here[row]), poise.Position(case.other, there[row], weight=0.5)]

    requested = [(rest, goals(slice(None))), (rest, goals(0)), (pose, goals(1))]
    requested.append((rest, [poise.Position(case.tip, here), poise.Pin(case.other)]))
    requested.append((pose, [poise.Position(case.tip, here), poise.Near(pose, weight=0.1)]))
    return _each(lambda one: poise.solve(*one, solver=solver, natural=False), requested)


@question("g1", "glb", "bvh")
def whole(case: Case, solver: Any) -> Results:
    """Places of hands, feet and head, with the root free where it can be."""
    starts = at_rest(case, min(many(solver, FEW), 20))
    q = golden_rigs.random_q(case, len(starts.q), 17, 0.2)
    world = poise.Pose(starts.skeleton, q).world
    goals = [
        poise.Place(name, np.round(world[name].positions, 7), np.round(world[name].rotations, 7)) for name in case.many
    ]
    rest = rig(case.name).rest
    first = [
        goal.with_target(np.concatenate([world[goal.joint].positions[0], world[goal.joint].rotations[0]]))
        for goal in goals
    ]
    return [
        poise.solve(rest, every, solver=solver, natural=False, free_root=case.free_root) for every in (goals, first)
    ]


@question("bvh", "limited", "g1", "glb")
def free_root(case: Case, solver: Any) -> Results:
    """The root moves as well."""
    spots = places(case, at_rest(case, many(solver, FEW)), 18)[0] + 0.3 * size(case)
    goals = [poise.Position(case.tip, spots), poise.Position(case.tip, spots[0])]
    return [poise.solve(rig(case.name).rest, goal, solver=solver, natural=False, free_root=True) for goal in goals]


@question("arm", "coupled", "bvh", "limited", "soft")
def outside(case: Case, solver: Any) -> Results:
    """Starts that are outside their limits."""
    skeleton = rig(case.name).skeleton
    q = golden_rigs.random_q(case, many(solver, FEW), 19, 1.5)
    for row, kind in enumerate(skeleton.kinds):
        if kind in {poise.Kind.HINGE, poise.Kind.SLIDE} and skeleton.couplings[row] is None:
            q[::2, int(skeleton.q_start[row])] *= 4.0
    starts = poise.Pose(skeleton, q)
    spots = places(case, at_rest(case, len(q)), 20)[0]
    together = poise.solve(starts, poise.Position(case.tip, spots, root=case.root), solver=solver, natural=False)
    return [
        together,
        poise.solve(starts[0], poise.Position(case.tip, spots[0], root=case.root), solver=solver, natural=False),
    ]


def _clip(case: Case) -> tuple[poise.Clip, poise.Position]:
    clip = rig(case.name).clips[case.clip or 0]
    spots = clip.poses.world_of(case.tip).positions
    away = np.random.default_rng(21).uniform(-0.25, 0.25, spots.shape) * size(case)
    return clip, poise.Position(case.tip, np.round(spots + away, 7), root=case.root)


@question("glb", "bvh", "spine", "limited", "soft", "cesium")
def clip(case: Case, solver: Any) -> Results:
    """A clip is baked: every frame from its own pose, and alone."""
    frames, goal = _clip(case)
    return [poise.bake(frames, goal, solver=solver, natural=False, continuous=False).result]


@question("glb", "bvh", "spine", "cesium")
def clip_frames(case: Case, solver: Any) -> Results:
    """Frames of the clip, one by one, and some as a batch."""
    frames, goal = _clip(case)
    found = [
        poise.solve(
            frames.poses[i], poise.Position(case.tip, goal.target[i], root=case.root), solver=solver, natural=False
        )
        for i in range(0, len(frames), 5)
    ]
    some = poise.Position(case.tip, goal.target[:7], root=case.root)
    return [*found, poise.solve(frames.poses[:7], some, solver=solver, natural=False)]


@question("arm", "coupled", "glb", "limited")
def closest(case: Case, solver: Any) -> Results:
    """The nearest of several solutions."""
    spots = places(case, at_rest(case, min(many(solver, FEW), 6)), 22)[0]
    goal = poise.Position(case.tip, spots, root=case.root)
    return [poise.solve(rig(case.name).rest, goal, solver=solver, natural=False, prefer="closest", seeds=16)]


@question("arm", "coupled", "glb", "limited")
def every(case: Case, solver: Any) -> Results:
    """All distinct solutions."""
    spots, turns = places(case, at_rest(case, 1), 23)
    goal = poise.Place(case.tip, spots[0], turns[0], root=case.root)
    return [poise.solve(rig(case.name).rest, goal, solver=solver, natural=False, prefer="all", seeds=64)]


@question("arm", "glb", "spine", "limited")
def traced(case: Case, solver: Any) -> Results:
    """Error and pose after every iteration."""
    spots = places(case, at_rest(case, 2), 24)[0]
    rest = rig(case.name).rest
    return [
        poise.solve(rest, poise.Position(case.tip, spot, root=case.root), solver=solver, natural=False, trace=True)
        for spot in spots
    ]


@question("arm", "coupled", "glb", "g1")
def exact(case: Case, solver: Any) -> Results:
    """Other tolerances."""
    spots = places(case, at_rest(case, many(solver, FEW)), 25)[0]
    goal = poise.Position(case.tip, spots, root=case.root)
    return [
        poise.solve(rig(case.name).rest, goal, solver=solver, natural=False, tolerance=size(case) * allowed)
        for allowed in (1e-2, 1e-9)
    ]


@question("arm", "glb", "spine", "g1")
def tracked(case: Case, solver: Any) -> Results:
    """Targets on a line, followed: freely, with a speed, and with a few iterations a frame."""
    ends = places(case, at_rest(case, 2), 26)[0]
    line = ends[0] + (ends[1] - ends[0]) * np.linspace(0.0, 1.0, 12)[:, None]
    answers: list[poise.Result] = []
    options: list[dict[str, Any]] = [{}, {"speed": 2.0, "damping": 0.05}, {"iterations": 3}, {"restart": True}]
    for option in options:
        goal = poise.Position(case.tip, ends[0], root=case.root)
        follow = poise.Tracker(rig(case.name).rest, goal, solver=solver, natural=False, **option)
        answers += [follow(spot.copy(), 1 / 60) for spot in line]
    return answers


@question("arm", "glb", "spine", "coupled")
def prepared_batch(case: Case, solver: Any) -> Results:
    """A prepared problem with many targets, with lists, and as a stream."""
    spots = places(case, at_rest(case, many(solver, FEW)), 27)[0]
    go = poise.prepare(
        rig(case.name).rest, poise.Position(case.tip, spots[0], root=case.root), solver=solver, natural=False
    )
    return [go(spots), go(spots[0].tolist()), *go.stream(spots, chunk=11)]


def wanted(pattern: str = "*") -> Iterator[tuple[str, Case, Any, Question]]:
    """Name, rig, solver and question of every entry whose name goes with a pattern."""
    for case in golden_rigs.RIGS.values():
        for ask, (function, rigs) in QUESTIONS.items():
            methods = [(name, name) for name in METHODS if name != "autodiff" or case.name in STUDIED]
            if ask in {"batch", "new_pose"}:
                methods += list(VARIANTS.items())
            for label, solver in methods:
                name = f"{case.name}/{label}/{ask}"
                if case.name in rigs and fnmatch(name, pattern):
                    yield name, case, solver, function


def answered(case: Case, solver: Any, function: Question) -> Entry:
    """The answer to a question: its hashes, or the sentence with which it is refused."""
    try:
        results = function(case, solver)
    except poise.PoiseError as error:
        return {"refused": f"{type(error).__name__}: {error}"}
    except Exception as error:  # noqa: BLE001  (a fault of the library is an answer that is to go away)
        return {"broken": f"{type(error).__name__}: {error}"}
    return entry(results)


def entry(results: Results) -> Entry:
    """Hashes of q (also of traces and of all solutions), of statuses and of iterations, of words; and two figures."""
    q = [part for result in results for part in (result.q, *_more(result))]
    reached = np.concatenate([np.ravel(result.reached) for result in results])
    worst = max((float(result.errors.max(initial=0.0)) for result in results), default=0.0)
    return {
        "q": digest(*(np.asarray(part, dtype=np.float64) for part in q)),
        "status": digest(*(np.asarray(result.codes, dtype=np.int64) for result in results)),
        "iterations": digest(*(np.asarray(result.iterations, dtype=np.int64) for result in results)),
        "words": digest("\n".join(message_text(result) for result in results)),
        "reached": f"{int(reached.sum())} of {reached.size}",
        "worst": f"{worst:.4g}",
    }


def _more(result: poise.Result) -> list[Any]:
    parts = [] if result.trace is None else [result.trace.q]
    return parts if result.solutions_q is None else [*parts, result.solutions_q]


def message_text(result: poise.Result) -> str:
    """What a result says of itself, but for its time: solver, joints, what was moved inside, the first messages."""
    few = [result.message(i) for i in range(min(int(np.prod(result.shape)), 4))]
    return "; ".join([result.solver, *result.joints, "moved", *result.moved_inside, *few])


def digest(*parts: Any) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of arrays (with their shapes) or of a text."""
    found = hashlib.sha256()
    for part in parts:
        if isinstance(part, str):
            found.update(part.encode())
        else:
            found.update(str(part.shape).encode() + np.ascontiguousarray(part).tobytes())
    return found.hexdigest()[:16]
