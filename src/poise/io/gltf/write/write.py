"""glTF writer: rigs, clips and poses. They go into their source document or a new one."""

from __future__ import annotations

from pathlib import Path

from poise.errors import UnsupportedError
from poise.io.gltf.container import GltfDocument, pack
from poise.io.gltf.write.animate import add_clip, without_frames, write_clips
from poise.io.gltf.write.bare import bare_document
from poise.io.gltf.write.draft import Draft
from poise.io.gltf.write.edit import shown_by, write_limits, write_pose
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig, Saveable
from poise.model.skeleton import Skeleton


def bytes_of(thing: Saveable, path: Path, like: Skeleton) -> bytes:
    """Encode a glTF file of a rig, a clip or a pose.

    If `like` was read from a glTF document, that document is kept: a pose changes the nodes that differ, a clip is
    appended as an animation, a rig does both; the old BIN stays an unchanged prefix. Otherwise a bare skeleton is
    written. `Draft.finish` describes the handling of buffers and images in other files.

    Raises UnsupportedError for content that glTF cannot hold (a batch of poses, a posed node with shear, times below
    zero), FileError for missing buffers.
    """
    if isinstance(thing, Clip) and without_frames(thing):
        raise UnsupportedError(f"clip {thing.name!r} has no frames; a glTF animation needs at least one key")
    document = like.source if isinstance(like.source, GltfDocument) else None
    draft = _bare(thing) if document is None else _edited(thing, like, document)
    return pack(draft.finish(path))


def _edited(thing: Saveable, like: Skeleton, document: GltfDocument) -> Draft:
    draft = Draft(document.container, document.path.parent)
    shown = shown_by(document.pose, document.rest_q, [int(str(node)) for node in like.source_ids])
    owner = thing.skeleton if thing.skeleton.source is document else like
    write_limits(draft, owner, shown)
    if isinstance(thing, Clip):
        add_clip(draft, thing, shown)
        return draft
    pose = thing.pose if isinstance(thing, Rig) else thing
    write_pose(draft, pose, shown)
    if isinstance(thing, Rig):
        write_clips(draft, thing.clips, document.clips, shown)
    return draft


def _bare(thing: Saveable) -> Draft:
    if isinstance(thing, Rig):
        pose, clips = thing.pose, thing.clips
    elif isinstance(thing, Clip):
        pose, clips = Pose(thing.skeleton, thing.skeleton.rest_q), (thing,)
    else:
        pose, clips = thing, ()
    draft, shown = bare_document(pose)
    write_limits(draft, pose.skeleton, shown)
    for clip in clips:
        if not without_frames(clip):
            add_clip(draft, clip, shown)
    return draft
