"""Source and target of a retargeted clip, side by side.

Both are one rig with one clip, so that they play in step.

    source rig --+
                 +-- retarget() -> Retargeted -> MotionPair, a clip of both skeletons -> Document
    target rig --+

The joints of the source come first, below a fixed joint that makes it as large as the target by leg lengths and puts it
beside the target. Meshes are the target's.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from poise.errors import InputError
from poise.io.gltf.source_document import GltfDocument
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Kind, Skeleton
from poise.retargeting.body import Body
from poise.retargeting.match import Match
from poise.retargeting.retarget import Retargeted, retarget
from poise.retargeting.root_path import find_hip_middle
from poise.viewer.document.document import Document, build_document

SOURCE_MARK = " (source)"
_PLACE_NAME = "place of the source"
_DISTANCE = 1.4  # [leg lengths] from the target to the source, to its right


@dataclass(frozen=True, eq=False)
class Retargeting:
    """What is retargeted in the viewer.

    Parameters
    ----------
    source, target
        Both rigs.
    clip_name
        The clip of the source.
    match
        Which joint moves which; None: by roles.
    ground
        As for `retarget`.
    """

    source: Rig
    target: Rig
    clip_name: str
    match: Match | None = None
    ground: Any = None

    def run(self) -> Retargeted:
        """Retarget the clip."""
        clip = self.source.clip(self.clip_name)
        return retarget(clip, self.target, source=self.source, match=self.match, ground=self.ground)


@dataclass(frozen=True, eq=False, repr=False)
class MotionPair(Clip):
    """A clip of source and target at the same times."""

    done: Retargeted = field(kw_only=True)


def build_side_by_side(retargeting: Retargeting, name: str = "") -> Document:
    """Build the document of a retargeted clip and its source. The clip plays."""
    rig = build_pair_rig(retargeting)
    title = name or f"{retargeting.clip_name} onto {_name_rig(retargeting.target)}"
    return build_document(rig, name=title, chains=(), clip_name=rig.clips[0].name, retargeting=retargeting)


def find_pair(document: Document) -> MotionPair | None:
    """Find the clip of source and target. None where nothing is retargeted."""
    if document.retargeting is None or not document.rig.clips:
        return None
    clip = document.rig.clips[0]
    return clip if isinstance(clip, MotionPair) else None


def _name_rig(rig: Rig) -> str:
    return rig.path.name if rig.path is not None else "the target"


def build_pair_rig(retargeting: Retargeting) -> Rig:
    """Build one rig of source and target, with the clip of both."""
    done = retargeting.run()
    source, target = done.source.poses, done.poses
    skeleton = _join_skeletons(source.skeleton, target.skeleton, *_place_source(done))
    q = np.concatenate([source.q, target.q], axis=1)
    poses = Pose(skeleton, q, *_join_channels(skeleton, source, target))
    pair = MotionPair(done.times, poses, done.name or retargeting.clip_name, done=done)
    rig = retargeting.target
    notes = (*rig.notes, *done.notes)
    return Rig(skeleton, poses[0], (pair,), rig.skins, dict(rig.roles.joints), notes, rig.path)


def _place_source(done: Retargeted) -> tuple[Floats, Floats, float]:
    """Find the place (3,), rotation (4,) and scale of the source."""
    body, target_body = done.bodies
    scale = target_body.leg_length / body.leg_length
    turn = rotations.multiply(rotations.inverse(target_body.world_turn), body.world_turn)
    hips, target_hips = (
        find_hip_middle(poses.world.positions, one)
        for poses, one in ((done.source.poses, body), (done.poses, target_body))
    )
    place = np.median(target_hips - scale * rotations.rotate(turn, hips), axis=0)
    return place - _find_left(target_body) * _DISTANCE * target_body.leg_length, turn, scale


def _find_left(body: Body) -> Floats:
    return body.reference.world_axes[1]


def _join_skeletons(source: Skeleton, target: Skeleton, place: Floats, turn: Floats, scale: float) -> Skeleton:
    """Join both skeletons below one fixed joint of the source."""
    count, above = len(source), 1 + len(source)
    if any(coupling is not None for one in (source, target) for coupling in one.couplings):
        raise InputError("characters with coupled joints are not shown side by side")
    top = np.concatenate([scale * np.eye(3), np.zeros((3, 1))], axis=1)[None]
    names = [_PLACE_NAME, *(f"{name}{SOURCE_MARK}" for name in source.names), *target.names]
    parents = [-1, *(source.parents + 1), *np.where(target.parents < 0, -1, target.parents + above)]
    is_gltf = isinstance(target.source, GltfDocument)
    return Skeleton(
        names=tuple(names),
        parents=np.array(parents, dtype=np.int64),
        kinds=np.concatenate([[int(Kind.FIXED)], source.kinds, target.kinds]),
        axes=np.concatenate([np.zeros((1, 3)), source.axes, target.axes]),
        A=np.concatenate([np.concatenate([place, turn])[None], source.A, target.A]),
        B=np.concatenate([top, source.B, target.B]),
        rest_q=np.concatenate([source.rest_q, target.rest_q]),
        limits=(None,) * len(names),
        couplings=(None,) * len(names),
        source_ids=((None,) * (count + 1) + target.source_ids) if is_gltf else (None,) * len(names),
        euler=("",) * len(names),
        metres_per_unit=target.metres_per_unit,
        up=target.up,
        source=target.source if is_gltf else None,
    )


def _join_channels(skeleton: Skeleton, source: Pose, target: Pose) -> tuple[Floats | None, Floats | None]:
    """Join translations and scales of both. Where one has none its skeleton's are taken."""
    rest = skeleton.A[:, :3], np.diagonal(skeleton.B[:, :, :3], axis1=1, axis2=2)
    joined: list[Floats | None] = []
    for values, name in zip(rest, ("translations", "scales"), strict=True):
        channels = [getattr(poses, name) for poses in (source, target)]
        if all(channel is None for channel in channels):
            joined.append(None)
            continue
        channel = np.tile(values, (len(source), 1, 1))
        begin = 1 + len(source.skeleton)
        for rows, given in zip((slice(1, begin), slice(begin, None)), channels, strict=True):
            if given is not None:
                channel[:, rows] = given
        joined.append(channel)
    return joined[0], joined[1]
