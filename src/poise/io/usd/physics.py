"""Skeleton of UsdPhysics bodies and joints. Joints that would close a loop are left out, with a note."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain, count
from typing import Any, NamedTuple

import numpy as np

from poise.errors import FileError, InputError, join_names
from poise.io.subprocess_reader import SubprocessReply
from poise.io.text_parsing import MAX_NUMBER, quote_excerpt
from poise.io.usd.skel import decompose_matrices
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.model.joints import make_unique_names
from poise.model.limits import EulerBox, Limit, Range
from poise.model.loops import Hold, Loop, LoopFrame
from poise.model.skeleton import Kind, Skeleton

_KIND_BY_JOINT = {"revolute": Kind.HINGE, "prismatic": Kind.SLIDE, "fixed": Kind.FIXED, "spherical": Kind.BALL}
_ROTATION_LIMITS = ("rotX", "rotY", "rotZ")
_WORLD = ""  # path of the world, the default body of a joint


# Position and rotation of a row relative to the previous one.
_IDENTITY_TRANSFORM = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])


class _RowMotion(NamedTuple):
    """A moving row: path, kind, axis and limit.

    Its name is the end of the path.
    """

    path: str
    kind: Kind
    axis: Floats
    limit: Limit | None


def _build_range(low: float, high: float) -> Range | None:
    """Build a range from two ends.

    None where neither is finite.
    """
    low, high = (low if low > -MAX_NUMBER else -math.inf), (high if high < MAX_NUMBER else math.inf)
    return None if math.isinf(low) and math.isinf(high) else Range(low, high, source="file")


class PhysicsTree:
    """Rows of a robot: one per joint, then its child body's. The joint's row is at the joint's frame."""

    def __init__(self, answer: SubprocessReply, notes: list[str]) -> None:
        self.answer, self.notes = answer, notes
        self.names: list[str] = []
        self.parents: list[int] = []
        self.kinds: list[int] = []
        self.axes: list[tuple[float, ...]] = []
        self.transforms: list[tuple[Floats, Floats]] = []
        self.limits: list[Limit | None] = []
        self.sources: list[str] = []
        self.row_of: dict[str, int] = {}
        self.aliases: dict[str, int] = {}
        self.loop_joints: list[dict[str, Any]] = []  # joints closing a loop
        self.body_transforms = {
            path: self._read_body_transform(matrix) for path, matrix in answer.header["bodies"].items()
        }
        self.body_transforms[_WORLD] = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]), np.ones(3)
        self._build_trees()

    def _read_body_transform(self, matrix: list[float]) -> tuple[Floats, Floats, Floats]:
        values = np.array(matrix, dtype=np.float64).reshape(1, 16)
        if not (np.abs(values) <= MAX_NUMBER).all():
            raise FileError(self.answer.path, "the transform of a body is not finite or too large")
        position, quaternion, scale, _ = decompose_matrices(values)
        return position[0], quaternion[0], scale[0]

    def _build_trees(self) -> None:
        """Build trees from bodies without a joint above. They come in file order; remaining joints close loops."""
        joints = [joint for joint in self.answer.header["joints"] if joint["on"] and any(joint["bodies"])]
        waiting = [joint for joint in joints if not joint["apart"]]
        closing = [joint for joint in joints if joint["apart"]]
        world_joints = [joint for joint in waiting if _WORLD in joint["bodies"]]
        waiting = [joint for joint in waiting if _WORLD not in joint["bodies"]]
        for joint in joints:
            self._check_joint(joint)
        for joint in sorted(world_joints, key=lambda joint: joint["kind"] != "fixed"):
            body = joint["bodies"][0] or joint["bodies"][1]
            if body not in self.row_of and joint["kind"] == "fixed":
                self._add_root(body, Kind.FIXED)
            elif body not in self.row_of:
                self._add_to_world(joint)
            elif joint["kind"] != "fixed":
                closing.append(joint)
        while waiting:
            ready = next((j for j in waiting if any(body in self.row_of for body in j["bodies"])), None)
            if ready is None:
                child_bodies = {joint["bodies"][1] for joint in waiting}
                first = next(
                    (j["bodies"][0] for j in waiting if j["bodies"][0] not in child_bodies), waiting[0]["bodies"][0]
                )
                self._add_root(first, Kind.FREE if first in self.answer.header["floating"] else Kind.FIXED)
                continue
            waiting.remove(ready)
            if all(body in self.row_of for body in ready["bodies"]):
                closing.append(ready)
            else:
                self._add_joint(ready, is_reversed=ready["bodies"][0] not in self.row_of)
        closing = [joint for joint in closing if not self._add_detached(joint)]
        self.loop_joints = [joint for joint in closing if self._find_constraints(joint)[0]]
        if closing:
            paths = join_names(joint["path"] for joint in closing)
            self.notes.append(
                f"joints that close a loop are not part of the tree, and poses can open the loop: {paths}"
            )

    def _check_joint(self, joint: dict[str, Any]) -> None:
        """Replace an axis or limits without a meaning, with a note."""
        if joint["axis"] not in ("X", "Y", "Z"):
            self.notes.append(
                f"the axis {quote_excerpt(joint['axis'])} of joint {joint['path']} is not X, Y or Z: X is read"
            )
            joint["axis"] = "X"
        if math.isnan(joint["low"]) or math.isnan(joint["high"]):
            self.notes.append(f"the range of joint {joint['path']} is ignored: a limit is not a number")
            joint["low"], joint["high"] = -math.inf, math.inf

    def _add_detached(self, joint: dict[str, Any]) -> bool:
        """Add a detached joint if it carries a body of its own. It stands apart from its articulation."""
        known = [body == _WORLD or body in self.row_of for body in joint["bodies"]]
        if sum(known) != 1:
            return False
        if _WORLD in joint["bodies"]:
            self._add_to_world(joint)
        else:
            self._add_joint(joint, is_reversed=not known[0])
        return True

    def _add_to_world(self, joint: dict[str, Any]) -> None:
        """Add rows for a joint between a body and the world.

        They are below a row for the world itself.
        """
        if _WORLD not in self.row_of:
            origin, no_turn, _ = self.body_transforms[_WORLD]
            self.row_of[_WORLD] = self._add_row(self._choose_world_name(), -1, Kind.FIXED, (origin, no_turn))
        self._add_joint(joint, is_reversed=joint["bodies"][1] == _WORLD)

    def _choose_world_name(self) -> str:
        """Choose an unused name for the world.

        No body and no joint of the file has it.
        """
        paths = [*self.answer.header["bodies"], *(joint["path"] for joint in self.answer.header["joints"])]
        taken = {path.rsplit("/", 1)[-1] for path in paths}
        return next(name for name in chain(["world"], (f"world_{i}" for i in count(1))) if name not in taken)

    def _find_constraints(self, joint: dict[str, Any]) -> tuple[tuple[Hold, ...], str]:
        """Find the constraints of a loop joint, and its free axis.

        The axis is X, Y or Z.
        """
        axis = joint["axis"]
        known: dict[str, tuple[Hold, ...]] = {
            "fixed": ("point", "turn"), "revolute": ("point", "axis"), "prismatic": ("line", "turn"),
            "spherical": ("point",),
        }  # fmt: skip
        if joint["kind"] in known:
            return known[joint["kind"]], axis
        ends: dict[str, list[float]] = joint["limits"]
        free = {
            motion: [a for a in "XYZ" if not ends.get(motion + a, [0.0, 1.0])[0] > ends.get(motion + a, [0.0, 1.0])[1]]
            for motion in ("trans", "rot")
        }
        single_axes = [own[0] for own in free.values() if len(own) == 1]
        shared_axis = single_axes[0] if len(set(single_axes)) == 1 else ""  # rotation and translation share one axis
        position_holds: dict[int, tuple[Hold, ...]] = {0: ("point",), 1: ("line",) if shared_axis else ()}
        rotation_holds: dict[int, tuple[Hold, ...]] = {0: ("turn",), 1: ("axis",) if shared_axis else ()}
        return position_holds.get(len(free["trans"]), ()) + rotation_holds.get(
            len(free["rot"]), ()
        ), shared_axis or axis

    def _build_loop(self, joint: dict[str, Any], names: Sequence[str]) -> Loop:
        """Build a Loop between two named rows from a joint."""
        holds, axis = self._find_constraints(joint)
        z_to_axis = rotations.rotation_between(np.array([0.0, 0.0, 1.0]), np.eye(3)["XYZ".index(axis)])
        ends: list[tuple[str | None, LoopFrame]] = []
        for side, body in enumerate(joint["bodies"]):
            at, quaternion = self._read_frame(joint, side)
            frame = (*at.tolist(), *rotations.multiply(quaternion, z_to_axis).tolist())
            ends.append((None if body == _WORLD else names[self.row_of[body]], frame))
        (first, first_frame), (second, second_frame) = ends
        return Loop(joint["path"].rsplit("/", 1)[-1], (first, second), (first_frame, second_frame), holds)

    def _add_row(
        self, path: str, parent: int, kind: Kind, transform: tuple[Floats, Floats], limit: Limit | None = None
    ) -> int:
        self.names.append(path.rsplit("/", 1)[-1])
        self.sources.append(path)
        self.parents.append(parent)
        self.kinds.append(int(kind))
        self.transforms.append(transform)
        self.limits.append(limit)
        self.axes.append((0.0, 0.0, 0.0))
        return len(self.names) - 1

    def _add_root(self, body: str, kind: Kind) -> None:
        """Add the row of a body without a joint above. It is free where a simulation would let it fall."""
        position, quaternion, _ = self.body_transforms[body]
        self.row_of[body] = self._add_row(body, -1, kind, (position, quaternion))

    def _add_joint(self, joint: dict[str, Any], *, is_reversed: bool) -> None:
        """Add rows for a joint and its child body.

        `is_reversed` where the file has the two bodies in the other order.
        """
        carrier, carried = joint["bodies"][::-1] if is_reversed else joint["bodies"]
        parent_side, child_side = (1, 0) if is_reversed else (0, 1)
        row, transform = self.row_of[carrier], self._read_frame(joint, parent_side)
        motions = self._split_motions(joint, is_reversed=is_reversed)
        for motion in reversed(motions) if is_reversed else motions:
            row = self._add_row(motion.path, row, motion.kind, transform, motion.limit)
            if motion.kind in (Kind.HINGE, Kind.SLIDE):
                self.axes[row] = tuple((-motion.axis if is_reversed else motion.axis).tolist())
            transform = _IDENTITY_TRANSFORM
        at, quaternion = self._read_frame(joint, child_side)
        if not at.any() and not quaternion[1:].any():  # identical frames: the body is an alias of the joint
            self.row_of[carried] = row
            self.aliases[carried.rsplit("/", 1)[-1]] = row
            return
        inverse_rotation = rotations.inverse(quaternion)
        self.row_of[carried] = self._add_row(
            carried, row, Kind.FIXED, (-rotations.rotate(inverse_rotation, at), inverse_rotation)
        )

    def _read_frame(self, joint: dict[str, Any], side: int) -> tuple[Floats, Floats]:
        """Return the joint's frame in one of its scaled bodies."""
        at, quaternion = (np.array(joint[name][side], dtype=np.float64) for name in ("places", "turns"))
        if not (np.abs(at) <= MAX_NUMBER).all() or not np.isfinite(quaternion).all() or not quaternion.any():
            raise FileError(
                self.answer.path, "its frame is not finite, or its rotation has no length", place=joint["path"]
            )
        return at * self.body_transforms[joint["bodies"][side]][2], rotations.normalised(quaternion)

    def _split_motions(self, joint: dict[str, Any], *, is_reversed: bool) -> list[_RowMotion]:
        """Split a joint into motions, from its first body's frame on.

        The slides of a joint of six freedoms come first, then its rotation. The last motion has the joint's own name,
        the slides before it add the letter of their axis.
        """
        kind, limit = self._read_motion(joint, is_reversed=is_reversed)
        axis = np.eye(3)["XYZ".index(joint["axis"])]
        main_motion = _RowMotion(joint["path"], kind, axis, limit)
        if joint["kind"] != "free":
            return [main_motion]
        slides: list[_RowMotion] = []
        for letter, along in zip("XYZ", np.eye(3), strict=True):
            low, high = joint["limits"].get(f"trans{letter}", (-math.inf, math.inf))
            if not low > high:
                slides.append(
                    _RowMotion(f"{joint['path']}_{letter.lower()}", Kind.SLIDE, along, _build_range(low, high))
                )
        if slides and kind == Kind.FIXED:
            return [*slides[:-1], slides[-1]._replace(path=joint["path"])]
        return [*slides, main_motion]

    def _read_motion(self, joint: dict[str, Any], *, is_reversed: bool) -> tuple[Kind, Limit | None]:
        kind = _KIND_BY_JOINT.get(joint["kind"])
        try:
            if kind is not None and kind in (Kind.HINGE, Kind.SLIDE):
                return kind, self._read_range(joint)  # the axis is negated for reversed bodies
            if kind == Kind.BALL and max(joint["cone"]) >= 0.0:
                self.notes.append(f"the cone that limits the spherical joint {joint['path']} is not read")
            return (kind, None) if kind is not None else self._read_rotation_limits(joint, is_reversed=is_reversed)
        except InputError as error:
            raise FileError(self.answer.path, str(error), place=joint["path"]) from error

    def _read_range(self, joint: dict[str, Any]) -> Range | None:
        factor = math.pi / 180.0 if joint["kind"] == "revolute" else 1.0
        low, high = float(joint["low"]) * factor, float(joint["high"]) * factor
        if low > high:
            self.notes.append(
                f"the range of joint {joint['path']} is ignored: its lower limit {joint['low']:g} is above its upper "
                f"limit {joint['high']:g}"
            )
            return None
        return _build_range(low, high)

    def _read_rotation_limits(self, joint: dict[str, Any], *, is_reversed: bool) -> tuple[Kind, Limit | None]:
        """Read the rotation limits of a joint with six freedoms.

        A freedom is locked where low is above high.
        """
        limits: dict[str, list[float]] = joint["limits"]
        ends = [
            tuple(math.radians(v) for v in limits[n]) if n in limits else (-math.inf, math.inf)
            for n in _ROTATION_LIMITS
        ]
        ends = [(0.0, 0.0) if low > high else (low, high) for low, high in ends]
        if all(end == (0.0, 0.0) for end in ends):
            return Kind.FIXED, None
        if is_reversed:
            self.notes.append(f"the limits of {joint['path']} are measured from the other body, and are not read")
            return Kind.BALL, None
        x, y, z = ends
        box = EulerBox("XYZ", x=x, y=y, z=z, source="file")
        return Kind.BALL, box if any(math.isfinite(v) for end in ends for v in end) else None

    def build_skeleton(self, units: dict[str, Any]) -> Skeleton:
        """Build the skeleton with zero at coinciding joint frames."""
        offsets, quaternions = zip(*self.transforms, strict=True)
        units = units | {"aliases": {name: row for name, row in self.aliases.items() if name not in self.names}}
        names = make_unique_names(self.names)
        renamed = [new for new, old in zip(names, self.names, strict=True) if new != old]
        if renamed:
            self.notes.append(f"bodies and joints with a duplicate name were renamed: {join_names(renamed)}")
        return Skeleton.build(
            self.names, self.parents, self.kinds, offsets=np.array(offsets), rotations=np.array(quaternions),
            axes=np.array(self.axes), limits=self.limits, source_ids=self.sources,
            loops=tuple(self._build_loop(joint, names) for joint in self.loop_joints), **units,
        )  # fmt: skip
