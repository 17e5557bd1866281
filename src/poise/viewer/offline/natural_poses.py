"""Natural poses of a page, as data.

What joins the kernels of natural poses is Python, so a page cannot compute them. It looks them up instead: for the
parts of a figure that people pull, what Poise answers at the corners of a grid of targets. Between corners the page
interpolates, and of the poses that meet its goals its engine takes the one nearest to that.

    corners of a grid -> poise.solve with the pins of the figure -> displacements from the start pose, 8 bits each

web/js/engine/natural_poses.js reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from poise.errors import PoiseError
from poise.maths.arrays import Floats
from poise.model.joints import Kind
from poise.model.pose import Pose
from poise.model.skeleton import Skeleton, find_free_root
from poise.problem.goals import Goal
from poise.solving.solve import choose_solver, solve
from poise.viewer.body_parts import find_parts
from poise.viewer.document.document import Document
from poise.viewer.document.pulls import pull_part, restore_body
from poise.viewer.document.whole_body import find_gaze_axes
from poise.viewer.offline.program import ArrayStore
from poise.viewer.view_solver import limit_restarts

CORNERS = 8  # of a grid along each axis; targets of a hand are about 25 cm apart then
# Parts with grids: those of limbs lie about the joint at which the limb begins, those of the trunk about themselves.
_LIMB_PARTS = {
    f"{side}{end}": f"{side}{first}"
    for side in ("left", "right")
    for end, first in (("Hand", "UpperArm"), ("LowerArm", "UpperArm"), ("Foot", "UpperLeg"))
}
_TRUNK_PARTS = "hips", "chest", "head"
_LIMB_REACH = 1.25  # limb lengths: the rest of the body comes along
_TRUNK_REACH = 0.35  # heights of the part above the lowest joint
_TRUNK_RISE = 0.05  # of the same: what stands hardly rises
_RESTARTS = 8  # of the engine, for corners beyond reach
_MOVED = 1e-6  # radians, or sizes of the figure: numbers of q that change less are left out
_MIN_SIDE = 1e-6  # of the longest side of a grid
_TRANSLATION, _QUATERNION = 3, 4  # numbers of a group
_STEPS = 127  # of a displacement in 8 bits, on each side of 0: finer than what lies between corners


class _Grid(NamedTuple):
    """Targets of a part.

    They are the corners along the axes ahead, left and up [file units], (8,) each.
    """

    ahead: Floats
    left: Floats
    up: Floats

    def list_corners(self) -> Floats:
        """List the corners (n, 3). The height changes fastest."""
        return np.stack(np.meshgrid(*self, indexing="ij"), axis=-1).reshape(-1, 3)


def export_natural_poses(document: Document, store: ArrayStore) -> dict[str, Any] | None:
    """Pack the natural poses of a whole body. None where Poise has none for it."""
    document = restore_body(document)
    axes = find_gaze_axes(document.start)
    root = _export_root(document.solver_start, document.rig.roles.joints["hips"], axes)
    if root is None:
        return None
    grids = {part: _export_grid(document, part, grid, store) for part, grid in find_grids(document, axes).items()}
    packed = {part: grid for part, grid in grids.items() if grid is not None}
    return {"root": root, "grids": packed} if packed else None


def find_grids(document: Document, axes: Floats) -> dict[str, _Grid]:
    """Find where people pull the parts of a figure. The place at the start is a corner."""
    joints, skeleton = document.rig.roles.joints, document.solver_skeleton
    places = document.solver_start.world.positions @ axes.T
    lowest = float(places[:, 2].min()) if document.floor_height is None else document.floor_height
    parts = set(find_parts(document.rig))
    grids: dict[str, _Grid] = {}
    for role, first in {**_LIMB_PARTS, **dict.fromkeys(_TRUNK_PARTS, None)}.items():
        path = skeleton.list_path(skeleton.index(joints[role])) if joints.get(role) in parts else ()
        if not path or (first is not None and (first not in joints or skeleton.index(joints[first]) not in path)):
            continue
        rows = path[-1:] if first is None else path[path.index(skeleton.index(joints[first])) :]
        grid = _place_grid(places[list(rows)], lowest)
        if grid is not None:
            grids[joints[role]] = grid
    return grids


def _place_grid(places: Floats, lowest: float) -> _Grid | None:
    """Place the grid of a part about its limb or itself.

    places  (k, 3) along the axes, the part last
    lowest  of its targets; None comes of a part that is no higher
    """
    centre, own = places[0], places[-1]
    if len(places) > 1:
        reach = rise = _LIMB_REACH * float(np.linalg.norm(np.diff(places, axis=0), axis=1).sum())
    else:
        reach, rise = _TRUNK_REACH * float(own[2] - lowest), _TRUNK_RISE * float(own[2] - lowest)
    low = np.minimum([*(centre[:2] - reach), lowest], own)
    high = np.maximum(centre + np.array([reach, reach, rise]), own)
    if (high - low).min() <= _MIN_SIDE * (high - low).max():
        return None
    return _Grid(*(_place_corners(*ends) for ends in zip(low, own, high, strict=True)))


def _place_corners(low: float, own: float, high: float) -> Floats:
    """Place corners evenly on both sides of a place."""
    count = min(max(round((CORNERS - 1) * (own - low) / (high - low)), int(own > low)), CORNERS - 1 - int(own < high))
    return np.concatenate([np.linspace(low, own, count + 1), np.linspace(own, high, CORNERS - count)[1:]])


def _export_grid(document: Document, part: str, grid: _Grid, store: ArrayStore) -> dict[str, Any] | None:
    """Pack what Poise answers for targets of a part.

    None where its poses for that part are not natural ones.
    """
    start, free_root = document.solver_start, document.free_root
    goals = build_goals(document, part, grid.list_corners() @ find_gaze_axes(document.start))
    try:
        solver = choose_solver(
            "auto", start, tuple(goals), free_root=free_root, natural=True, floor=document.floor_height
        )  # fmt: skip
        result = solve(
            start, goals, free_root=free_root, solver=limit_restarts(solver, _RESTARTS), tolerance=document.tolerance
        )
    except PoiseError:
        return None
    groups = list_groups(start.skeleton)
    displacements = align_quaternions(result.q, start.q, groups) - start.q
    size = float(np.ptp(start.world.positions, axis=0).max())
    groups = [
        group
        for group in groups
        if np.abs(displacements[:, _get_columns(group)]).max() > _MOVED * (size if group[1] == _TRANSLATION else 1.0)
    ]
    if not groups:
        return None
    values = displacements[:, np.concatenate([_get_columns(group) for group in groups])].T
    steps = np.abs(values).max(axis=1) / _STEPS
    steps[steps == 0.0] = 1.0
    return {
        "lines": [line.tolist() for line in grid],
        "groups": groups,
        "steps": steps.tolist(),
        "numbers": store.add(np.round(values / steps[:, None]).astype(np.int8)),
    }


def build_goals(document: Document, part: str, targets: Floats) -> list[Goal]:
    """Build the goals of pulls of a part to targets (n, 3).

    They are those of the running viewer but for the gaze of the head.
    """
    start = document.solver_start
    document = pull_part(document, {"joint": part, "position": targets[0].tolist(), "phase": "start"}, start)
    goals: list[Goal] = []
    for chain in document.active_chains:
        built = [] if chain.kind == "look" else chain.build_goals(start.skeleton)
        if built and chain.name == document.pulled:
            rows = np.repeat(built[0].rows()[None], len(targets), axis=0)
            rows[:, :3] = targets
            built[0] = built[0].with_target(rows)
        goals += built
    return goals


def list_groups(skeleton: Skeleton) -> list[tuple[int, int]]:
    """List groups of numbers in q, as first column and count.

    Four are a quaternion, three a translation, and one an angle or a length.
    """
    groups: list[tuple[int, int]] = []
    for name, kind in zip(skeleton.names, skeleton.kinds, strict=True):
        first = skeleton.q_slice(name).start
        if kind == Kind.FREE:
            groups += [(first, 3), (first + 3, 4)]
        elif kind != Kind.FIXED:
            groups.append((first, Kind(kind).nq))
    return sorted(set(groups))  # joints that are coupled share a number


def align_quaternions(q: Floats, start_q: Floats, groups: Sequence[tuple[int, int]]) -> Floats:
    """Return q (n, nq) with quaternions on the side of the start's."""
    aligned = q.copy()
    for group in groups:
        if group[1] == _QUATERNION:
            columns = _get_columns(group)
            aligned[:, columns] *= np.where(q[:, columns] @ start_q[columns] < 0.0, -1.0, 1.0)[:, None]
    return aligned


def _get_columns(group: tuple[int, int]) -> Any:
    return np.arange(group[0], group[0] + group[1])


def _export_root(start: Pose, hips: str, axes: Floats) -> dict[str, Any] | None:
    """Pack how the root moves the hips along the axes.

    Also packs the way back. None without a root.
    """
    row = find_free_root(start.skeleton, start.skeleton.index(hips))
    if row is None:
        return None
    column = int(start.skeleton.q_start[row])
    moved = np.repeat(start.q[None], 3, axis=0)
    moved[:, column : column + 3] += np.eye(3)
    to_axes = axes @ (start.with_q(moved).world[hips].positions - start.world[hips].positions).T
    return {"column": column, "to_axes": to_axes.ravel().tolist(), "from_axes": np.linalg.inv(to_axes).ravel().tolist()}
