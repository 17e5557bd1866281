"""The Retargeter moves a character by each pose of another one."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np

from poise.calls.argument_checks import check_type
from poise.errors import InputError, UnsupportedError
from poise.ground.figure.figure import figure_of
from poise.ground.grounder import Grounder
from poise.ground.terrain.terrain import Terrain
from poise.maths import rotations
from poise.maths.arrays import Floats, abbreviate, check_real
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.roles.bone_names import SIDES
from poise.model.skeleton import Kind
from poise.retargeting.body import REQUIRED_PARTS, Body
from poise.retargeting.configurations import compute_configuration, plan_frame
from poise.retargeting.detached_feet import place_detached_feet
from poise.retargeting.match import Match, check_match, is_changed, match_roles
from poise.retargeting.retarget import Retargeted, retarget
from poise.retargeting.root_path import find_hip_middle, find_mover, turn_back, turn_positions
from poise.retargeting.transfer import is_same_tree, plan_rotations


class Retargeter:
    """Move a character as another one, live. Call it once per frame with the source's pose.

    Parameters
    ----------
    source
        The rig whose poses come. Its first clip shows how its elbows, knees and feet are made, and how high it stands;
        without a clip its rest pose does.
    target
        The rig that is to move. It needs known arms and legs of joints that turn freely.
    match
        Which joint moves which; by default `poise.match(source, target)`.
    ground
        Ground under the target, on which a `Grounder` puts its feet. True: level ground at 0 of its file. None, False:
        feet are as high over the ground as the source's, by leg lengths, and may slide.

    Attributes
    ----------
    match
        The match in use.
    notes
        What was assumed, a sentence each.

    Raises
    ------
    UnsupportedError
        For characters without known arms and legs, for animals, and for robots as targets.
    InputError
        For a match without arms and legs.

    Notes
    -----
    Limbs and hips are those of `retarget(clip, target)` with the source's first clip. Feet are found standing and
    placed frame by frame; hands keep the directions of their arms.

    Examples
    --------
    >>> live = poise.Retargeter(walk, figure)
    >>> shown = live(walk.clips[0].poses[0], 1 / 60)
    """

    def __init__(
        self, source: Rig, target: Rig, match: Match | None = None, ground: Terrain | bool | None = None
    ) -> None:
        check_type(source, Rig, "the source")
        check_type(target, Rig, "the target")
        if ground is not None and not isinstance(ground, bool):
            check_type(ground, Terrain, "the ground")
        if match is not None:
            check_match(match, source.skeleton, target.skeleton)
        self.match: Match = match_roles(source.roles, target.roles) if match is None else match
        _check_joints(target, self.match)
        done = _retarget_reference(source, target, self.match)
        self.notes: tuple[str, ...] = done.notes
        body, target_body = done.bodies
        self._skeleton, self._target_skeleton = source.skeleton, target_body.skeleton
        self._plan = plan_frame(plan_rotations(body, target_body, self.match), self._target_skeleton)
        self._is_same = is_same_tree(source.skeleton, target.skeleton)
        self._hips = tuple(
            np.array([one.rows[f"{side}UpperLeg"] for side in SIDES], dtype=np.int64) for one in (body, target_body)
        )
        self._hip_map, self._hip_offset = _measure_hip_path(done, body, target_body)
        keeps_feet = self._is_same and not is_changed(self.match)
        self._detached_feet = () if keeps_feet else target_body.detached_feet
        self._mover = find_mover(target_body)
        self._mover_turn = _find_mover_turn(target_body, self._mover)
        self._grounder = _build_grounder(target, done, ground, has_clip=bool(source.clips))

    def __repr__(self) -> str:
        used = sum(joint.is_used for joint in self.match.joints)
        return f"Retargeter({used} roles, {'feet on the ground' if self._grounder else 'no ground'})"

    def __getstate__(self) -> dict[str, Any]:
        """Copy where feet stand for copies. They go on by themselves."""
        return vars(self) | {"_grounder": copy.copy(self._grounder)}

    def reset(self) -> None:
        """Forget where feet stand. The next frame is a first one."""
        if self._grounder is not None:
            self._grounder.reset()

    def __call__(self, pose: Pose, dt: float = 1 / 60) -> Pose:
        """Return the target's pose.

        Parameters
        ----------
        pose
            A single pose of the source.
        dt
            [s] Time since the last frame, 0 or more; it counts for feet on the ground only.

        Raises
        ------
        InputError
            For a pose of another skeleton, many poses, or a time that is negative or no number.
        """
        seconds = dt if type(dt) is float else check_real(dt, "dt")
        if not 0.0 <= seconds < math.inf:
            raise InputError(f"dt is the time since the last frame, 0 or more seconds, not {dt!r}")
        if not isinstance(pose, Pose):
            raise InputError(f"a Retargeter takes a Pose, such as clip.at(seconds), not {abbreviate(pose)}")
        if pose.shape:
            raise InputError(f"a Retargeter takes one pose at a time, not a batch of shape {pose.shape}")
        if pose.skeleton is not self._skeleton and pose.skeleton != self._skeleton:
            raise InputError("the pose is of another skeleton than the source that the Retargeter was made for")
        moved = self._transfer(pose)
        return moved if self._grounder is None else self._grounder(moved, seconds)

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


def _check_joints(target: Rig, match: Match) -> None:
    """Refuse robots. Their joints are solved over a whole clip."""
    joints = match.list_joints(of_target=True)
    for side in SIDES:
        for part in REQUIRED_PARTS:
            joint = joints.get(f"{side}{part}", joints[f"{side}LowerArm"])  # forearms of robots may have no hand
            kind = Kind(int(target.skeleton.kinds[target.skeleton.index(joint)]))
            if kind not in (Kind.BALL, Kind.FREE):
                raise UnsupportedError(
                    f"the target's joint {joint!r} ({side}{part}) does not turn freely: a Retargeter moves characters"
                )


def _retarget_reference(source: Rig, target: Rig, match: Match) -> Retargeted:
    """Retarget the first clip of the source.

    Without clips it is the rest pose. No feet are planted.
    """
    clip = next((clip for clip in source.clips if len(clip)), None)
    if clip is None:
        rest = Pose(source.skeleton, source.skeleton.rest_q[None])
        clip = Clip(np.zeros(1), rest, "rest")
    return retarget(clip, target, source=source, match=match, ground=False, hands="directions")


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
