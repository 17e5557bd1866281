"""Document under edit: copy on write, node poses, limits and rests.

The original is copied piece by piece, only where something changes.
"""

from __future__ import annotations

import copy
import mimetypes
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from poise.errors import FileError, UnsupportedError, join_names
from poise.io.gltf.container import Buffers, Container, format_data_uri, read_inside
from poise.io.gltf.json_checks import BrokenError, Json, read_objects
from poise.io.gltf.node_extras import format_limit, is_readable, to_xyzw
from poise.maths.arrays import Floats, Ints
from poise.model.numpy_kinematics import LocalTransforms
from poise.model.pose import Pose, compute_local_transforms, compute_rest_local_transforms
from poise.model.skeleton import Kind, Skeleton

_FLOAT_TYPE = 5126
_ACCESSOR_TYPES = {1: "SCALAR", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
MAX_KEY_VALUE = float(np.finfo(np.float32).max)


class Draft:
    """Container under edit. `folder` is the base of its relative URIs; None for a new document."""

    def __init__(self, container: Container, folder: Path | None = None) -> None:
        self._original = container
        self._folder = folder
        self.json: Json = dict(container.json)
        self._copied_lists: set[str] = set()
        self._edited_nodes: dict[int, Json] = {}
        self._new_views: dict[str, tuple[int, bytearray]] = {}  # use -> its bufferView and bytes

    def edit_list(self, key: str) -> list[Any]:
        """Return an editable top-level list. A missing one is created."""
        if key not in self._copied_lists:
            self.json[key] = list(self.json.get(key, []))
            self._copied_lists.add(key)
        return cast("list[Any]", self.json[key])

    def edit_node(self, i: int) -> Json:
        """Return an editable node."""
        if i not in self._edited_nodes:
            self._edited_nodes[i] = self.edit_list("nodes")[i] = copy.deepcopy(self.edit_list("nodes")[i])
        return self._edited_nodes[i]

    def edit_extras(self, i: int) -> Json:
        """Return a node's editable `extras.poise`. Extras that are not an object are refused."""
        node = self.edit_node(i)
        if node.get("extras") is None:
            node["extras"] = {}
        if not isinstance(node["extras"], dict):
            raise UnsupportedError(f"nodes[{i}] has extras that are not an object: poise cannot add its own to them")
        extras = cast("Json", node["extras"])
        if not is_readable(extras.get("poise"), len(self.json["nodes"])):
            extras["poise"] = {}
        return extras["poise"]

    def add_accessor(self, values: Floats, usage: str, *, has_bounds: bool = False) -> int:
        """Append float32 values (count, components). `has_bounds` adds min and max.

        Values of one `usage` share a bufferView: glTF needs keys and bind matrices in different ones.
        """
        if np.abs(values).max(initial=0.0) > MAX_KEY_VALUE:
            raise UnsupportedError("glTF stores keys as 32-bit floats; a number here is too large for one")
        if usage not in self._new_views:
            self._new_views[usage] = (len(self.edit_list("bufferViews")), bytearray())
            self.edit_list("bufferViews").append({})  # completed by finish()
        view, content = self._new_views[usage]
        data = np.ascontiguousarray(values, dtype="<f4")
        accessor: Json = {
            "bufferView": view,
            "byteOffset": len(content),
            "componentType": _FLOAT_TYPE,
            "count": len(data),
            "type": _ACCESSOR_TYPES[data.shape[1]],
        }
        if has_bounds:
            accessor |= {"min": data.min(axis=0).tolist(), "max": data.max(axis=0).tolist()}
        content += data.tobytes()
        self.edit_list("accessors").append(accessor)
        return len(self.edit_list("accessors")) - 1

    # --- finishing -------------------------------------------------------------------------------

    def finish(self, path: Path) -> Container:
        """Move the bytes into the container for `path`.

        A GLB keeps its BIN as an unchanged prefix; buffer 0 of a .gltf becomes the BIN. In a .gltf the BIN and new
        bytes become data URIs. Files of relative URIs stay if the document stays in its folder, and are embedded as
        data URIs if it moves.
        """
        container_type: Literal["gltf", "glb"] = "gltf" if path.suffix.lower() == ".gltf" else "glb"
        try:
            binary = self._move_first_buffer(container_type)
            if self._folder is not None and self._folder.resolve() != path.absolute().parent.resolve():
                self._embed_files(self._folder)
        except BrokenError as error:  # in data unused while reading
            raise FileError(path, f"cannot take along {error.place}: {error.reason}") from error
        if self._new_views:
            binary = self._append_new_bytes(container_type, binary)
        chunks = self._original.chunks if container_type == "glb" else ()
        return Container(container_type, self.json, binary, chunks)

    def _move_first_buffer(self, container_type: str) -> bytes | None:
        """Move buffer 0 between BIN and URI if the container changes. Return the BIN."""
        binary = self._original.binary
        if container_type == self._original.container_type:
            return binary
        if container_type == "gltf":
            buffers = self.json.get("buffers")
            if buffers and binary is not None and buffers[0].get("uri") is None:
                buffer = self.edit_list("buffers")[0]
                self.edit_list("buffers")[0] = buffer | {"uri": format_data_uri(binary[: buffer["byteLength"]])}
            return None
        if not self.json.get("buffers") or self.json["buffers"][0].get("uri") is None or self._folder is None:
            return None
        binary = self._read_buffer(0, self._folder)
        buffer = dict(self.edit_list("buffers")[0])
        del buffer["uri"]
        self.edit_list("buffers")[0] = buffer
        return binary

    def _read_buffer(self, i: int, folder: Path) -> bytes:
        return Buffers(read_objects(self._original.json, "buffers"), self._original, folder)[i]

    def _embed_files(self, folder: Path) -> None:
        for i, buffer in enumerate(self.json.get("buffers", [])):
            if _is_relative_uri(buffer.get("uri")):
                self.edit_list("buffers")[i] = buffer | {"uri": format_data_uri(self._read_buffer(i, folder))}
        for i, image in enumerate(read_objects(self.json, "images")):
            uri: Any = image.get("uri")
            if not _is_relative_uri(uri):
                continue
            try:
                content = read_inside(folder, uri, f"images[{i}]")
            except BrokenError:
                continue  # already missing in the original
            media_type = image.get("mimeType") or mimetypes.guess_type(uri)[0] or "image/png"
            self.edit_list("images")[i] = image | {"uri": format_data_uri(content, media_type)}

    def _append_new_bytes(self, container_type: str, binary: bytes | None) -> bytes | None:
        """Append the new bytes to the BIN or a new buffer. They go to the BIN where that is the first buffer."""
        buffers = self.edit_list("buffers")
        new_bytes = b"".join(content for _, content in self._new_views.values())
        buffer, offset = len(buffers), 0
        has_bin_buffer = binary is not None and buffers and buffers[0].get("uri") is None
        if container_type == "glb" and (has_bin_buffer or not buffers):
            old_bytes = binary or b""
            old_bytes += b"\0" * (-len(old_bytes) % 4)
            buffer, offset = 0, len(old_bytes)
            binary = old_bytes + new_bytes
            buffers[:1] = [(buffers[0] if buffers else {}) | {"byteLength": len(binary)}]
        else:
            buffers.append({"byteLength": len(new_bytes), "uri": format_data_uri(new_bytes)})
        for view, content in self._new_views.values():
            self.edit_list("bufferViews")[view] = {"buffer": buffer, "byteOffset": offset, "byteLength": len(content)}
            offset += len(content)
        return binary


def _is_relative_uri(uri: Any) -> bool:
    return isinstance(uri, str) and uri[:5].lower() != "data:"


# --- Pose conversion between skeletons of different scale ------------------------------------------------------------
#
# A BVH file has no scale, so the scale of a glTF's armature node is in the offsets of its BVH. When such a pose is
# written back, the lengths are divided by the document's scale, which stays because its mesh is bound to it.


_MAX_SCALE_SPREAD = 1e-3  # relative tolerance of uniform scale; exported files have noise


def has_same_scale(skeleton: Skeleton, document_skeleton: Skeleton, rows: Ints) -> bool:
    """Return whether the common joints have the same scale. `rows` are the document's rows, -1 for none."""
    is_matched = rows >= 0
    return np.array_equal(skeleton.B[is_matched], document_skeleton.B[rows[is_matched]])


def convert_local_transforms(document_skeleton: Skeleton, pose: Pose, rows: Ints) -> LocalTransforms:
    """Convert a pose to translations, rotations and scales of the document's nodes. `rows` are its rows."""
    transforms = compute_local_transforms(pose)
    if has_same_scale(pose.skeleton, document_skeleton, rows):
        return transforms
    if pose.scales is not None:
        raise UnsupportedError("a pose with scales of its own fits only a document of the same scale")
    ratio = _compute_parent_scales(pose.skeleton) / _compute_parent_scales(document_skeleton)[rows]
    scale = np.diagonal(document_skeleton.B[rows, :, :3], axis1=1, axis2=2)
    return LocalTransforms(
        transforms.translation * ratio[:, None],
        transforms.rotation,
        np.broadcast_to(scale, transforms.translation.shape),
    )


def _compute_parent_scales(skeleton: Skeleton) -> Floats:
    """Compute the product of the ancestors' scales (n,) of each joint.

    UnsupportedError where a scale is not uniform.
    """
    diagonal = np.diagonal(skeleton.B[:, :, :3], axis1=1, axis2=2)
    parent_scales = np.ones(len(skeleton))
    for row, parent in enumerate(skeleton.parents.tolist()):
        if parent < 0:
            continue
        if np.ptp(diagonal[parent]) > _MAX_SCALE_SPREAD * np.abs(diagonal[parent]).max() or diagonal[parent, 0] == 0.0:
            name = skeleton.names[parent]
            raise UnsupportedError(
                f"the scale of {name!r} differs by axis; a pose of another scale cannot be put below it"
            )
        parent_scales[row] = parent_scales[parent] * diagonal[parent, 0]
    return parent_scales


# --- Changed poses, limits and rests, written into nodes -------------------------------------------------------------


class DocumentState(NamedTuple):
    """State of a document before editing: pose, its parts, rest before limits."""

    pose: Pose
    local_transforms: LocalTransforms
    rest_q: Floats
    nodes: list[int]  # node index of each row


def build_document_state(pose: Pose, rest_q: Floats, nodes: list[int]) -> DocumentState:
    """Build the state of a document."""
    return DocumentState(pose, compute_local_transforms(pose), rest_q, nodes)


def match_rows(skeleton: Skeleton, document_skeleton: Skeleton) -> Ints:
    """Match rows to the document's skeleton by name. A joint to be left out has -1.

    Those are fixed leaf joints that the document lacks, such as the End Sites of a BVH file: no other joint depends on
    them.
    """
    if skeleton.names == document_skeleton.names:
        return np.arange(len(skeleton))
    row_by_name = {name: row for row, name in enumerate(document_skeleton.names)}
    matched_rows = np.array([row_by_name.get(name, -1) for name in skeleton.names], dtype=np.int64)
    is_leaf = np.array([not children for children in skeleton.children], dtype=np.bool_)
    missing_rows = np.flatnonzero(
        (matched_rows < 0) & (~(is_leaf & (skeleton.kinds == Kind.FIXED)) | (matched_rows < 0).all())
    )
    if len(missing_rows):
        names = join_names(skeleton.names[row] for row in missing_rows)
        raise UnsupportedError(f"the document that is to be kept has no joints {names}; save without `like`")
    return matched_rows


def _list_matched(rows: Ints) -> list[tuple[int, int]]:
    return [(k, row) for k, row in enumerate(rows.tolist()) if row >= 0]


def write_pose(draft: Draft, pose: Pose, state: DocumentState) -> None:
    """Write changed translations, rotations and scales of joints."""
    if pose.shape:
        raise UnsupportedError(f"a glTF file shows one pose, not a batch of shape {pose.shape}; save a Clip instead")
    rows = match_rows(pose.skeleton, state.pose.skeleton)
    new_transforms = convert_local_transforms(state.pose.skeleton, pose, rows)
    rest_transforms = compute_rest_local_transforms(state.pose)
    for k, row in _list_matched(rows):
        changed_keys = [
            key
            for key in LocalTransforms._fields
            if (getattr(new_transforms, key)[k] != getattr(state.local_transforms, key)[row]).any()
        ]
        if not changed_keys:
            continue
        node = state.nodes[row]
        split_matrix(draft, state, row)
        store_rest(draft.edit_extras(node), rest_transforms, row, has_scale="scale" in changed_keys)
        for key in changed_keys:
            values = getattr(new_transforms, key)[k]
            draft.edit_node(node)[key] = to_xyzw(values) if key == "rotation" else values.tolist()
    _write_values(draft, pose, state, rows)


def _write_values(draft: Draft, pose: Pose, state: DocumentState, rows: Ints) -> None:
    """Write the changed values of hinges and slides. A value has full turns and all digits, unlike the node."""
    skeleton, old_pose = pose.skeleton, state.pose
    for k, row in _list_matched(rows):
        kinds = (skeleton.kinds[k], old_pose.skeleton.kinds[row])
        if kinds[0] != kinds[1] or kinds[0] not in (Kind.HINGE, Kind.SLIDE) or skeleton.couplings[k] is not None:
            continue
        value = float(pose.q[skeleton.q_start[k]])
        if value != old_pose.q[old_pose.skeleton.q_start[row]]:
            draft.edit_extras(state.nodes[row])["value"] = value


def split_matrix(draft: Draft, state: DocumentState, row: int) -> None:
    """Replace a node's matrix by its translation, rotation and scale."""
    node = draft.json["nodes"][state.nodes[row]]
    if "matrix" not in node:
        return
    linear = state.pose.skeleton.B[row, :, :3]
    if np.count_nonzero(linear - np.diag(np.diagonal(linear))):
        name = state.pose.skeleton.names[row]
        raise UnsupportedError(f"node {name!r} has a matrix with shear or turned scale; glTF cannot pose such a node")
    node = draft.edit_node(state.nodes[row])
    del node["matrix"]
    node["translation"] = state.local_transforms.translation[row].tolist()
    node["rotation"] = to_xyzw(state.local_transforms.rotation[row])
    node["scale"] = state.local_transforms.scale[row].tolist()


def store_rest(extras: Json, rest_transforms: LocalTransforms, row: int, *, has_scale: bool = False) -> Json:
    """Store the rest beside the pose and return it. A stored one is not changed."""
    if not isinstance(extras.get("rest"), dict):
        extras["rest"] = {
            "translation": rest_transforms.translation[row].tolist(),
            "rotation": to_xyzw(rest_transforms.rotation[row]),
        }
    if has_scale:
        extras["rest"].setdefault("scale", rest_transforms.scale[row].tolist())
    return extras["rest"]


def write_limits(draft: Draft, skeleton: Skeleton, state: DocumentState) -> None:
    """Write changed limits of joints, and rests not implied by them.

    `skeleton` has the rows of the document's skeleton.
    """
    old_skeleton, rest_transforms = state.pose.skeleton, compute_rest_local_transforms(state.pose)
    expected_q = skeleton.legal(state.rest_q)[0]
    for row, limit in enumerate(skeleton.limits):
        node = state.nodes[row]
        if limit != old_skeleton.limits[row]:
            _write_limit(draft, node, None if limit is None else format_limit(limit))
        if skeleton.couplings[row] is not None:
            continue
        columns = skeleton.q_slice(skeleton.names[row])
        expected_rest = _find_stored_rest(draft, node).get("q", expected_q[columns].tolist())
        if skeleton.rest_q[columns].tolist() != expected_rest:
            store_rest(draft.edit_extras(node), rest_transforms, row)["q"] = skeleton.rest_q[columns].tolist()


def _find_stored_rest(draft: Draft, node: int) -> Json:
    json_object = draft.json["nodes"][node]
    for key in ("extras", "poise", "rest"):
        json_object = json_object.get(key)
        if not isinstance(json_object, dict):
            return {}
    return json_object


def _write_limit(draft: Draft, node: int, limit: Json | None) -> None:
    extras = draft.edit_extras(node)
    if limit is not None:
        extras["limit"] = limit
        return
    extras.pop("limit", None)
    if not extras:
        del draft.edit_node(node)["extras"]["poise"]
