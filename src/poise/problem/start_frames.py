"""Plans for many starts with different fixed joints.

A fixed joint above the first moving ones changes only the frames of these: the pose of a spine, for a hand and a foot.
So does a translation of a row there. One plan then serves all starts, with a row of frames for each. The kernels take
them like targets.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.kernels.layout import FRAME_OFFSET, FRAME_RATIO, FRAME_ROTATION
from poise.maths.arrays import Ints
from poise.model.pose import Pose
from poise.problem import dof_layout
from poise.problem.frame_packing import EXPORTER_LENGTH_ERROR, compute_node_frames
from poise.problem.plan import Plan
from poise.runtime.result_cache import get_or_compute


class FirstNodes(NamedTuple):
    """Moving nodes next to the base.

    node_indices  their numbers
    rows          rows of the skeleton from the base to these nodes, parents first
    inner_rows    rows between these nodes and the goals, with translations of their own
    """

    node_indices: tuple[int, ...]
    rows: tuple[int, ...]
    inner_rows: Ints


def can_serve_starts(plan: Plan, starts: Pose) -> bool:
    """Return whether a plan can serve starts with different fixed joints.

    Bone lengths and effectors must be the same in all starts. A serial arm is no such plan: its own kernel, which a
    start alone takes, has one arm for all targets.
    """
    first_nodes = None if plan.is_serial_arm else _find_first_nodes(plan)
    if first_nodes is None or starts.scales is not None:
        return False
    if starts.translations is None:
        return True
    inner_translations = starts.translations.reshape(-1, len(plan.skeleton), 3)[:, first_nodes.inner_rows]
    return bool((inner_translations == inner_translations[0]).all())


def build_plan_of_starts(plan: Plan, starts: Pose) -> Plan:
    """Build the plan of many starts from the first one's.

    Each row of its frames has the bits of the plan of that start alone.
    """
    first_nodes = _find_first_nodes(plan)
    assert first_nodes is not None
    frames = np.repeat(plan.frames, len(starts.flat_q), axis=0)
    node_frames = compute_node_frames(starts, plan.layout, first_nodes.rows)
    for i in first_nodes.node_indices:
        frames[:, i, FRAME_OFFSET:FRAME_ROTATION] = node_frames[i].offset / plan.kernel_unit_in_base
        frames[:, i, FRAME_ROTATION:FRAME_RATIO] = node_frames[i].rotation
    return plan.with_frames(frames)


def _find_first_nodes(plan: Plan) -> FirstNodes | None:
    """Find the first nodes. None where fixed joints change more than their frames."""
    return get_or_compute(plan, "first nodes", None, lambda: _search_first_nodes(plan))


def _search_first_nodes(plan: Plan) -> FirstNodes | None:
    skeleton, layout = plan.skeleton, plan.layout
    node_indices = [i for i, node in enumerate(layout.nodes) if node.parent < 0]
    ancestor_rows = {row for i in node_indices for row in skeleton.list_path(layout.nodes[i].row)}
    rows = [row for row in layout.rows_below_base if row in ancestor_rows]
    fixed_rows = np.searchsorted(skeleton.q_start, layout.fixed_columns, side="right") - 1
    # A fixed node belongs to the bones, and so does a goal above all moving nodes.
    has_fixed_parts = any(layout.nodes[i].kind == dof_layout.FIXED for i in node_indices) or any(
        min((term.node_index, *term.limb_nodes)) < 0 for term in layout.terms
    )
    if has_fixed_parts or not set(fixed_rows) <= set(rows) or plan.length_error > EXPORTER_LENGTH_ERROR:
        return None
    if not (skeleton.B[rows, :, :3] == np.eye(3)).all():  # scale would change the lengths below, in last bits
        return None
    inner_rows = np.setdiff1d(layout.offset_rows, rows)
    return FirstNodes(tuple(node_indices), tuple(rows), inner_rows)
