"""Build the files for download: pose, solved clip, sidecar, page."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.viewer.document.document import Document
from poise.viewer.document.landscape import ground_mesh
from poise.viewer.model import model_of
from poise.viewer.offline import FASTEST, offline_page
from poise.viewer.parts.rows import frame_rows, width_of
from poise.viewer.session.playing import contacts_of
from poise.viewer.session.saving import Saved, saved_clip, saved_pose, saved_sidecar
from poise.viewer.session.state import chain_state
from poise.viewer.solving import Solving

_CLIPS = ("glb", "gltf", "bvh")  # formats with motion


def saved(document: Document, pose: Pose, clip: Clip | None, wanted: str) -> Saved:
    """Build the download of a pose or a clip. Of a crowd the first pose counts, but all of them in a page.

    Chains are solved on every frame of a clip. Raise UnsupportedError where the format cannot hold it.
    """
    if wanted == "html":
        return _page(document, pose, clip)
    if wanted == "toml":
        chains = {chain.id: (chain.joints(document.skeleton)[0], chain.tip) for chain in document.chains}
        return saved_sidecar(document.rig, document.skeleton, chains)
    if clip is not None and wanted in _CLIPS:
        return saved_clip(document.rig, solved_clip(document, clip).on(document.skeleton), wanted)
    single = dataclasses.replace(pose[0] if pose.shape else pose, skeleton=document.skeleton)  # all limits, in any mode
    return saved_pose(document.rig, single, wanted)


def solved_clip(document: Document, clip: Clip) -> Clip:
    """Solve the chains of view A on every frame. Each frame starts from its own pose."""
    if not document.active:
        return clip
    q = np.array(clip.poses.q)
    for i in range(len(clip)):
        base = Pose(document.working, *_row(clip.poses, i))
        q[i] = Solving(document, base, document.solvers[0])(document.active, base.q[None]).q[0]
    return Clip(clip.times, clip.poses.with_q(q), clip.name)


def _row(poses: Pose, i: int) -> list[Any]:
    return [None if part is None else part[i] for part in (poses.q, poses.translations, poses.scales)]


def _page(document: Document, pose: Pose, clip: Clip | None) -> Saved:
    """Build an offline page of the clip or the poses."""
    if clip is None or not len(clip):
        times, rows = np.zeros(1), frame_rows(pose, width_of(pose))[None]
    else:
        shown = solved_clip(document, clip.resampled(FASTEST) if clip.fps > FASTEST else clip)
        times, rows = shown.times, frame_rows(shown.poses, width_of(shown.poses))
    if rows.ndim == 3:  # noqa: PLR2004  (frames of one character)
        rows = rows[:, None]
    model = model_of(document.rig, document.places[: rows.shape[1]], document.packages)
    extras = {"chains": [chain_state(document, chain) for chain in document.active], "contacts": contacts_of(clip)}
    ground = None
    if document.terrain is not None:
        ground = ground_mesh(document.rig, document.terrain, document.started)
    page = offline_page(model, rows, times, document.name, extras, terrain=ground)
    stem = document.rig.path.stem if document.rig.path is not None else (document.scene or "rig")
    return Saved(f"{stem}.html", "text/html", page)
