"""Limbs, chains and size of a rig. Limbs come from roles, chains from branches of the skeleton."""

from __future__ import annotations

from typing import Any

import numpy as np

from poise.errors import shown
from poise.maths.arrays import Floats
from poise.model.local import local_parts, world
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.roles import Roles
from poise.model.skeleton import Kind, Skeleton
from poise.model.ways import LIMB

Chains = dict[str, tuple[str, str]]

_MOST = 16  # chains listed as text; JSON has all
_FINEST = 1e-4  # fraction of the largest coordinate: rounding of printed positions
_SURE = 0.8  # minimum confidence of a role, the same in all modules
_LIMBS = (
    ("leftHand", "leftUpperArm"), ("rightHand", "rightUpperArm"), ("leftFoot", "leftUpperLeg"),
    ("rightFoot", "rightUpperLeg"), ("head", "neck"),
)  # fmt: skip


def limbs(roles: Roles) -> Chains:
    """Find the limbs of a character. Keys are tip roles, values the names of the first joint and the tip."""
    sure = {role: joint for role, joint in roles.joints.items() if roles.confidence[role] >= _SURE}
    found = {tip: (sure[root], sure[tip]) for tip, root in _LIMBS if tip in sure and root in sure}
    if "head" in sure:
        found.setdefault("head", (sure["head"], sure["head"]))
    for leg in roles.legs if roles.kind != "humanoid" else ():
        if leg.upper and leg.foot:
            found[f"{leg.name} foot"] = (leg.upper, leg.foot)
    return found


def chains(s: Skeleton) -> Chains:
    """Find the chains of a skeleton, first joint to end.

    Named chains of the sidecar come first, then one for each limb.

    A leaf `hand_end`, which only marks the length of the hand, has no chain of its own if the hand has one.
    """
    found = dict(s.chains)
    for i in range(len(s)):
        ends = not any(s.moving_depth[child] for child in s.children[i])
        splits = sum(s.moving_depth[child] >= LIMB for child in s.children[i]) > 1
        if s.parents[i] < 0 or not (splits or (ends and (s.moving_depth[i] or not s.children[i]))):
            continue
        if _is_end(s, i) and s.names[s.parents[i]] in found:
            continue
        moving = [name for name in s.chain(None, s.names[i]) if s[name].kind != Kind.FIXED]
        if len(moving) > 1:
            found.setdefault(s.names[i], (moving[0], s.names[i]))
    return found


def _is_end(s: Skeleton, i: int) -> bool:
    """Return whether a joint is its parent's `_end` joint. It is an End Site of BVH, or Blender's leaf bone."""
    return s.kinds[i] == Kind.FIXED and not s.children[i] and s.names[i] == f"{s.names[s.parents[i]]}_end"


def limb_objects(pose: Pose, roles: Roles) -> dict[str, dict[str, Any]]:
    """Build the JSON of limbs with their tip positions."""
    at, index = places(pose), pose.skeleton.index
    return {
        name: {"root": root, "tip": tip, "position": at[index(tip)].tolist()}
        for name, (root, tip) in limbs(roles).items()
    }


def chain_lines(pose: Pose, roles: Roles) -> list[str]:
    """Format limbs and chains. Limbs by role come first, with tip positions in a pose."""
    s, found = pose.skeleton, limb_objects(pose, roles)
    known = {(limb["root"], limb["tip"]) for limb in found.values()}
    lines = _limb_lines(found)
    if lines:
        named = "; --joint takes the tip or its role" if roles.kind == "humanoid" else ""
        lines = [f"limbs (root -> tip{named}), and where the tip is at rest:", *lines]
    others = [(name, ends) for name, ends in chains(s).items() if name in s.chains or ends not in known]
    if not others:
        return lines
    lines += ["", "chains (root -> tip):"] if lines else ["chains (root -> tip):"]
    lines += [shown(f"  {name}: {root} -> {tip}") for name, (root, tip) in others[:_MOST]]
    return lines + [f"  ... and {len(others) - _MOST} more (--json lists all)"] * (len(others) > _MOST)


def _limb_lines(found: dict[str, dict[str, Any]]) -> list[str]:
    ways = {name: f"{limb['root']} -> {limb['tip']}" for name, limb in found.items()}
    names, width = (max(map(len, words), default=0) for words in (ways.keys(), ways.values()))
    least = _FINEST * max((abs(number) for limb in found.values() for number in limb["position"]), default=0.0) or 1.0
    at = {name: " ".join(f"{round(x / least) * least:.4g}" for x in limb["position"]) for name, limb in found.items()}
    return [shown(f"  {name:{names}}  {way:{width}}  at {at[name]}") for name, way in ways.items()]


def places(pose: Pose) -> Floats:
    """Compute world positions (joints, 3) of a pose.

    Computed with NumPy, not with `pose.world`: describing a file must not load or compile kernels.
    """
    s, parts = pose.skeleton, local_parts(pose)
    return world(s.parents.tolist(), parts.translation, parts.rotation, s.B[:, :, :3])[:, :3, 3]


def _of_the_figure(rig: Rig, roles: Roles) -> list[int]:
    """Find the joints of the character itself. Cameras, targets and controls of a file may be far away.

    They are the joints that deform a mesh, with their descendants; without a mesh, the trees with a role; else all.
    """
    s = rig.skeleton
    carries = {s.index(name) for skin in rig.skins for name in skin.joints}
    if not carries:
        carries = {s.way(s.index(joint))[0] for joint in roles.joints.values()}
    counts: list[bool] = []
    for row, parent in enumerate(s.parents.tolist()):
        counts.append(row in carries or (parent >= 0 and counts[parent]))
    return [row for row, one in enumerate(counts) if one] or list(range(len(s)))


def size(rig: Rig, roles: Roles) -> Floats:
    """Compute the extent (3,) of a character at rest. It is along x, y, z in file units."""
    points = places(rig.rest)[_of_the_figure(rig, roles)]
    return np.ptp(points, axis=0) if len(points) else np.zeros(3)


def height(rig: Rig, roles: Roles) -> float:
    """Compute the extent of a character along the up axis.

    Without an up axis in the file it is the axis from feet to head, or the longest one without these roles.
    """
    extent = size(rig, roles)
    if rig.skeleton.up:
        return float(extent["xyz".index(rig.skeleton.up)])
    rows = {role: rig.skeleton.index(joint) for role, joint in roles.joints.items()}
    if {"head", "leftFoot", "rightFoot"} <= rows.keys():
        points = places(rig.rest)
        above = points[rows["head"]] - 0.5 * (points[rows["leftFoot"]] + points[rows["rightFoot"]])
        return float(extent[np.abs(above).argmax()])
    return float(extent.max(initial=0.0))
