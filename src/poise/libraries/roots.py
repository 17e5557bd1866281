"""Selection of one root's tree, for single-root formats."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from poise.errors import InputError, UnsupportedError, listed, quoted
from poise.maths.arrays import Floats
from poise.maths.in_words import counted
from poise.model.clip import Clip, KeyedClip
from poise.model.loops import select_loops
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.roles import humanoid
from poise.model.skeleton import Kind, Skeleton


class _Part(NamedTuple):
    """Subset of the joints of a skeleton, as a skeleton.

    joint_indices  (k,) indices in the whole skeleton, parents first
    skeleton       the new skeleton
    columns        (nq,) columns in the q of the whole skeleton
    ratio          (nq,) factors of the values: 1, except for followers of a joint in another tree
    offset         (nq,) offsets added then
    """

    rows: list[int]
    skeleton: Skeleton
    columns: list[int]
    ratio: Floats
    offset: Floats

    def q(self, whole: Floats) -> Floats:
        """Select q (..., nq) from the q of the whole skeleton."""
        return whole[..., self.columns] * self.ratio + self.offset


def one_tree(rig: Rig, root: str | None, *, needed: bool) -> tuple[Rig, list[str]]:
    """Keep the joints below one root only.

    Return the rig and a line about the removed joints; a rig of one tree is returned unchanged.

    Parameters
    ----------
    rig
        A rig.
    root
        Name of the root. None: the root of the hips if one tree is `needed`.
    needed
        Whether the format holds one tree only.

    Raises
    ------
    InputError
        If `root` is not a root.
    UnsupportedError
        If one tree is needed and none or several of them have hips, by role.
    """
    s = rig.skeleton
    roots = np.flatnonzero(s.parents < 0).tolist()
    moving = [row for row in roots if s.moving_depth[row] > 0]
    if root is not None:
        row = s.index(root) if root in s else -1
        if row not in roots:
            raise InputError(
                f"root: {quoted(root)} is no root of this rig; its roots are: {_names(s, moving or roots)}"
            )
    elif needed and len(moving) > 1:
        row = _of_the_figure(rig, moving)
    else:
        return rig, []
    part = _part(s, row)
    rest = [name for name in s.names if name not in part.skeleton]
    if not rest:
        return rig, []
    what = counted(len(rest), "joint that does", "joints that do")
    return _on(rig, part), [f"{what} not hang on {s.names[row]!r}: {listed(rest)}"]


def _names(s: Skeleton, rows: list[int]) -> str:
    return listed(repr(s.names[row]) for row in rows)


def _of_the_figure(rig: Rig, roots: list[int]) -> int:
    """Find the root of the only tree with hips."""
    s = rig.skeleton
    found = [row for row in roots if "hips" in humanoid(_figure(rig, row)).joints]
    if len(found) == 1:
        return found[0]
    which = f"{len(found)} of them have hips" if found else "none of them has hips"
    raise UnsupportedError(
        f"the new format holds one tree of joints; this rig has {len(roots)} roots, and {which}: "
        f"name one as root (--root NAME): {_names(s, found or roots)}"
    )


def _figure(rig: Rig, root: int) -> Rig:
    """Build a rig of one tree at rest, for role detection."""
    return _on(dataclasses.replace(rig, clips=(), poses={}), _part(rig.skeleton, root))


def _part(s: Skeleton, root: int) -> _Part:
    """Build the skeleton below a root. A follower of a joint in another tree gets its own values."""
    inside = np.zeros(len(s), dtype=bool)
    for row, parent in enumerate(s.parents.tolist()):
        inside[row] = row == root or (parent >= 0 and inside[parent])
    rows: list[int] = np.flatnonzero(inside).tolist()
    new = {row: i for i, row in enumerate(rows)} | {-1: -1}
    couplings = [s.couplings[row] for row in rows]
    within = [c._replace(leader=new[c.leader]) if c and c.leader in new else None for c in couplings]
    own = [(row, Kind(s.kinds[row]).nq) for row, c in zip(rows, within, strict=True) if c is None]
    columns = [int(s.q_start[row]) + i for row, size in own for i in range(size)]
    ratio, offset = np.repeat(s.coupling_rows[[row for row, _ in own]], [size for _, size in own], axis=0).T
    skeleton = dataclasses.replace(
        s,
        names=tuple(s.names[row] for row in rows),
        parents=np.array([new[row] for row in s.parents[rows].tolist()]),
        kinds=s.kinds[rows],
        axes=s.axes[rows],
        A=s.A[rows],
        B=s.B[rows],
        rest_q=s.rest_q[columns] * ratio + offset,
        limits=tuple(s.limits[row] for row in rows),
        couplings=tuple(within),
        source_ids=tuple(s.source_ids[row] for row in rows),
        euler=tuple(s.euler[row] for row in rows),
        source=None,
        freed=s.freed._replace(row=new[s.freed.row]) if s.freed is not None and s.freed.row in new else None,
        **_named(s, new),
    )
    return _Part(rows, skeleton, columns, ratio, offset)


def _named(s: Skeleton, new: dict[int, int]) -> dict[str, Any]:
    """Select aliases, chains and roles of the kept joints."""
    kept = {name for name in (*s.names, *s.aliases) if s.index(name) in new}
    return {
        "aliases": {name: new[row] for name, row in s.aliases.items() if row in new},
        "chains": {name: ends for name, ends in s.chains.items() if kept.issuperset(ends)},
        "loops": select_loops(s.loops, kept),
        "motors": {joint: motor for joint, motor in s.motors.items() if joint in kept},
        "roles": {role: joint for role, joint in s.roles.items() if joint in kept},
    }


def _on(rig: Rig, part: _Part) -> Rig:
    """Select the data of a rig for a subtree. The source document and its meshes are dropped."""
    skeleton = part.skeleton
    return dataclasses.replace(
        rig,
        skeleton=skeleton,
        pose=_pose(rig.pose, part),
        clips=tuple(_clip(clip, part) for clip in rig.clips),
        skins=(),
        humanoid={role: joint for role, joint in rig.humanoid.items() if joint in skeleton},
        poses={name: _pose(pose, part) for name, pose in rig.poses.items()},
        disabled_pairs=tuple(pair for pair in rig.disabled_pairs if pair[0] in skeleton and pair[1] in skeleton),
    )


def _pose(pose: Pose, part: _Part) -> Pose:
    parts = [None if given is None else given[..., part.rows, :] for given in (pose.translations, pose.scales)]
    return Pose(part.skeleton, part.q(pose.q), *parts)


def _clip(clip: Clip, part: _Part) -> Clip:
    if isinstance(clip, KeyedClip):
        new = {row: i for i, row in enumerate(part.rows)}
        tracks = tuple(track._replace(joint=new[track.joint]) for track in clip.tracks if track.joint in new)
        return KeyedClip(part.skeleton, tracks, clip.name)
    return Clip(clip.times, _pose(clip.poses, part), clip.name)
