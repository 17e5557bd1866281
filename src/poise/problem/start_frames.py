"""Plans for many starts with different fixed joints.

A joint that keeps still between the moving ones changes the frames of these: the pose of a spine, for a hand and a
foot. So does a translation that a clip moves. One plan then serves all starts, with a row of frames for each. The
kernels take them like targets.
"""

from __future__ import annotations

from collections.abc import Sequence

from poise.kernels.layout import FRAME_RATIO
from poise.model.pose import Pose
from poise.problem.frame_packing import EXPORTER_LENGTH_ERROR, build_tree_frames
from poise.problem.goals import AnyGoal
from poise.problem.plan import Plan


def build_plan_of_starts(plan: Plan, starts: Pose, goals: Sequence[AnyGoal]) -> Plan | None:
    """Build the plan of many starts from the first one's. None where one plan cannot serve them.

    Units, effectors and scales must be the same in all starts. Each row of the frames has the bits of the plan of that
    start alone. A serial arm is no such plan: its own kernel, which a start alone takes, has one arm for all targets.
    """
    if plan.is_serial_arm or plan.length_error > EXPORTER_LENGTH_ERROR or not _has_one_base_scale(plan, starts):
        return None
    tree = build_tree_frames(starts, plan.layout)
    effectors, kernel_units, references = tree.pack_goals(goals)
    frames = tree.pack_frames(kernel_units)
    is_shared = (
        (kernel_units == plan.kernel_unit_in_base).all()
        and (effectors == plan.effectors).all()
        and (references == plan.references).all()
        and (tree.length_errors == tree.length_errors[0]).all()
        and (frames[:, :, FRAME_RATIO:] == plan.frames[:, :, FRAME_RATIO:]).all()
    )
    return plan.with_frames(frames) if is_shared else None


def _has_one_base_scale(plan: Plan, starts: Pose) -> bool:
    if starts.scales is None:
        return True
    base_rows = plan.skeleton.list_path(plan.layout.base_row)
    base_scales = starts.scales.reshape(-1, len(plan.skeleton), 3)[:, base_rows]
    return bool((base_scales == base_scales[0]).all())
