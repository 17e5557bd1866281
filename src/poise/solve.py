"""solve(): choose a solver, pack the problem, run, judge."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise import solvers
from poise.arrays import Bools, Floats
from poise.checks import check_arguments
from poise.errors import InputError, UnsupportedError
from poise.goals import Goal, Position
from poise.pose import Pose
from poise.problem import Chain, pack, packs_together
from poise.result import Answer, Result, judge, kernel_targets, kernel_tips, posed
from poise.skeleton import Kind

_CHARACTER = 1e-4  # of the chain's length
_ROBOT = 1e-6  # file units: URDF is in metres
_ROUNDING = 1e-9
_CORRECTIONS = 4  # each takes the error left down by the amount of shear, 1e-3 at most


def solve(
    start: Pose,
    goals: Goal | Sequence[Goal],
    *,
    solver: str | solvers.Solver = "auto",
    tolerance: float | None = None,
    free_root: bool = False,
    trace: bool = False,
) -> Result:
    """Find a pose that meets the goals, limits kept, starting from `start`.

    start      a pose, or a batch of poses (leading axes), one per target
    goals      a Position; leading axes of its target are a batch
    solver     a name ("ccd"; "auto" chooses) or a solver value such as poise.CCD(iterations=50)
    tolerance  largest distance that counts as reached [file units]. Default: 1e-4 of the chain's length at rest if
               the skeleton has ball or free joints (a character; of the figure's size where the chain has no
               length of its own), else 1e-6 (a robot)
    free_root  let the free root joint above the chain move as well, turn and translate
    trace      keep the error and q after every iteration (one target only)

    A start outside its limits is first moved inside, and `Result.moved_inside` names the joints. A start
    that meets its goals comes back unchanged, bit for bit. What cannot be done is a Status, not an exception.

    Raises UnknownNameError for a joint or solver that does not exist, InputError for values that cannot be
    used, UnsupportedError for what the solver cannot do.
    """
    began = time.perf_counter()
    check_arguments(start, solver, tolerance)
    goal = _only(goals)
    chosen = _chosen(solver)
    shape = _batch(start, goal)
    if trace and np.prod(shape) != 1:
        raise InputError(f"trace=True keeps the iterations of one target; there are {np.prod(shape)}")
    start, goal, moved_inside = _prepared(start, goal, shape)
    if start.shape and not packs_together(start, goal, free_root=free_root):
        options = {"solver": chosen, "tolerance": tolerance, "free_root": free_root, "trace": trace}
        return _one_by_one(start, goal, options, shape, moved_inside, began=began)
    chain = pack(start, goal, free_root=free_root)
    return _run(chain, goal, chosen, _tolerance(chain, tolerance), shape, moved_inside, trace=trace, began=began)


def prepare(
    start: Pose,
    goals: Goal | Sequence[Goal],
    *,
    solver: str | solvers.Solver = "auto",
    tolerance: float | None = None,
    free_root: bool = False,
) -> Callable[[ArrayLike], Result]:
    """Pack a chain once for repeated targets and return a function from target to Result.

    Each call starts from the same pose and gives the same Result as solve() with that target.
    """
    check_arguments(start, solver, tolerance)
    goal = _only(goals)
    if start.shape:
        raise InputError("prepare() takes a single start pose; give solve() a batch")
    chosen = _chosen(solver)
    start, _, moved_inside = _prepared(start, goal, ())
    chain = pack(start, goal, free_root=free_root)
    allowed = _tolerance(chain, tolerance)

    def reach(target: ArrayLike) -> Result:
        began = time.perf_counter()
        wanted = Position(goal.joint, target, root=goal.root)
        shape = wanted.target.shape[:-1]
        return _run(chain, wanted, chosen, allowed, shape, moved_inside, trace=False, began=began)

    return reach


def _only(goals: Goal | Sequence[Goal]) -> Goal:
    every: list[Any] = list(goals) if isinstance(goals, Iterable) else [goals]
    if not all(isinstance(goal, Position) for goal in every):
        raise InputError("goals must be poise.Position values, one or a list of one")
    if len(every) != 1:
        raise UnsupportedError(f"ccd solves one Position goal at a time; got {len(every)} goals")
    return every[0]


def _chosen(solver: str | solvers.Solver) -> solvers.Solver:
    """The solver that is meant; "auto" is ccd until there are others."""
    return solvers.named("ccd" if solver == "auto" else solver) if isinstance(solver, str) else solver


def _batch(start: Pose, goal: Goal) -> tuple[int, ...]:
    """The batch axes of the start and the targets together."""
    try:
        return np.broadcast_shapes(start.shape, goal.target.shape[:-1])
    except ValueError as error:
        raise InputError(
            f"a batch of {start.shape} start poses does not go with targets of shape {goal.target.shape[:-1]}"
        ) from error


def _prepared(start: Pose, goal: Goal, shape: tuple[int, ...]) -> tuple[Pose, Goal, tuple[str, ...]]:
    """Move the start inside its limits, and flatten batch axes to one where the start has any."""
    if not np.prod(start.shape):
        start = Pose(start.skeleton, start.skeleton.rest_q)  # an empty batch of starts: nothing will be solved from it
    q, moved_inside = start.skeleton.legal(start.q)
    start = start.with_q(q)
    if start.shape:
        rows = [_flat(value, shape) for value in (start.q[..., None, :], start.translations, start.scales)]
        assert rows[0] is not None
        start = Pose(start.skeleton, rows[0][:, 0], rows[1], rows[2])
        goal = Position(goal.joint, np.broadcast_to(goal.target, (*shape, 3)), root=goal.root)
    return start, goal, moved_inside


def _flat(value: Any, shape: tuple[int, ...]) -> Any:
    if value is None:
        return None
    return np.broadcast_to(value, (*shape, *value.shape[-2:])).reshape(-1, *value.shape[-2:])


def _tolerance(chain: Chain, given: float | None) -> float:
    if given is not None:
        return float(given)
    if not (chain.skeleton.kinds >= Kind.BALL).any():
        return _ROBOT
    if chain.links and 0 < chain.length < np.inf:
        return _CHARACTER * chain.length
    points = Pose(chain.skeleton, chain.skeleton.rest_q).world.positions
    return _CHARACTER * float(np.ptp(points, axis=0).max(initial=0.0)) or _ROBOT


def _run(
    chain: Chain,
    goal: Goal,
    solver: solvers.Solver,
    tolerance: float,
    shape: tuple[int, ...],
    moved_inside: tuple[str, ...],
    *,
    trace: bool,
    began: float,
) -> Result:
    targets = kernel_targets(chain, goal, int(np.prod(shape)))
    allowed = tolerance / float(chain.unit.max())
    answer = solver.run(chain, targets, allowed, trace=trace)
    aims = targets.copy()
    for _ in range(_CORRECTIONS if chain.sheared else 0):
        tips, off = kernel_tips(chain, answer.x), _off(chain, answer)
        missed = (_lengths(tips + off - targets) > allowed) & (_lengths(tips - aims) <= allowed * (1 + _ROUNDING))
        if not missed.any():
            break
        aims[missed] = (targets - off)[missed]
        answer = _merged(answer, missed, solver.run(chain, aims[missed], allowed, trace=trace))
    q = chain.q_of(answer.x, answer.moved)
    pose, errors, codes, violation = judge(chain, goal, q, answer, tolerance)
    return Result(
        pose=_shaped(pose, shape),
        goals=(goal,),
        errors=errors.reshape(*shape, 1),
        codes=codes.reshape(shape),
        iterations=answer.iterations.reshape(shape),
        joint_updates=answer.joint_updates.reshape(shape),
        seconds=time.perf_counter() - began,
        solver=solver.name,
        tolerance=tolerance,
        moved_inside=moved_inside,
        violation=violation,
        chain=chain,
        x=answer.x,
        trace=answer.trace,
    )


def _off(chain: Chain, answer: Answer) -> Floats:
    """How far (k, 3) the true tips are from the kernels' tips, in kernel units, where scale is not quite uniform."""
    pose = posed(chain, chain.q_of(answer.x, answer.moved))
    return chain.to_kernel(pose.world.positions[:, chain.tip]) - kernel_tips(chain, answer.x)


def _lengths(v: Floats) -> Floats:
    return np.sqrt((v * v).sum(axis=-1))


def _merged(answer: Answer, rows: Bools, again: Answer) -> Answer:
    """The answer with some rows solved again; both count."""
    x, moved = answer.x.copy(), answer.moved.copy()
    iterations, joint_updates = answer.iterations.copy(), answer.joint_updates.copy()
    x[rows], moved[rows] = again.x, moved[rows] | again.moved
    iterations[rows] += again.iterations
    joint_updates[rows] += again.joint_updates
    return Answer(x, moved, iterations, joint_updates, again.trace)


def _one_by_one(
    start: Pose,
    goal: Goal,
    options: dict[str, Any],
    shape: tuple[int, ...],
    moved_inside: tuple[str, ...],
    *,
    began: float,
) -> Result:
    """Solve each pose of a batch from a chain of its own: their lengths or scales differ."""
    targets = goal.target.reshape(-1, 3)
    goals = [Position(goal.joint, target, root=goal.root) for target in targets]
    parts = tuple(solve(start[i], one, **options) for i, one in enumerate(goals))
    q = np.stack([part.pose.q for part in parts])
    return dataclasses.replace(
        parts[0],
        pose=_shaped(dataclasses.replace(start, q=q), shape),
        goals=(goal,),
        errors=np.stack([part.errors for part in parts]).reshape(*shape, 1),
        codes=np.stack([part.codes for part in parts]).reshape(shape),
        iterations=np.stack([part.iterations for part in parts]).reshape(shape),
        joint_updates=np.stack([part.joint_updates for part in parts]).reshape(shape),
        seconds=time.perf_counter() - began,
        moved_inside=moved_inside,
        violation=max(part.violation for part in parts),
        parts=parts,
    )


def _shaped(pose: Pose, shape: tuple[int, ...]) -> Pose:
    def shaped(value: Any, last: int) -> Any:
        return None if value is None else value.reshape(*shape, *value.shape[-last:])

    return dataclasses.replace(
        pose, q=shaped(pose.q, 1), translations=shaped(pose.translations, 2), scales=shaped(pose.scales, 2)
    )
