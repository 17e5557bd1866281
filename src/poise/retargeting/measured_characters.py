"""Source and target of a retargeted clip. A clip is measured once for all targets, a target once for all clips."""

from __future__ import annotations

import dataclasses
import weakref
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from poise.errors import PoiseError
from poise.formatting import format_count
from poise.ground.figure.figure import figure_of
from poise.ground.figure.motion import motion_of
from poise.ground.figure.speeds import lone_frames
from poise.ground.plant import even
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig, free_root
from poise.model.roles.character_tree import LEG_PARTS
from poise.model.roles.role_search import MIN_CONFIDENCE
from poise.retargeting.added_joints import complete_arms, describe_added_joints, extend_clip
from poise.retargeting.body import FINGERS, Body, measure_body, split_role, stand_with_carrier
from poise.retargeting.flat_feet import select_flat_feet
from poise.retargeting.match import Match, check_match, has_hinges, list_detached_joints, match_roles
from poise.retargeting.root_path import (
    ClipGround,
    Standing,
    analyse_ground,
    measure_rest_standing,
    measure_standing,
    shows_soles_at_rest,
)
from poise.runtime.immutable_values import freeze
from poise.runtime.result_cache import forget, get_or_compute

FirstFrames = Literal["auto", "keep"]

# the clips measured last, and how many of them keep their measures: some 8 kB a frame
_MAX_MEASURED_CLIPS = 8
_measured_clips: deque[weakref.ref[Clip]] = deque()

_MEASURED = "measured source"  # subject of the cache of a clip


class MeasuredClip(NamedTuple):
    """A clip, measured for retargeting.

    clip      the clip without its first frames; None: as it was given (the clip keeps this, and would keep itself)
    ground    contacts of the source
    body      the source
    standing  how it stands
    notes     what was assumed
    """

    clip: Clip | None
    ground: ClipGround
    body: Body
    standing: Standing
    notes: tuple[str, ...]


class MeasuredSource(NamedTuple):
    """A clip, its source and a target, before anything moves.

    clip      the clip without its first frames
    target    a robot's with a free root
    pairs     which joint moves which
    ground    contacts of the source
    body      the source
    standing  how the source stands
    is_robot  whether the target is a robot
    notes     what was assumed
    """

    clip: Clip
    target: Rig
    pairs: Match
    ground: ClipGround
    body: Body
    standing: Standing
    is_robot: bool
    notes: tuple[str, ...]


def measure_source(
    clip: Clip, rig: Rig, target: Rig, match: Match | None, first: FirstFrames = "auto", fps: float | None = None
) -> MeasuredSource:
    """Measure the source of a clip. Joints are matched by roles where no match is given."""
    pairs = match_roles(rig.roles, target.roles) if match is None else match
    check_match(pairs, rig.skeleton, target.skeleton)
    sources, targets = (pairs.list_joints(of_target=of_target) for of_target in (False, True))
    is_robot = has_hinges(target.skeleton, targets)
    target = free_root(target) if is_robot else _declare_legs(target, targets)
    key = weakref.ref(rig), tuple(sources.items()), first, fps

    def measure() -> MeasuredClip:
        _forget_old_clips(clip)
        return freeze(_measure_clip(clip, rig, sources, first, fps))

    measured = get_or_compute(clip, _MEASURED, key, measure, max_keys=1)
    return MeasuredSource(
        measured.clip or clip, target, pairs, measured.ground, measured.body, measured.standing, is_robot,
        (*measured.notes, *pairs.notes, *describe_added_joints("source", measured.body)),
    )  # fmt: skip


def _forget_old_clips(clip: Clip) -> None:
    """Forget the measures of all but the last clips. A data set may be in memory as a whole."""
    _measured_clips.append(weakref.ref(clip))
    while len(_measured_clips) > _MAX_MEASURED_CLIPS:
        old = _measured_clips.popleft()()
        if old is not None and old is not clip:
            forget(old, _MEASURED)


def measure_target(target: Rig, pairs: Match) -> tuple[Body, Standing]:
    """Measure the target, and how it stands, once for all clips.

    Its own clips show how elbows and knees bend; without a mesh that stands at rest also how feet stand.
    """
    joints, clips = pairs.list_joints(of_target=True), [clip for clip in target.clips if len(clip)]

    def measure() -> tuple[Body, Standing]:
        ground = analyse_ground(clips[0], target) if clips and not shows_soles_at_rest(target) else None
        body = _measure_whole_body(target, joints, clips, None, ground)
        return freeze((body, measure_rest_standing(target, body)))

    return get_or_compute(target, "measured target", tuple(joints.items()), measure)


def make_own_rig(clip: Clip) -> Rig:
    """Make the rig of a lone clip. It is one object, so that it is measured once."""

    def make() -> Rig:
        skeleton = clip.skeleton
        return Rig(skeleton, Pose(skeleton, skeleton.rest_q), humanoid=dict(skeleton.roles))

    return get_or_compute(clip, "own rig", None, make)


def _measure_clip(
    clip: Clip, rig: Rig, sources: Mapping[str, str], first: FirstFrames, fps: float | None
) -> MeasuredClip:
    """Measure a clip.

    sources  roles to joint names
    """
    sampled, notes = even(clip) if fps is None else (clip.resample(fps), ())
    rig = _declare_legs(rig, sources)
    front, rest, first_notes = _split_first_frames(sampled, rig)
    chosen, first_notes = (sampled, ()) if first == "keep" else (rest, first_notes)
    ground = analyse_ground(chosen, rig)
    shown = None if shows_soles_at_rest(rig) else ground
    body = stand_with_carrier(_measure_whole_body(rig, sources, [rest], front, shown), chosen)
    standing = measure_standing(chosen, ground, body)
    return MeasuredClip(None if chosen is clip else chosen, ground, body, standing, (*notes, *first_notes))


def _measure_whole_body(
    rig: Rig, joints: Mapping[str, str], clips: Sequence[Clip], front: Clip | None, ground: ClipGround | None
) -> Body:
    """Measure a character with its arms completed.

    ground  how feet stand in a clip, where the rest pose does not show it
    """
    arms = complete_arms(rig, joints)
    clips = [extend_clip(clip, arms.skeleton) for clip in clips]
    front = None if front is None else extend_clip(front, arms.skeleton)
    flat_feet = {} if ground is None else select_flat_feet(ground.measure_flat_feet(), joints)
    body = measure_body(arms.skeleton, arms.joints, clips, front=front, flat_feet=flat_feet)._replace(added=arms.added)
    if ground is None or ground.pair is None:
        return body
    return body._replace(segments=ground.pair.pair_segments(body.segments))


def _declare_legs(rig: Rig, joints: Mapping[str, str]) -> Rig:
    """Return a rig with the legs of a match.

    Contacts and planting go by roles. Those of less confidence than they ask for count as declared by the match, too.
    """
    legs = {role: joint for role, joint in joints.items() if split_role(role)[1] in LEG_PARTS}
    roles = rig.roles
    sure = {role: joint for role, joint in roles.joints.items() if roles.confidence[role] >= MIN_CONFIDENCE}
    known = {**sure, **list_detached_joints(roles)}
    if all(known.get(role) == joint for role, joint in legs.items()):
        return rig
    limbs = {role: joint for role, joint in joints.items() if not split_role(role)[1].startswith(FINGERS)}
    return get_or_compute(
        rig, "declared legs", tuple(limbs.items()), lambda: dataclasses.replace(rig, humanoid=limbs), max_keys=1
    )


def _split_first_frames(clip: Clip, rig: Rig) -> tuple[Clip | None, Clip, tuple[str, ...]]:
    """Split a reference pose from the front of a clip. Return it, the remaining clip and a note."""
    try:
        lone = lone_frames(motion_of(clip, figure_of(clip, rig=rig)))
    except PoiseError:
        return None, clip, ()
    count = int(np.argmin(lone))
    if count == 0 or lone.all():
        return None, clip, ()
    front = Clip(clip.times[:count], clip.poses[:count], clip.name)
    rest = Clip(clip.times[count:] - clip.times[count], clip.poses[count:], clip.name)
    return front, rest, (f"{format_count(count, 'frame')} in front of the clip, a reference pose, left out",)
