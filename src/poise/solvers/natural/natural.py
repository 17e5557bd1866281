"""Natural poses: stages in closed form before a solve for all goals.

The engine knows residuals, not bodies. Of all poses that meet the goals it finds one near the start, and with 50
degrees of freedom most of those are poses nobody would take: collar bones drawn up, elbows lifted, knees turned inward.
So a figure whose joints are known is posed first as people do it by hand: the root, the trunk, then each arm and leg in
closed form with knee and elbow where a body has them. The engine begins there, and where nothing is left to do that is
the answer. Where it had to go on, knees and elbows are turned back about the lines from hip to foot and from shoulder
to hand, which moves neither.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from poise import solvers
from poise.kernels.layout import NATURAL_BEND_RADIUS, OUTCOME_HAS_MOVED, OUTCOME_IS_MET
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.vectors import dot_rows
from poise.model.pose import Pose
from poise.model.skeleton import Skeleton
from poise.problem.dof_layout import TARGET_SIZES
from poise.problem.feasibility import find_overextended
from poise.problem.goals import Orientation, Place, is_joint_goal
from poise.problem.problem import Problem, Tolerance
from poise.problem.two_bone_limb import LimbPlan
from poise.runtime.result_cache import get_or_compute
from poise.solvers.base.answer_refinement import MIN_REFINED_LENGTH_ERROR, solve_with_balance
from poise.solvers.base.interface import (
    Answer,
    BoundSolve,
    Capabilities,
    Request,
    bind_solver,
    build_end_trace,
    complete_answer,
    merge_rows,
    rebind_solver,
    run_bound,
    run_solver_by_group,
    select_rows,
)
from poise.solvers.levenberg_marquardt import LevenbergMarquardt
from poise.solvers.natural.body_maps import find_points
from poise.solvers.natural.carried_roots import (
    Carried,
    bend_spine,
    carry_root,
    reach_with_legs,
    turn_bow,
    twist_spine,
)
from poise.solvers.natural.counter_lean import find_counter_leans
from poise.solvers.natural.ends import FloorParts, find_floor_parts, lift_above_floor, turn_ends_back
from poise.solvers.natural.floor import Floor
from poise.solvers.natural.free_limbs import FreeParts, find_free_parts, hold_free_parts
from poise.solvers.natural.gaze import turn_gaze
from poise.solvers.natural.limbs import (
    Bends,
    PosedBends,
    RoleLimb,
    bend_naturally,
    bend_posed,
    bend_to_poles,
    carry_limb,
    find_facing,
    find_first_joints,
    find_poles,
    find_rotation_columns,
    find_up,
    lower_poles,
    pose_limb,
)
from poise.solvers.natural.placed_hips import bow_from_hips, bow_over_feet
from poise.solvers.natural.roll import PosedRoll, pose_rolls, share_rolls
from poise.solvers.natural.root_places import find_placed_root, place_root
from poise.solvers.natural.stages import NaturalStage, find_stages, has_lone_limbs
from poise.solvers.natural.surroundings import BODY_ALONE, NOTHING_AROUND, Obstacles, Surroundings
from poise.solvers.natural.toes import raise_heels, stand_flat, turn_toes
from poise.solvers.natural.weight import find_moved_share, find_support_offsets


@dataclass(frozen=True, kw_only=True)
class Natural:
    """A figure's natural poses, with another solver for what closed forms leave.

    Parameters
    ----------
    finisher
        The solver that begins where the stages end.
    lowers
        Whether a lone arm is meant whose rest pose shows its side: the finisher bends it, and only an elbow that ends
        above both shoulder and hand is turned down.
    natural
        Whether poses are natural ones. False: the finisher alone.
    obstacles
        Floor and body, which limbs keep clear of.

    Notes
    -----
    A trace has two rows, the start and the answer.
    """

    finisher: solvers.Solver = field(default_factory=LevenbergMarquardt)
    lowers: bool = False
    natural: bool = True
    obstacles: Obstacles = BODY_ALONE

    @property
    def restraints(self) -> dict[str, bool]:
        """Map restraining options to harmless values: collar bones keep to their range."""
        return {"natural": False} if self.natural and not self.lowers else {}

    @property
    def name(self) -> str:
        """Return the name of the finisher."""
        return self.finisher.name

    @property
    def handles(self) -> Capabilities:
        """Return the capabilities of the finisher."""
        return self.finisher.handles

    def run(self, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request) -> Answer:
        """Solve for the targets (k, W); see `Solver.run`."""
        if not self.natural:
            return self.finisher.run(problem, targets, tolerance, request)
        if problem.has_balance:
            return solve_with_balance(self, problem, targets, tolerance, request)
        stages = find_stages(problem) if problem.joints else ()
        if not stages or not len(targets):
            return self.finisher.run(problem, targets, tolerance, request)
        if request.trace:
            answer = self.run(problem, targets, tolerance, replace(request, trace=False))
            return answer._replace(trace=build_end_trace(problem, answer.q, targets))
        return run_bound(self._bind_stages(problem, stages, tolerance, request), targets)

    def bind(self, problem: Problem, tolerance: Tolerance, request: Request) -> _NaturalSolve | None:
        """Bind the stages to a problem; see `BoundSolve`."""
        is_staged = self.natural and not problem.has_balance and not request.trace and problem.joints
        stages = find_stages(problem) if is_staged else ()
        return self._bind_stages(problem, stages, tolerance, request) if stages else None

    def _bind_stages(
        self, problem: Problem, stages: tuple[NaturalStage, ...], tolerance: Tolerance, request: Request
    ) -> _NaturalSolve:
        lone = _find_lone_limb(stages, problem)
        posed = None if self.lowers else pose_limb(lone, problem.start, self.obstacles)
        is_bound = self.lowers or not problem.start.shape  # several starts may have several plans
        finisher = bind_solver(self.finisher, problem, tolerance, request) if is_bound else None
        free = None if self.lowers else find_free_parts(problem)
        low = None if self.obstacles.floor is None else find_floor_parts(problem)
        rolls = pose_rolls([stage.roll for stage in stages], problem.start)
        return _NaturalSolve(self, problem, stages, lone, posed, finisher, rolls, free, low, tolerance, request)

    def finish_sheared(
        self, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request, q: Floats, updates: Ints
    ) -> Answer:
        """Finish poses of sheared skeletons by the engine."""
        found = run_solver_by_group(self.finisher, problem.with_q(q), targets, tolerance, request)
        return found._replace(iterations=found.iterations + (updates > 0), joint_updates=found.joint_updates + updates)

    def _run_engine(
        self,
        staged: Problem,
        stages: tuple[NaturalStage, ...],
        targets: Floats,
        tolerance: Tolerance,
        request: Request,
        finisher: BoundSolve | None,
    ) -> Answer:
        """Run the engine from the stages' poses. A root without a wanted rotation keeps its own at first.

        Where limits keep a leg from its foot, turning the whole body about it is the easiest way, and nobody's.
        """
        root, engine = _find_free_turn(staged, stages), self.finisher
        if root is None or type(engine) is not LevenbergMarquardt or engine.restarts == 0:
            if finisher is not None and staged.group_starts() is None:
                return run_bound(rebind_solver(finisher, engine, staged, tolerance, request), targets)
            return run_solver_by_group(engine, staged, targets, tolerance, request)
        few = replace(engine, restarts=_FEW if engine.restarts is None else min(engine.restarts, _FEW))
        turned = Orientation(root, (1.0, 0.0, 0.0, 0.0), root=root)
        held, silent = Problem(staged.start, (*staged.goals, turned), staged.free_root), replace(request, progress=None)
        turns = np.broadcast_to(staged.start.world[root].rotations, (len(targets), 4))
        found = run_solver_by_group(few, held, np.concatenate([targets, turns], axis=1), tolerance, silent)
        missed = np.flatnonzero(~staged.is_met(staged.compute_errors(found.q, targets), tolerance))
        if not len(missed):
            return found
        there = staged.select_rows(missed)
        return merge_rows(found, missed, run_solver_by_group(engine, there, targets[missed], tolerance, request))

    def finish(
        self,
        problem: Problem,
        stages: tuple[NaturalStage, ...],
        targets: Floats,
        tolerance: Tolerance,
        request: Request,
        answer: Answer,
        finisher: BoundSolve | None,
        is_final: Bools,
    ) -> Answer:
        """Finish missed rows by the engine, except final ones."""
        rows = np.flatnonzero(~answer.met & ~is_final)
        if len(rows) < len(targets):
            there, own = problem.select_rows(rows), targets[rows]
            staged = there.with_q(answer.q[rows])
            found = self._run_engine(staged, stages, own, tolerance, request, finisher)
            return merge_rows(answer, rows, _turn_bends_back(there, stages, own, tolerance, found, self.obstacles))
        found = self._run_engine(problem.with_q(answer.q), stages, targets, tolerance, request, finisher)
        found = _turn_bends_back(problem, stages, targets, tolerance, found, self.obstacles)
        iterations, updates = answer.iterations + found.iterations, answer.joint_updates + found.joint_updates
        return found._replace(iterations=iterations, joint_updates=updates)


def _find_free_turn(problem: Problem, stages: tuple[NaturalStage, ...]) -> str | None:
    """Find a placed root with an open rotation. None where there is none."""
    first = stages[0]
    if not first.free_root or first.carries or any("rotation" in goal.measures for goal in first.goals):
        return None
    names = [problem.skeleton.names[problem.skeleton.index(goal.joint)] for goal in first.goals if is_joint_goal(goal)]
    return next((name for name in names if name in problem.joints), None)


_ONCE, _FEW = LevenbergMarquardt(restarts=0), 2  # restarts with the root turned as it is
_SHARP = 1e-3  # of the tolerance: where a stage stops must not be seen in the pose that all of them lead to


def _turn_bends_back(
    problem: Problem, stages: tuple[NaturalStage, ...], targets: Floats, tolerance: Tolerance, answer: Answer,
    obstacles: Obstacles,
) -> Answer:  # fmt: skip
    """Turn knees and elbows of met poses to their natural sides.

    What a limb was bent by at the start of the problem speaks, and not what the engine made of it: how a limb that is
    stretched out is twisted does not show in its bend.
    """
    limbs = tuple(stage for stage in stages if stage.bends is not None and stage.bends.closed)
    if not limbs:
        return answer
    met = np.flatnonzero(_find_met(problem, answer, targets, tolerance))
    if not len(met):
        return answer
    q, there = answer.q, problem
    if len(met) < len(q):
        q, there, targets = q[met], problem.select_rows(met), targets[met]
    bent = q.copy()
    for stage in limbs:
        assert stage.bends is not None
        own = find_limb_columns(there.skeleton, stage.bends.limb)
        bent[:, own] = there.start_rows[:, own]
    lone = _find_lone_limb(stages, problem)
    if lone is None:
        turned, _, _ = _run_stages(there.with_q(bent), limbs, targets, tolerance, Request(), obstacles, there.start)
        still = there.is_met(there.compute_errors(turned, targets), tolerance)
    else:
        assert lone.plan is not None
        start = there.make_pose_unchecked(bent)
        around = obstacles.surround(lone.limb.kind, start)
        turned, flags = bend_naturally(lone, lone.plan, start, targets, tolerance, around=around)
        still = flags[:, OUTCOME_IS_MET]
    if len(turned) == np.count_nonzero(still) == len(answer.q):
        return answer._replace(q=turned)
    found = answer.q.copy()
    found[met[still]] = turned[still]
    return answer._replace(q=found)


def hold_above_floor(
    natural: Natural, problem: Problem, targets: Floats, tolerance: Tolerance, q: Floats, clear_q: Floats
) -> Floats:
    """Hold limbs of poses q (k, nq) above the floor.

    Limbs keep their sides where these are clear of it, feet and hands turn towards those of poses `clear_q` for the
    same goals. Goals are met as before.
    """
    floor = natural.obstacles.floor
    stages = () if floor is None else find_stages(problem)
    if floor is None or not stages:
        return q
    obstacles = Obstacles(floor, has_body=False)
    for stage in stages:
        bends = stage.bends
        if bends is None or bends.plan is None or not bends.closed or stage.toes is not None:
            continue
        pose, rows = problem.make_pose_unchecked(q), targets[:, stage.columns]
        is_low = _measure_middle_depths(bends, pose, floor) > tolerance.distance
        if is_low.any():
            around = obstacles.surround(bends.limb.kind, pose)
            turned, flags = bend_naturally(bends, bends.plan, pose, rows, tolerance, around=around)
            q = np.where((is_low & flags[:, OUTCOME_IS_MET])[:, None], turned, q)
    return turn_ends_back(find_floor_parts(problem), problem, q, clear_q, floor, tolerance)


def _measure_middle_depths(bends: Bends, pose: Pose, floor: Floor) -> Floats:
    """Measure the depths (k,) of knees or elbows below the floor."""
    middles = find_points(pose, bends.limb.middle)
    planes = floor.find_planes(middles[:, None])
    radius = bends.limb.numbers[NATURAL_BEND_RADIUS]
    return planes[:, 3] + radius - dot_rows(planes[:, :3], middles)


def _find_met(problem: Problem, answer: Answer, targets: Floats, tolerance: Tolerance) -> Bools:
    """Find the rows of an answer with met goals. The solver is trusted where its tree has the lengths of the rig."""
    is_trusted = not problem.plan.is_sheared
    if is_trusted and np.count_nonzero(answer.met) == len(answer.met):
        return answer.met
    is_met = problem.is_met(problem.compute_errors(answer.q, targets), tolerance)
    return answer.met | is_met if is_trusted else is_met


def find_limb_columns(skeleton: Skeleton, limb: RoleLimb) -> Ints:
    """Find a limb's columns of q."""
    return get_or_compute(skeleton, "limb numbers", (limb.first, limb.middle), lambda: _list_columns(skeleton, limb))


def _list_columns(skeleton: Skeleton, limb: RoleLimb) -> Ints:
    return np.concatenate([find_rotation_columns(skeleton, row) for row in (limb.first, limb.middle)])


class _NaturalSolve(NamedTuple):
    """Stages of a problem; see `BoundSolve`.

    lone      the limb whose closed form is all that there is to do, if so
    posed     that limb in the start poses; None where the finisher bends it
    finisher  the solver that finishes, bound to the problem; None where several starts may have several plans
    rolls     arms whose hands are to be turned, in the start poses
    free      limbs and head that no goal speaks of; None where there are none, or nothing carries them along
    low       what stays above the floor after goals are met; None where there is no floor
    """

    natural: Natural
    problem: Problem
    stages: tuple[NaturalStage, ...]
    lone: Bends | None
    posed: PosedBends | None
    finisher: BoundSolve | None
    rolls: tuple[PosedRoll, ...]
    free: FreeParts | None
    low: FloorParts | None
    tolerance: Tolerance
    request: Request

    def solve(self, targets: Floats) -> tuple[Floats, Bools] | Answer:
        """Solve for targets (k, W). Of a lone limb that meets them all, its flags come with q."""
        output = self._solve_body(targets)
        if self.rolls:
            if isinstance(output, Answer):
                output = output._replace(q=np.array(output.q, order="C"))  # it may have rows of others
            share_rolls(self.rolls, output[0])
        return output

    def _solve_body(self, targets: Floats) -> tuple[Floats, Bools] | Answer:
        """Solve for the goals, and pose what none of them speaks of."""
        output, problem = self._solve_goals(targets), self.problem
        if isinstance(output, Answer) and self.free is not None:  # a lone limb tilts nothing
            origin = problem.start if problem.origin is None else problem.origin
            output = output._replace(q=hold_free_parts(self.free, origin, problem.make_pose_unchecked(output.q)))
        if self.low is None:
            return output
        answer = output if isinstance(output, Answer) else self.build_answer(targets, output)
        return answer._replace(q=lift_above_floor(self.low, problem, answer.q, self.natural.obstacles, self.tolerance))

    def _solve_goals(self, targets: Floats) -> tuple[Floats, Bools] | Answer:
        """Solve for the goals alone."""
        natural, problem, stages, lone, posed, finisher, _, _, _, tolerance, request = self
        if natural.lowers:
            assert finisher is not None
            output = finisher.solve(targets)
            answer = complete_answer(finisher, targets, output)
            return answer if lone is None else _lower_elbows(lone, problem, targets, tolerance, answer)
        is_rigid = problem.plan.length_error <= MIN_REFINED_LENGTH_ERROR
        if posed is not None:
            q, flags = bend_posed(posed, targets, tolerance, keeps_met=True)
            carried = posed.find_carried(targets)
            if carried is not None:
                return self._carry(q, flags, carried, targets)
            if is_rigid and np.count_nonzero(flags[:, OUTCOME_IS_MET]) == len(flags):
                return q, flags
            updates, met = flags[:, OUTCOME_HAS_MOVED].astype(np.int64), flags[:, OUTCOME_IS_MET].copy()
            return self._finish(_PosedStarts(q, updates, met, np.zeros(len(q), dtype=np.bool_)), targets)
        started = _pose_starts(problem, stages, targets, tolerance, request, natural.obstacles)
        return self._finish(started, targets)

    def _carry(self, q: Floats, flags: Bools, carried: Bools, targets: Floats) -> Answer:
        """Solve rows with turning collar bones stage by stage, and finish all."""
        problem, rows, obstacles = self.problem, np.flatnonzero(carried), self.natural.obstacles
        there = problem.select_rows(rows)
        found = _pose_starts(there, self.stages, targets[rows], self.tolerance, self.request, obstacles)
        q[rows], flags[rows, OUTCOME_HAS_MOVED], flags[rows, OUTCOME_IS_MET] = found.q, found.updates > 0, found.met
        updates, is_final = flags[:, OUTCOME_HAS_MOVED].astype(np.int64), np.zeros(len(q), dtype=np.bool_)
        is_final[rows] = found.is_final
        return self._finish(_PosedStarts(q, updates, flags[:, OUTCOME_IS_MET].copy(), is_final), targets)

    def _finish(self, started: _PosedStarts, targets: Floats) -> Answer:
        """Solve by the engine what the stages have missed."""
        natural, problem, stages, _, _, finisher, _, _, _, tolerance, request = self
        q, updates, met, is_final = started
        moved, is_met = updates > 0, bool((met | is_final).all())
        far = None if is_met else find_overextended(problem, targets, tolerance)
        if far is not None:  # a limb that is too short is stretched by the engine
            far &= ~is_final
            q[far], updates[far], moved = np.broadcast_to(problem.start_rows, q.shape)[far], 0, moved & ~far
        if not problem.plan.length_error <= MIN_REFINED_LENGTH_ERROR:
            return natural.finish_sheared(problem, targets, tolerance, request, q, updates)
        answer = Answer(q, met, moved.astype(np.int64), updates)
        if is_met:
            return answer
        return natural.finish(problem, stages, targets, tolerance, request, answer, finisher, is_final)

    def with_starts(self, problem: Problem) -> BoundSolve:
        """Return the stages for other starts of the problem; see `rebind_solver`."""
        natural, own, stages, lone, _, finisher, rolls, _, _, tolerance, request = self
        if problem.plan is not own.plan or problem.start.shape or finisher is None:
            return bind_solver(natural, problem, tolerance, request)
        if natural.lowers:
            finisher = rebind_solver(finisher, natural.finisher, problem, tolerance, request)
        posed = None if natural.lowers else pose_limb(lone, problem.start, natural.obstacles)
        rolls = pose_rolls([stage.roll for stage in stages], problem.start) if rolls else rolls
        return self._replace(problem=problem, posed=posed, finisher=finisher, rolls=rolls)

    def build_answer(self, targets: Floats, output: tuple[Floats, Bools]) -> Answer:
        """Build the answer of a lone limb."""
        q, flags = output
        updates = flags[:, OUTCOME_HAS_MOVED].astype(np.int64)
        return Answer(q, flags[:, OUTCOME_IS_MET], updates, updates)


class _PosedStarts(NamedTuple):
    """Poses q (k, nq) after the stages, with counts and flags.

    is_final  (k,) whether only goals of arms are missed that collar bones bring no nearer
    """

    q: Floats
    updates: Ints
    met: Bools
    is_final: Bools


def _pose_starts(
    problem: Problem,
    stages: tuple[NaturalStage, ...],
    targets: Floats,
    tolerance: Tolerance,
    request: Request,
    obstacles: Obstacles,
) -> _PosedStarts:
    """Pose a batch of starts. One with met goals stays as it is."""
    silent = request if request.progress is None else replace(request, progress=None)
    starts, count = problem.start_rows, len(targets)
    q = starts.copy() if len(starts) == count else np.repeat(starts, count, axis=0)
    updates, met = np.zeros(count, dtype=np.int64), problem.is_met(problem.compute_errors(q, targets), tolerance)
    moved, is_final = ~met, np.zeros(count, dtype=np.bool_)
    if moved.any():
        rows = slice(None) if moved.all() else moved
        there, wanted = (problem, targets) if moved.all() else (problem.select_rows(moved), targets[moved])
        q_staged, updates[moved], is_short = _run_stages(there, stages, wanted, tolerance, silent, obstacles)
        errors = there.compute_errors(q_staged, wanted)
        q[rows] = q_staged
        met[moved] = there.is_met(errors, tolerance)
        if is_short is not None and has_lone_limbs(problem, stages):
            is_final[moved] = ~met[moved] & _find_final(there, stages, errors, tolerance, is_short)
    return _PosedStarts(q, updates, met, is_final)


def _find_final(
    problem: Problem, stages: tuple[NaturalStage, ...], errors: Floats, tolerance: Tolerance, is_short: Bools
) -> Bools:
    """Find the rows (k,) missed by short limbs alone."""
    is_missed = ~(errors <= problem.compute_error_bounds(tolerance))
    for i, stage in enumerate(stages):
        own = [measure.target_column in stage.columns for measure in problem.measures]
        is_missed[:, own] &= ~is_short[:, i : i + 1]
    return np.logical_not(is_missed.any(axis=1))


def _lower_elbows(bends: Bends, problem: Problem, targets: Floats, tolerance: Tolerance, answer: Answer) -> Answer:
    """Lower raised elbows of a lone arm's answer.

    A start that was left as it is stays so.
    """
    found = lower_poles(bends, problem.make_pose_unchecked(answer.q), answer.iterations > 0)
    if found is None or bends.plan is None:
        return answer
    rows, poles_below = found
    q, done = bend_to_poles(bends.plan, problem.select_rows(rows).start, targets[rows], poles_below, tolerance)
    met = done[:, 1]
    nothing = np.zeros(int(met.sum()), dtype=np.int64)
    return merge_rows(answer, rows[met], Answer(q[met], met[met], nothing, nothing))


def _find_lone_limb(stages: tuple[NaturalStage, ...], problem: Problem) -> Bends | None:
    """Find a lone limb with a closed form for all goals."""
    bends, width = stages[0].bends, sum(TARGET_SIZES[measure.kind] for measure in problem.measures)
    alone = bends is not None and bends.closed and len(stages) == 1 and len(stages[0].columns) == width
    return bends if alone else None


class _StagedPoses(NamedTuple):
    """What the stages make of starts.

    q         (k, nq) the poses
    updates   (k,) how many joints were turned
    is_short  (k, stages) which limbs are too short for their targets; None where none is
    """

    q: Floats
    updates: Ints
    is_short: Bools | None


def _run_stages(
    problem: Problem, stages: tuple[NaturalStage, ...], targets: Floats, tolerance: Tolerance, request: Request,
    obstacles: Obstacles, stood: Pose | None = None,
) -> _StagedPoses:  # fmt: skip
    """Pose a batch of starts stage by stage.

    stood  poses in which feet are turned as they stand; those of the start by default
    """
    pose, updates, lean = problem.start, np.zeros(len(targets), dtype=np.int64), None
    is_short: Bools | None = None
    known: dict[str, Surroundings] = {}
    for i, stage in enumerate(stages):
        if stage.carries:
            moved = _move_trunk(problem, stage, pose, targets, tolerance, request, obstacles)
            if isinstance(moved, _StagedPoses):
                return moved._replace(updates=updates + moved.updates)
            pose, lean = moved
            continue
        known_pose = _turn_or_place(problem, stage, pose, targets)
        if known_pose is not None:
            pose, joint_counts = known_pose
            updates += joint_counts
            continue
        rows, bends = targets[:, stage.columns].copy(), stage.bends
        around = NOTHING_AROUND if bends is None else _surround(known, bends, obstacles, stages, pose, targets)
        raised = None
        if stage.toes is not None and bends is not None:
            raised = raise_heels(stage.toes, bends, pose, problem.start if stood is None else stood, rows, lean, around)
            rows = raised.targets
        sides = None if stage.poled is None else targets[:, stage.poled].copy()
        carried = None if bends is None else carry_limb(bends, pose, rows)
        if carried is not None:
            rows = carried.targets
            pose = pose if carried.is_carried is None else problem.make_pose_unchecked(carried.q)
            if carried.is_short.any():
                is_short = np.zeros((len(targets), len(stages)), dtype=np.bool_) if is_short is None else is_short
                is_short[:, i] = carried.is_short
        if bends is not None and bends.plan is not None and bends.closed:
            if sides is None:
                q, found = bend_naturally(bends, bends.plan, pose, rows, tolerance, lean, around)
            else:
                q, found = bend_to_poles(bends.plan, pose, rows, sides, tolerance)
            turned = found[:, 0]
        else:
            q, turned = _pose_by_engine(stage, pose, rows, sides, tolerance, request, lean, around)
        updates, pose = updates + turned, problem.make_pose_unchecked(q)
        if stage.toes is not None and raised is not None:
            pose = problem.make_pose_unchecked(turn_toes(stage.toes, pose, raised.toe_turns))
    return _StagedPoses(pose.flat_q, updates, is_short)


def _turn_or_place(
    problem: Problem, stage: NaturalStage, pose: Pose, targets: Floats
) -> tuple[Pose, int | Bools] | None:
    """Turn gazes or place free roots; return poses and joint counts. None for other stages."""
    own = targets[:, stage.columns]
    if stage.gaze is not None:
        count = len(stage.gaze.rows) - stage.gaze.pelvis_count
        return problem.make_pose_unchecked(turn_gaze(stage.gaze, problem, pose, own)), count
    row = find_placed_root(problem.skeleton, stage.goals) if stage.free_root else -1
    if row < 0:
        return None
    q = place_root(problem.start, pose, row, own)
    return problem.make_pose_unchecked(q), (q != pose.flat_q).any(axis=1)


def _surround(
    known: dict[str, Surroundings], bends: Bends, obstacles: Obstacles, stages: tuple[NaturalStage, ...], pose: Pose,
    targets: Floats,
) -> Surroundings:  # fmt: skip
    """Find the obstacles of a limb, once for both sides.

    known  obstacles by kind of limb
    """
    kind = bends.limb.kind
    if kind not in known:
        known[kind] = _find_obstacles(kind, obstacles, stages, pose, targets)
    return known[kind]


def _find_obstacles(
    kind: str, obstacles: Obstacles, stages: tuple[NaturalStage, ...], pose: Pose, targets: Floats
) -> Surroundings:
    """Find the obstacles of arms or legs.

    Thighs make way for arms that have targets.
    """
    arms = [(stage.bends, stage.columns[:3]) for stage in stages if stage.bends and stage.bends.limb.kind == "arm"]
    if kind == "arm" or not arms:
        return obstacles.surround(kind, pose)
    hands = np.stack([targets[:, columns] for _, columns in arms], axis=1)
    shoulders = find_first_joints([bends.limb for bends, _ in arms], pose, len(targets))
    return obstacles.surround_legs(pose.skeleton, shoulders, hands)


def _sharpen(tolerance: Tolerance) -> Tolerance:
    """How near a stage comes to what it is for."""
    return Tolerance(tolerance.distance * _SHARP, tolerance.angle * _SHARP)


def _pose_by_engine(
    stage: NaturalStage,
    pose: Pose,
    rows: Floats,
    sides: Floats | None,
    tolerance: Tolerance,
    request: Request,
    lean: Floats | None,
    around: Surroundings,
) -> tuple[Floats, Ints]:
    """Pose a stage by the engine; return (k, nq) and joint counts.

    sides  (k, 3) points to whose side a limb bends; None where the body says so
    """
    bends = stage.bends
    if bends is not None:
        rows = np.concatenate([rows, find_poles(bends, pose, rows, lean, around) if sides is None else sides], axis=1)
    part = Problem(pose, stage.goals, stage.free_root)
    answer = run_solver_by_group(_ONCE, part, rows, _sharpen(tolerance), request)
    if bends is not None and bends.plan is not None:
        answer = _bend_missed(bends, bends.plan, part, rows, tolerance, answer, lean, around, poled=sides is not None)
    return answer.q, answer.joint_updates


def _bend_missed(
    bends: Bends,
    plan: LimbPlan,
    part: Problem,
    rows: Floats,
    tolerance: Tolerance,
    answer: Answer,
    lean: Floats | None,
    around: Surroundings,
    *,
    poled: bool,
) -> Answer:
    """Solve misses of a limited limb again from the closed form.

    The engine does not bend a straight limb whose target lies on its own line.
    """
    missed = np.flatnonzero(~part.is_met(part.compute_errors(answer.q, rows), tolerance))
    if not len(missed):
        return answer
    there, own = part.select_rows(missed), rows[missed]
    turned = None if lean is None else lean[missed]
    tips, sides = own[:, :-3].copy(), own[:, -3:].copy()
    if poled:
        q, _ = bend_to_poles(plan, there.start, tips, sides, tolerance)
    else:
        near = around.select(missed)
        q, _ = bend_naturally(bends, plan, there.start, tips, tolerance, turned, near)
    there_first = there.with_q(part.skeleton.bounds.clamp_by_kernel(q))
    found = run_solver_by_group(_ONCE, there_first, own, _sharpen(tolerance), Request())
    better = there.is_met(there.compute_errors(found.q, own), tolerance)
    if not better.any():
        return answer
    return merge_rows(answer, missed[better], select_rows(found, better))


def _move_trunk(
    problem: Problem, stage: NaturalStage, pose: Pose, targets: Floats, tolerance: Tolerance, request: Request,
    obstacles: Obstacles,
) -> tuple[Pose, Floats | None] | _StagedPoses:  # fmt: skip
    """Carry roots, or bow trunks about placed hips.

    Return poses and turns (k, 4) of the pelvis, or poses of all stages, where legs stand already and nothing bows.
    """
    sharp = _sharpen(tolerance)
    if stage.hips < 0:
        return _carry_root(problem, stage, targets, sharp, request)
    if stage.has_arms:
        return _bow_trunk(problem, stage, pose, targets, sharp, request)
    there = problem.with_q(pose.flat_q)
    standing = _run_stages(there, stage.carries, targets, tolerance, request, obstacles, problem.start)
    bowed = _bow_over_feet(problem, stage, pose, standing.q, targets, sharp, request)
    return standing if bowed is None else bowed


def _carry_root(
    problem: Problem, stage: NaturalStage, targets: Floats, sharp: Tolerance, request: Request
) -> tuple[Pose, Floats]:
    """Carry roots within their limbs' reach; return poses and leans (k, 4)."""
    start = problem.start
    tips = _find_tips(stage, start, targets)
    root, limbs = stage.goals[0], [limb.bends for limb in stage.carries if limb.bends is not None]
    assert isinstance(root, Place)
    ahead = find_facing(limbs, start, find_up(problem.skeleton), len(targets))
    turn = find_counter_leans(limbs, stage.pinned, start, tips, ahead)
    twisted = twist_spine(limbs, start, stage.spine, tips, ahead)
    if twisted is not None:
        q, spine_twist, twist = twisted
        ahead = turn_bow(limbs, start, tips, spine_twist, ahead)
        start = problem.make_pose_unchecked(q)
        turn = twist if turn is None else turn if twist is None else rotations.multiply(turn, twist)
    found = carry_root(limbs, start, root.joint, stage.spine, tips, ahead, turn)
    after = _place_root(problem, stage, start, found, sharp, request)
    if not any(stage.pinned):
        return after, found.lean
    origin = problem.start if problem.origin is None else problem.origin
    offsets = find_support_offsets([one.limb for one in limbs], stage.pinned, origin, after, tips)
    if offsets is None or not offsets.any():
        return after, found.lean
    shift = offsets / find_moved_share(problem.skeleton, [one.limb for one in limbs])
    moved = reach_with_legs(limbs, after, root.joint, tips, shift)
    if all(one.limb.kind == "leg" for one in limbs):
        place = found.place.copy()
        place[:, :3] += moved
        shifted, lean = found._replace(place=place, bend=np.zeros(len(place))), found.lean
    else:  # hands follow from where the weight is
        shifted = carry_root(limbs, start, root.joint, stage.spine, tips, ahead, turn, moved, found)
        lean = shifted.lean
    q = _place_root(problem, stage, start, shifted, sharp, request).flat_q
    is_shifted = (offsets != 0.0).any(axis=1)[:, None]
    return problem.make_pose_unchecked(np.where(is_shifted, q, after.flat_q)), np.where(is_shifted, lean, found.lean)


def _find_tips(stage: NaturalStage, start: Pose, targets: Floats) -> Floats:
    """Find places (k, l, 3) of hands and flat feet."""
    places = [(limb.toes, targets[:, limb.columns[:3]]) for limb in stage.carries]
    return np.stack([place if toes is None else stand_flat(toes, start, place) for toes, place in places], axis=1)


def _bow_trunk(
    problem: Problem, stage: NaturalStage, pose: Pose, targets: Floats, sharp: Tolerance, request: Request
) -> tuple[Pose, Floats | None]:
    """Bow trunks about placed hips towards hands.

    Return poses and turns (k, 4) of the pelvis; None where all hands are near.
    """
    tips, bends = _find_tips(stage, problem.start, targets), [limb.bends for limb in stage.carries if limb.bends]
    ahead = find_facing(bends, pose, find_up(problem.skeleton), len(targets))
    root = stage.goals[0]
    assert isinstance(root, Place)
    found = bow_from_hips(bends, pose, root.joint, stage.hips, stage.spine, tips, ahead)
    return (pose, None) if found is None else _place_bowed(problem, stage, pose, found, sharp, request)


def _bow_over_feet(
    problem: Problem, stage: NaturalStage, pose: Pose, standing_q: Floats, targets: Floats, sharp: Tolerance,
    request: Request,
) -> tuple[Pose, Floats] | None:  # fmt: skip
    """Bow trunks about placed hips until feet carry the weight.

    Return poses and turns (k, 4) of the pelvis; None where they do.

    standing_q  (k, nq) of the poses with legs that stand
    """
    bends, root = [limb.bends for limb in stage.carries if limb.bends], stage.goals[0]
    assert isinstance(root, Place)
    ahead = find_facing(bends, pose, find_up(problem.skeleton), len(targets))
    origin = problem.start if problem.origin is None else problem.origin
    standing = problem.make_pose_unchecked(standing_q)
    found = bow_over_feet(bends, stage.pinned, origin, standing, root.joint, stage.hips, stage.spine, ahead)
    return None if found is None else _place_bowed(problem, stage, pose, found, sharp, request)


def _place_bowed(
    problem: Problem, stage: NaturalStage, pose: Pose, found: Carried, sharp: Tolerance, request: Request
) -> tuple[Pose, Floats]:
    """Place roots of bowed trunks. Trunks that do not bow keep their poses, bit by bit, as they do alone."""
    q = _place_root(problem, stage, pose, found, sharp, request).flat_q
    is_bowed = (found.lean[:, 1:] != 0.0).any(axis=1) | (found.bend != 0.0)
    return problem.make_pose_unchecked(np.where(is_bowed[:, None], q, pose.flat_q)), found.lean


def _place_root(
    problem: Problem, stage: NaturalStage, start: Pose, found: Carried, sharp: Tolerance, request: Request
) -> Pose:
    """Place roots of starts as they are carried, and bend spines."""
    row = find_placed_root(problem.skeleton, stage.goals)
    if row >= 0:
        q = place_root(problem.start, start, row, found.place)
    else:
        part = Problem(start, stage.goals, stage.free_root)
        q = run_solver_by_group(_ONCE, part, found.place, sharp, request).q
    after = problem.make_pose_unchecked(q)
    return problem.make_pose_unchecked(bend_spine(found, start, after, stage.spine)) if found.bend.any() else after
