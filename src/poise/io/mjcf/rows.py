"""Skeleton joints for bodies, joints and sites of an MJCF model.

A body with several joints is a chain of skeleton joints, each at the `pos` of its MuJoCo joint:

    first joint   A = body . T(pos)              the next   A = T(-pos before) . T(pos)
    the body      the last joint, or if its `pos` is not zero, a fixed joint T(-pos)

A subtracts the joint's `ref`, and a free joint has the identity as A, so q equals MuJoCo's qpos number by number; a
coupled joint has no number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from poise.io.mjcf.engine import CompiledModel
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.joints import Kind

_KINDS = (Kind.FREE, Kind.BALL, Kind.SLIDE, Kind.HINGE)  # joint kind by mjtJoint
_ZERO, _NO_TURN = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
_ALONG = 1e-6  # maximum deviation of an axis named x, y or z


class MjcfRow(NamedTuple):
    """One skeleton joint. `mujoco_id` is the MuJoCo id of its joint, -1 for a body or a site."""

    name: str
    parent: int
    kind: Kind
    offset: Floats
    rotation: Floats
    axis: Floats
    joint: int = -1


@dataclass
class MjcfRows:
    """All skeleton joints, parents first. It maps bodies and joints of the model to them, and notes renames."""

    rows: list[MjcfRow] = field(default_factory=list[MjcfRow])
    body_row: dict[int, int] = field(default_factory=dict[int, int])
    joint_row: dict[int, int] = field(default_factory=dict[int, int])
    aliases: dict[str, int] = field(default_factory=dict[str, int])
    notes: list[str] = field(default_factory=list[str])


def rows_of(given: CompiledModel) -> MjcfRows:
    """Build the skeleton joints. Bodies are in MuJoCo's order, so q is in the order of qpos; sites follow."""
    return _Builder(given).made()


class _Builder:
    def __init__(self, given: CompiledModel) -> None:
        self.mj, self.m = given.mj, given.model
        self.found = MjcfRows()
        kinds = self.mj.mjtObj
        self.joints = self._names(kinds.mjOBJ_JOINT, self.m.njnt)
        self.bodies = self._names(kinds.mjOBJ_BODY, self.m.nbody)
        self.sites = self._names(kinds.mjOBJ_SITE, self.m.nsite)
        self.taken = set(self.joints) - {""}  # joints keep their names, bodies and sites give way

    def _names(self, kind: Any, count: int) -> list[str]:
        return [self.mj.mj_id2name(self.m, kind, i) or "" for i in range(count)]

    def made(self) -> MjcfRows:
        """Build all joints."""
        world = self._free_name("world", "body")
        self._add(MjcfRow(world, -1, Kind.FIXED, _ZERO, _NO_TURN, _ZERO))
        self.found.body_row[0] = 0
        for body in range(1, self.m.nbody):
            self._body(body)
        for site in range(self.m.nsite):
            name = self._free_name(self.sites[site] or f"site{site}", "site")
            row = self.found.body_row[int(self.m.site_bodyid[site])]
            place = (self.m.site_pos[site].copy(), self.m.site_quat[site].copy())
            self._add(MjcfRow(name, row, Kind.FIXED, *place, _ZERO))
        return self.found

    def _add(self, row: MjcfRow) -> int:
        self.found.rows.append(row)
        return len(self.found.rows) - 1

    def _body(self, body: int) -> None:
        m, name = self.m, self.bodies[body] or f"body{body}"
        at = self.found.body_row[int(m.body_parentid[body])]
        offset, turn = m.body_pos[body].copy(), m.body_quat[body].copy()
        first, count = int(m.body_jntadr[body]), int(m.body_jntnum[body])
        joints = range(first, first + count)
        for joint in joints:
            kind = _KINDS[int(m.jnt_type[joint])]
            aside = _ZERO if kind in (Kind.FREE, Kind.SLIDE) else m.jnt_pos[joint]
            row = self._joint(joint, kind, at, offset + rotations.rotate(turn, aside), turn)
            at = self.found.joint_row[joint] = self._add(row._replace(name=self._joint_name(joint, joints, body)))
            offset, turn = -aside, _NO_TURN
        own = self.bodies[body]
        if count and not offset.any():
            self._alias(own, at)
        else:
            at = self._add(MjcfRow(self._free_name(name, "body"), at, Kind.FIXED, offset, turn, _ZERO))
        self.found.body_row[body] = at

    def _joint(self, joint: int, kind: Kind, parent: int, offset: Floats, turn: Floats) -> MjcfRow:
        """Build a joint without a name, from its rest frame."""
        if kind == Kind.FREE:  # qpos is the pose in the world, not a displacement
            return MjcfRow("", parent, kind, _ZERO, _NO_TURN, _ZERO, joint)
        axis = _ZERO if kind == Kind.BALL else self.m.jnt_axis[joint].copy()
        reference = float(self.m.qpos0[self.m.jnt_qposadr[joint]])
        if kind == Kind.SLIDE and reference:
            offset = offset - reference * rotations.rotate(turn, axis)
        elif kind == Kind.HINGE and reference:
            turn = rotations.multiply(turn, rotations.about(axis, -reference))
        return MjcfRow("", parent, kind, offset, turn, axis, joint)

    def _joint_name(self, joint: int, joints: Sequence[int], body: int) -> str:
        """Find the name of a joint. An unnamed joint is called like its body, with its axis if there are several."""
        own = self.joints[joint]
        if own:
            return own
        name = self.bodies[body] or f"body{body}"
        return self._free_name(name if len(joints) == 1 else f"{name}_{self._letter(joint)}", "")

    def _letter(self, joint: int) -> str:
        kind, axis = _KINDS[int(self.m.jnt_type[joint])], np.abs(self.m.jnt_axis[joint])
        largest = int(axis.argmax())
        if kind in (Kind.HINGE, Kind.SLIDE) and axis[largest] > 1.0 - _ALONG:
            return ("t" if kind == Kind.SLIDE else "") + "xyz"[largest]
        return kind.name.lower()

    def _alias(self, body: str, row: int) -> None:
        """Add the body as an alias, unless a joint has its name."""
        if not body or body == self.found.rows[row].name:
            return
        if body in self.taken:
            self.found.notes.append(
                f"body {body!r} and a joint have the same name; it means the joint, and the body is found under its "
                f"own joint {self.found.rows[row].name!r}"
            )
            return
        self.taken.add(body)
        self.found.aliases[body] = row

    def _free_name(self, wanted: str, what: str) -> str:
        """Find an unused name. A note is added if a body or a site is renamed."""
        name, k = wanted, 0
        while name in self.taken:
            k += 1
            name = "_".join(part for part in (wanted, what, "" if what and k == 1 else str(k)) if part)
        if name != wanted and what:
            self.found.notes.append(f"{what} {wanted!r} is called {name!r} here: its name is taken")
        self.taken.add(name)
        return name
