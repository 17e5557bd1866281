"""Changed poses, limits and rests, written into nodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.errors import UnsupportedError, listed
from poise.io.gltf.extras import limit_json, xyzw
from poise.io.gltf.json import Json
from poise.io.gltf.scale import parts_in
from poise.io.gltf.write.draft import Draft
from poise.maths.arrays import Floats, Ints
from poise.model.local import Parts, local_parts, rest_parts
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton


class Shown(NamedTuple):
    """State of a document before editing: pose, its parts, rest before limits."""

    pose: Pose
    parts: Parts
    rest_q: Floats
    nodes: list[int]  # node index of each row


def shown_by(pose: Pose, rest_q: Floats, nodes: list[int]) -> Shown:
    """Build the state of a document."""
    return Shown(pose, local_parts(pose), rest_q, nodes)


def matching_rows(skeleton: Skeleton, document: Skeleton) -> Ints:
    """Match rows to the document's skeleton by name. A joint to be left out has -1.

    Those are fixed leaf joints that the document lacks, such as the End Sites of a BVH file: no other joint depends on
    them.
    """
    if skeleton.names == document.names:
        return np.arange(len(skeleton))
    rows = {name: row for row, name in enumerate(document.names)}
    found = np.array([rows.get(name, -1) for name in skeleton.names], dtype=np.int64)
    leaves = np.array([not below for below in skeleton.children], dtype=np.bool_)
    missing = np.flatnonzero((found < 0) & (~(leaves & (skeleton.kinds == Kind.FIXED)) | (found < 0).all()))
    if len(missing):
        names = listed(skeleton.names[row] for row in missing)
        raise UnsupportedError(f"the document that is to be kept has no joints {names}; save without `like`")
    return found


def _kept(rows: Ints) -> list[tuple[int, int]]:
    return [(k, row) for k, row in enumerate(rows.tolist()) if row >= 0]


def write_pose(draft: Draft, pose: Pose, shown: Shown) -> None:
    """Write changed translations, rotations and scales of joints."""
    if pose.shape:
        raise UnsupportedError(f"a glTF file shows one pose, not a batch of shape {pose.shape}; save a Clip instead")
    rows = matching_rows(pose.skeleton, shown.pose.skeleton)
    new = parts_in(shown.pose.skeleton, pose, rows)
    rest = rest_parts(shown.pose)
    for k, row in _kept(rows):
        changed = [key for key in Parts._fields if (getattr(new, key)[k] != getattr(shown.parts, key)[row]).any()]
        if not changed:
            continue
        node = shown.nodes[row]
        as_parts(draft, shown, row)
        keep_rest(draft.poise_extras(node), rest, row, scale="scale" in changed)
        for key in changed:
            values = getattr(new, key)[k]
            draft.node(node)[key] = xyzw(values) if key == "rotation" else values.tolist()
    _write_values(draft, pose, shown, rows)


def _write_values(draft: Draft, pose: Pose, shown: Shown, rows: Ints) -> None:
    """Write the changed values of hinges and slides. A value has full turns and all digits, unlike the node."""
    s, before = pose.skeleton, shown.pose
    for k, row in _kept(rows):
        kinds = (s.kinds[k], before.skeleton.kinds[row])
        if kinds[0] != kinds[1] or kinds[0] not in (Kind.HINGE, Kind.SLIDE) or s.couplings[k] is not None:
            continue
        value = float(pose.q[s.q_start[k]])
        if value != before.q[before.skeleton.q_start[row]]:
            draft.poise_extras(shown.nodes[row])["value"] = value


def as_parts(draft: Draft, shown: Shown, row: int) -> None:
    """Replace a node's matrix by its translation, rotation and scale."""
    node = draft.json["nodes"][shown.nodes[row]]
    if "matrix" not in node:
        return
    linear = shown.pose.skeleton.B[row, :, :3]
    if np.count_nonzero(linear - np.diag(np.diagonal(linear))):
        name = shown.pose.skeleton.names[row]
        raise UnsupportedError(f"node {name!r} has a matrix with shear or turned scale; glTF cannot pose such a node")
    node = draft.node(shown.nodes[row])
    del node["matrix"]
    node["translation"] = shown.parts.translation[row].tolist()
    node["rotation"] = xyzw(shown.parts.rotation[row])
    node["scale"] = shown.parts.scale[row].tolist()


def keep_rest(extras: Json, rest: Parts, row: int, *, scale: bool = False) -> Json:
    """Store the rest beside the pose and return it. A stored one is not changed."""
    if not isinstance(extras.get("rest"), dict):
        extras["rest"] = {"translation": rest.translation[row].tolist(), "rotation": xyzw(rest.rotation[row])}
    if scale:
        extras["rest"].setdefault("scale", rest.scale[row].tolist())
    return extras["rest"]


def write_limits(draft: Draft, skeleton: Skeleton, shown: Shown) -> None:
    """Write changed limits of joints, and rests not implied by them.

    `skeleton` has the rows of the document's skeleton.
    """
    before, rest = shown.pose.skeleton, rest_parts(shown.pose)
    expected = skeleton.legal(shown.rest_q)[0]
    for row, limit in enumerate(skeleton.limits):
        node = shown.nodes[row]
        if limit != before.limits[row]:
            _write_limit(draft, node, None if limit is None else limit_json(limit))
        if skeleton.couplings[row] is not None:
            continue
        part = skeleton.q_slice(skeleton.names[row])
        follows = _stored_rest(draft, node).get("q", expected[part].tolist())
        if skeleton.rest_q[part].tolist() != follows:
            keep_rest(draft.poise_extras(node), rest, row)["q"] = skeleton.rest_q[part].tolist()


def _stored_rest(draft: Draft, node: int) -> Json:
    found = draft.json["nodes"][node]
    for key in ("extras", "poise", "rest"):
        found = found.get(key)
        if not isinstance(found, dict):
            return {}
    return found


def _write_limit(draft: Draft, node: int, limit: Json | None) -> None:
    extras = draft.poise_extras(node)
    if limit is not None:
        extras["limit"] = limit
        return
    extras.pop("limit", None)
    if not extras:
        del draft.node(node)["extras"]["poise"]
