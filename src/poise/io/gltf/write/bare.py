"""New document for a skeleton: nodes, one skin, one scene."""

from __future__ import annotations

import numpy as np

from poise.errors import UnsupportedError
from poise.io.gltf.asset import added_root, as_in_gltf, said_of, to_metres
from poise.io.gltf.container import Container
from poise.io.gltf.extras import kind_json, xyzw
from poise.io.gltf.json import Json
from poise.io.gltf.write.draft import Draft
from poise.io.gltf.write.edit import Shown, keep_rest, shown_by
from poise.maths.arrays import Floats
from poise.model.local import Parts, local_parts, rest_parts, world
from poise.model.pose import Pose
from poise.model.skeleton import Kind, Skeleton


def bare_document(pose: Pose) -> tuple[Draft, Shown]:
    """Build a document from a pose. Its extras hold everything to read the same joints back.

    Joints keep their rows as node numbers. Where the up axis is not y, or the unit is known and not the metre, one more
    root turns that axis to +Y and scales to glTF's metres.
    """
    if pose.shape:
        raise UnsupportedError(f"a glTF file shows one pose, not a batch of shape {pose.shape}; save a Clip instead")
    s = pose.skeleton
    _check_affine(s)
    document: Json = {"asset": _asset(s)}
    draft = Draft(Container("gltf", document))
    parts, rest = local_parts(pose), rest_parts(pose)
    if len(s):
        draft.items("nodes").extend(_node(pose, row, parts, rest) for row in range(len(s)))
        roots = np.flatnonzero(s.parents < 0).tolist()
        document = draft.json
        added = added_root(s.up, to_metres(s), roots)
        draft.items("nodes").extend([added] if added else [])
        document["scenes"], document["scene"] = [{"nodes": [len(s)] if added else roots}], 0
        if len(roots) == 1:  # the joints of a skin must have a common root
            document["skins"] = [{"joints": list(range(len(s))), "skeleton": roots[0]}]
            _add_bind(draft, s, rest)
    return draft, shown_by(_without_limits(pose), _rest_q(s), list(range(len(s))))


def _asset(s: Skeleton) -> Json:
    asset: Json = {"version": "2.0", "generator": f"poise {_version()}"}
    said = said_of(s)
    return asset | {"extras": {"poise": said}} if said else asset


def _version() -> str:
    from importlib import metadata  # noqa: PLC0415  (reading needs no metadata)

    try:
        return metadata.version("poise")
    except metadata.PackageNotFoundError:  # run from an uninstalled source tree
        return "(not installed)"


def _check_affine(s: Skeleton) -> None:
    diagonal = np.zeros_like(s.B)
    diagonal[:, [0, 1, 2], [0, 1, 2]] = s.B[:, [0, 1, 2], [0, 1, 2]]
    other = np.flatnonzero((diagonal != s.B).any(axis=(1, 2)))
    if len(other):
        raise UnsupportedError(
            f"joint {s.names[int(other[0])]!r} has more than a scale after its motion; glTF cannot hold it"
        )


def _node(pose: Pose, row: int, parts: Parts, rest: Parts) -> Json:
    s, kind = pose.skeleton, Kind(int(pose.skeleton.kinds[row]))
    node: Json = {"name": s.names[row]}
    if s.children[row]:
        node["children"] = list(s.children[row])
    for key, default in (("translation", [0, 0, 0]), ("rotation", [1, 0, 0, 0]), ("scale", [1, 1, 1])):
        values: Floats = getattr(parts, key)[row]
        if (values != default).any():
            node[key] = xyzw(values) if key == "rotation" else values.tolist()
    extras: Json = {"kind": kind_json(kind)}
    if s.euler and s.euler[row]:
        extras["order"] = s.euler[row]
    if kind in (Kind.HINGE, Kind.SLIDE):
        extras["axis"] = s.axes[row].tolist()
        extras |= _value(pose, row)
    differs = [key for key in Parts._fields if (getattr(parts, key)[row] != getattr(rest, key)[row]).any()]
    if differs:
        keep_rest(extras, rest, row, scale="scale" in differs)
    node["extras"] = {"poise": extras}
    return node


def _value(pose: Pose, row: int) -> Json:
    s = pose.skeleton
    coupling = s.couplings[row]
    if coupling is None:
        return {"value": float(pose.q[s.q_start[row]])}
    return {"coupling": {"node": int(coupling.leader), "ratio": coupling.ratio, "offset": coupling.offset}}


def _add_bind(draft: Draft, s: Skeleton, rest: Parts) -> None:
    """Add bind matrices at rest. There are none where a scale of zero has no inverse."""
    linear = np.zeros((len(s), 3, 3))
    linear[:, [0, 1, 2], [0, 1, 2]] = rest.scale
    bind = as_in_gltf(s.up, to_metres(s)) @ world(s.parents.tolist(), rest.translation, rest.rotation, linear)
    if (np.linalg.det(bind) == 0).any():
        return
    inverse: Floats = np.linalg.inv(bind).astype(np.float64)
    inverse[:, 3] = [0, 0, 0, 1]
    accessor = draft.add_accessor(inverse.transpose(0, 2, 1).reshape(-1, 16), "bind")
    draft.json["skins"][0]["inverseBindMatrices"] = accessor


def _rest_q(s: Skeleton) -> Floats:
    """Compute the rest of a reader without `rest.q`. It is zero, and free joints are at their rest."""
    q = s.zero_q()
    for row in np.flatnonzero(s.kinds == Kind.FREE).tolist():
        start = int(s.q_start[row])
        q[start : start + 7] = s.rest_q[start : start + 7]
    return q


def _without_limits(pose: Pose) -> Pose:
    """Strip the limits of a pose's skeleton. All of them are then written as new."""
    s = pose.skeleton
    return type(pose)(s.limited(dict.fromkeys(s.names)), pose.q, pose.translations, pose.scales)
