"""Characters moved frame by frame."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from poise.ground.figure.figure import figure_of
from poise.ground.grounder import Grounder
from poise.ground.terrain.terrain import Terrain
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.roles.bone_names import SIDES
from poise.model.skeleton import Kind
from poise.retargeting.body import Body
from poise.retargeting.configurations import compute_configuration, plan_frame
from poise.retargeting.detached_feet import place_detached_feet
from poise.retargeting.match import Match, is_changed
from poise.retargeting.retarget import Retargeted
from poise.retargeting.root_path import find_hip_middle, find_mover, turn_back, turn_positions
from poise.retargeting.transfer import is_same_tree, plan_rotations


class LiveCharacter:
    """A character. Call it with each pose of the source.

    Parameters
    ----------
    source, target, match
        As for Retargeter.
    done
        The first clip of the source, retargeted. It shows how both stand.
    ground
        The ground under the target.
    """

    def __init__(self, source: Rig, target: Rig, match: Match, done: Retargeted, ground: Terrain | bool | None) -> None:
        body, target_body = done.bodies
        self._target_skeleton = done.skeleton
        self._plan = plan_frame(plan_rotations(body, target_body, match), self._target_skeleton)
        self._is_same = is_same_tree(source.skeleton, target.skeleton)
        self._hips = tuple(
            np.array([one.rows[f"{side}UpperLeg"] for side in SIDES], dtype=np.int64) for one in (body, target_body)
        )
        self._hip_map, self._hip_offset = _measure_hip_path(done, body, target_body)
        keeps_feet = self._is_same and not is_changed(match)
        self._detached_feet = () if keeps_feet else target_body.detached_feet
        self._mover = find_mover(target_body)
        self._mover_turn = _find_mover_turn(target_body, self._mover)
        self._grounder = _build_grounder(target, done, ground, has_clip=bool(source.clips))

    def __getstate__(self) -> dict[str, Any]:
        """Copy where feet stand for copies. They go on by themselves."""
        return vars(self) | {"_grounder": copy.copy(self._grounder)}

    @property
    def has_ground(self) -> bool:
        """Whether feet are put on the ground."""
        return self._grounder is not None

    def reset(self) -> None:
        """Forget where feet stand."""
        if self._grounder is not None:
            self._grounder.reset()

    def __call__(self, pose: Pose, dt: float) -> Pose:
        """Return the character's pose, `dt` seconds after the last one."""
        moved = self._transfer(pose)
        return moved if self._grounder is None else self._grounder(moved, dt)

    def _transfer(self, pose: Pose) -> Pose:
        """Move the target, its feet where they come to be."""
        skeleton, world = self._target_skeleton, pose.world
        q = compute_configuration(self._plan, pose, world.rotations)
        translations = pose.translations if self._is_same else None
        scales = pose.scales if self._is_same else None
        maps = Pose.make_unchecked(skeleton, q, translations, scales).world.affine
        source_rows, rows = self._hips
        wanted = self._hip_map @ (0.5 * world.affine[source_rows, :, 3].sum(axis=0)) + self._hip_offset
        vector = wanted - 0.5 * maps[rows, :, 3].sum(axis=0)
        parent = int(skeleton.parents[self._mover])
        if parent >= 0:
            vector = np.linalg.solve(maps[parent, :, :3], vector)
        if self._mover_turn is not None:
            start = int(skeleton.q_start[self._mover])
            q = np.array(q)
            q[start : start + 3] += self._mover_turn @ vector
        else:
            translations = np.array(skeleton.A[:, :3] if translations is None else translations)
            translations[self._mover] += vector
        moved = Pose.make_unchecked(skeleton, q, translations, scales)
        return place_detached_feet(moved, self._detached_feet)


def _measure_hip_path(done: Retargeted, body: Body, target_body: Body) -> tuple[Floats, Floats]:
    """Measure how the target's hips follow the source's.

    Return a map (3, 3) and an offset (3,), which is that of the ankles over the soles.
    """
    units = np.eye(3)
    turned = turn_positions(body, units) * (target_body.leg_length / body.leg_length)
    hip_map = turn_back(target_body, turned).T
    source, target = (
        find_hip_middle(one.poses.world.positions[:1], measured)[0]
        for one, measured in ((done.source, body), (done, target_body))
    )
    return hip_map, target - hip_map @ source


def _find_mover_turn(body: Body, mover: int) -> Floats | None:
    """Find the map (3, 3) from a parent's axes into q. None for ball joints."""
    skeleton = body.skeleton
    if skeleton.kinds[mover] != Kind.FREE:
        return None
    return rotations.as_matrix(rotations.inverse(skeleton.A[mover, 3:]))


def _build_grounder(target: Rig, done: Retargeted, ground: Terrain | bool | None, *, has_clip: bool) -> Grounder | None:
    """Build what puts feet on the ground. The new clip shows soles and floor, or the rest pose without one."""
    if ground is None or ground is False:
        return None
    reference = Clip(done.times, done.poses, done.name) if has_clip else target.rest
    if ground is True:
        ground = Terrain.flat(up=figure_of(reference, rig=target).up, unit=1.0)
    return Grounder(reference, ground, rig=target)
