"""The Retargeter moves a character by each pose of another one."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np

from poise.calls.argument_checks import check_type
from poise.errors import InputError
from poise.ground.terrain.terrain import Terrain
from poise.maths.arrays import abbreviate, check_real
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.retargeting.live_character import LiveCharacter
from poise.retargeting.live_robot import LiveRobot
from poise.retargeting.match import Match, check_match, has_hinges, match_roles
from poise.retargeting.measured_characters import measure_source
from poise.retargeting.retarget import Options, build_robot_job, describe_bodies, retarget

_OPTIONS = Options(ground=False, root="travel", hands="directions", first="auto", fps=None)


class Retargeter:
    """Move a character as another one, live. Call it once per frame with the source's pose.

    Parameters
    ----------
    source
        The rig whose poses come. Its first clip shows how its elbows, knees and feet are made, and how high it stands;
        without a clip its rest pose does.
    target
        The rig that is to move, a character or a robot. It needs known legs.
    match
        Which joint moves which; by default `poise.match(source, target)`.
    ground
        Ground under the target, on which a `Grounder` puts its feet. True: level ground at 0 of its file. None, False:
        feet are as high over the ground as the source's, by leg lengths, and may slide. Robots stand on level ground
        and slopes.

    Attributes
    ----------
    match
        The match in use.
    notes
        What was assumed, a sentence each.

    Raises
    ------
    UnsupportedError
        For targets without known legs, for animals, and for other ground than planes under a robot.
    InputError
        For a match without legs, or without the source's upper arms.

    Notes
    -----
    Limbs and hips are those of `retarget(clip, target)` with the source's first clip. Feet are found standing and
    placed frame by frame; hands keep the directions of their arms.

    A robot's poses are those of its skeleton with a free root. Each frame is the least-squares problem of `retarget`,
    begun at the last frame: limits and the speeds of the file hold, and parts are kept apart. Joints go on as they
    went, so that changes of step are small. In the first frame, and after `reset`, nothing limits speeds. After a pause
    of more than 0.25 s, and where the source is put elsewhere, the robot is put there, and its joints follow. In no
    time it stays as it is. Its feet stand when a `Grounder` finds that those of the source do. They keep their place
    and heading and roll over heel or ball, unless the source's slide by 0.17 leg lengths or turn by 45 degrees: they
    are then taken up and stand again there. Changes are eased by springs with a half-life of 0.05 s.

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
        self._skeleton = source.skeleton
        clip = _find_first_clip(source)
        if has_hinges(target.skeleton, self.match.list_joints(of_target=True)):
            options = _OPTIONS._replace(ground=ground or False)
            measured = measure_source(clip, source, target, self.match)
            job = build_robot_job(measured, options)
            self._figure = LiveRobot(job, source)
            notes = (*measured.notes, *describe_bodies(job.bodies), *self._figure.notes)
            self.notes: tuple[str, ...] = tuple(dict.fromkeys(notes))
        else:
            done = retarget(clip, target, source=source, match=self.match, ground=False, hands="directions")
            self._figure = LiveCharacter(source, target, self.match, done, ground)
            self.notes = done.notes

    def __repr__(self) -> str:
        used = sum(joint.is_used for joint in self.match.joints)
        return f"Retargeter({used} roles, {'feet on the ground' if self._figure.has_ground else 'no ground'})"

    def __getstate__(self) -> dict[str, Any]:
        """Copy the figure for copies. They go on by themselves."""
        return vars(self) | {"_figure": copy.copy(self._figure)}

    def reset(self) -> None:
        """Forget where feet stand and how joints moved. The next frame is a first one."""
        self._figure.reset()

    def __call__(self, pose: Pose, dt: float = 1 / 60) -> Pose:
        """Return the target's pose.

        Parameters
        ----------
        pose
            A single pose of the source.
        dt
            [s] Time since the last frame, 0 or more. It counts for feet on the ground and for robots.

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
        return self._figure(pose, seconds)


def _find_first_clip(source: Rig) -> Clip:
    """Find the first clip of the source. Without clips it is the rest pose."""
    clip = next((clip for clip in source.clips if len(clip)), None)
    return clip or Clip(np.zeros(1), Pose(source.skeleton, source.skeleton.rest_q[None]), "rest")
