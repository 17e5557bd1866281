"""FBX worker process: ufbx reads the file and numbers are written.

ufbx 0.0.5 has a reference counting bug: freeing an object while another one still points into the scene can crash the
process, and so can a normal exit. Every object stays alive until the end, which is `os._exit`.

Local transforms are ten numbers: translation, rotation x y z w, scale. They include pivots, pre- and post-rotations and
the rotation order. A row is a node of the scene, parents first. The scene's own root is left out, and so are cameras
and lights without a part of the character below.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, TypeVar

from poise.io.child.answer import Refused, main

MOST_SAMPLES = 2_000_000  # most local transforms of all takes: 20,000 frames of a hundred nodes
_MOST_EXACT = 400_000  # most local transforms of a take with samples between its frames
_NEAR = 1e-4  # distance [frames] from a frame for measuring the slope of a curve
_RATES = (0.5, 1000.0)  # accepted frame rates [Hz]
_USUAL_RATE = 30.0  # frame rate [Hz] for files with another one
_NOT_SOLID = ("UNKNOWN", "BONE", "EMPTY", "MARKER")
_CAMERAS = ("CAMERA", "STEREO_CAMERA", "CAMERA_SWITCHER")
_LIGHTS = ("LIGHT",)
_LIMITS = ("RotationMinX", "RotationMinY", "RotationMinZ", "RotationMaxX", "RotationMaxY", "RotationMaxZ")
_HALF_DEGREE = math.pi / 360.0
_SAME_TIME = 1e-6  # time difference [frames] below which two times are equal

T = TypeVar("T")
_kept: list[Any] = []


def keep(thing: T) -> T:
    """Keep an object of ufbx alive until the process ends."""
    _kept.append(thing)
    return thing


def every(things: Iterable[T]) -> list[T]:
    """Keep all objects of a ufbx list alive, and the list."""
    keep(things)
    return [keep(thing) for thing in things]


def work(data: bytes) -> tuple[dict[str, Any], list[array[float]]]:
    """Read nodes, skins and takes as JSON and blocks of numbers."""
    import ufbx  # noqa: PLC0415  (an extra; the parent process has checked for it)

    options: dict[str, Any] = {
        "ignore_geometry": True,
        "ignore_embedded": True,
        "geometry_transform_handling": ufbx.GeometryTransformHandling.PRESERVE,
        "inherit_mode_handling": ufbx.InheritModeHandling.HELPER_NODES,
        "scale_helper_name": "",
        "pivot_handling": ufbx.PivotHandling.ADJUST_TO_ROTATION_PIVOT,
    }
    try:
        scene = keep(ufbx.load_memory(data, **options))
    except ufbx.UfbxError as error:
        raise Refused(f"ufbx cannot read it: {str(error).lower() or type(error).__name__}") from error
    if keep(scene.metadata).file_format != ufbx.FileFormat.FBX:
        raise Refused("it is not an FBX file")
    return _Told(scene, ufbx).told()


class _Told:
    """Report on a scene of ufbx."""

    def __init__(self, scene: Any, ufbx: Any) -> None:
        self.scene = scene
        self.evaluate = ufbx.evaluate_transform
        self.skins = every(scene.skin_deformers)
        nodes = [node for node in every(scene.nodes) if not node.is_root]
        self.left_out = self._equipment(nodes)
        self.nodes = [node for node in nodes if node.element_id not in self.left_out]
        self.row_of = {node.element_id: row for row, node in enumerate(self.nodes)}
        self.blocks: list[array[float]] = []

    def told(self) -> tuple[dict[str, Any], list[array[float]]]:
        """Build the JSON header and the blocks of numbers."""
        settings = keep(self.scene.settings)
        rest = array("d")
        for node in self.nodes:
            _put(rest, node.local_transform)
        self.spheric = [
            _Spheric(row, node) for row, node in enumerate(self.nodes) if node.rotation_order.name == "SPHERIC"
        ]
        for one in self.spheric:
            one.mend(rest, one.row, tuple(one.node.euler_rotation))
        self.rest = rest
        header = {
            "unit": settings.unit_meters,
            "axes": [axis.name for axis in settings.axes],
            "nodes": [self._node(node) for node in self.nodes],
            "rest": self._block(rest),
            "limits": [told for row, node in enumerate(self.nodes) if (told := _limit(row, node)) is not None],
            "skins": [told for skin in self.skins if (told := self._skin(skin)) is not None],
            "cameras": sum(attribute in _CAMERAS for attribute in self.left_out.values()),
            "lights": sum(attribute in _LIGHTS for attribute in self.left_out.values()),
            "constraints": len(keep(self.scene.constraints)),
            "warnings": sorted({warning.description for warning in every(keep(self.scene.metadata).warnings)}),
        }
        rate = settings.frames_per_second
        rate = rate if _RATES[0] <= rate <= _RATES[1] else _USUAL_RATE
        stacks = every(self.scene.anim_stacks)
        self._check_length(stacks, rate)
        header["takes"] = [self._take(stack, rate) for stack in stacks]
        return header, self.blocks

    def _equipment(self, nodes: list[Any]) -> dict[int, str]:
        """Find cameras and lights with no part of the character below. Return their kinds by id."""
        bones = [keep(cluster.bone_node) for skin in self.skins for cluster in every(skin.clusters)]
        needed = {bone.element_id for bone in bones if bone is not None}
        found: dict[int, str] = {}
        for node in reversed(nodes):
            attribute, parent = node.attrib_type.name, keep(node.parent)
            is_one = attribute in _CAMERAS or attribute in _LIGHTS
            if is_one and keep(node.bone) is None and node.element_id not in needed:
                found[node.element_id] = attribute
            elif parent is not None:
                needed.add(parent.element_id)
        return found

    def _check_length(self, stacks: list[Any], rate: float) -> None:
        """Refuse takes above the sample limit before reading any."""
        samples = 0
        for stack in stacks:
            seconds = stack.time_end - stack.time_begin
            if not math.isfinite(seconds):
                raise Refused(f"take {stack.name!r} has a begin or an end that is not finite")
            samples += int(min(max(seconds, 0.0) * rate, 1e9) + 2) * len(self.nodes)
            if samples > MOST_SAMPLES:
                raise Refused(
                    f"take {stack.name!r} of {seconds:g} s at {rate:g} frames per second is too long: of all takes "
                    f"together {MOST_SAMPLES:,} transforms of nodes are read; cut it into several files"
                )

    def _block(self, numbers: array[float]) -> int:
        self.blocks.append(numbers)
        return len(self.blocks) - 1

    def _node(self, node: Any) -> list[Any]:
        """Describe a node: name, parent row, flags and rotation order.

        The flags are bone, solid, helper and moved to its pivot.
        """
        parent = keep(node.parent)
        row = -1 if parent is None else self.row_of.get(parent.element_id, -1)
        solid = node.attrib_type.name not in _NOT_SOLID
        # ufbx moves a node to its pivot and its contents back; nodes below are also moved back, but have no contents
        moved = any(node.adjust_pre_translation) and any(node.geometry_transform.translation)
        is_bone = keep(node.bone) is not None
        return [node.name, row, is_bone, solid, node.is_scale_helper, moved, node.rotation_order.name]

    def _skin(self, skin: Any) -> dict[str, Any] | None:
        joints: list[int] = []
        bind = array("d")
        for cluster in every(skin.clusters):
            bone = keep(cluster.bone_node)
            row = None if bone is None else self.row_of.get(bone.element_id)
            if row is not None and row not in joints:
                joints.append(row)
                for column in cluster.bind_to_world:
                    bind.extend(column)
        return {"name": skin.name, "joints": joints, "bind": self._block(bind)} if joints else None

    # --- takes -----------------------------------------------------------------------------------

    def _take(self, stack: Any, rate: float) -> dict[str, Any]:
        """Describe a take: its times and the transforms of moving nodes. Nodes always at rest are left out."""
        begin, end = stack.time_begin, stack.time_end
        frames = [begin + i / rate for i in range(int(max(end - begin, 0.0) * rate + _SAME_TIME) + 1)]
        if end - frames[-1] > _SAME_TIME / rate:
            frames.append(end)
        anim = keep(stack.anim)
        for one in self.spheric:
            one.play(anim)
        rows, keys = self._moving(anim, frames)
        told = {"name": stack.name, "begin": begin, "rows": rows, "times": self._block(array("d", frames))}
        told["keys"] = self._block(keys)
        if len(frames) * len(rows) <= _MOST_EXACT:
            told["between"] = [self._block(self._sampled(anim, rows, times)) for times in _beside(frames)]
        return told

    def _moving(self, anim: Any, times: list[float]) -> tuple[list[int], array[float]]:
        """Sample all nodes and keep the rows ever away from rest.

        Their transforms follow row by row, each with all times.
        """
        columns = [self._sampled(anim, [row], times) for row in range(len(self.nodes))]
        rows = [row for row, column in enumerate(columns) if column != self.rest[10 * row : 10 * row + 10] * len(times)]
        keys = array("d")
        for row in rows:
            keys.extend(columns[row])
        return rows, keys

    def _sampled(self, anim: Any, rows: list[int], times: list[float]) -> array[float]:
        values = array("d")
        evaluate = self.evaluate
        for row in rows:
            node = self.nodes[row]
            for time in times:
                _put(values, evaluate(anim, node, time))
        for one in self.spheric:
            if one.row in rows:
                first = rows.index(one.row) * len(times)
                for k, time in enumerate(times):
                    one.mend(values, first + k, one.angles(time))
        return values


def _put(values: array[float], transform: Any) -> None:
    values.extend(transform.translation)
    values.extend(transform.rotation)
    values.extend(transform.scale)


def _beside(frames: list[float]) -> tuple[list[float], list[float], list[float]]:
    """Return times just after each frame, before the next, and between. The last is the midpoint."""
    pairs = list(pairwise(frames))
    after = [a + (b - a) * _NEAR for a, b in pairs]
    before = [b - (b - a) * _NEAR for a, b in pairs]
    return after, before, [0.5 * (a + b) for a, b in pairs]


def _limit(row: int, node: Any) -> dict[str, Any] | None:
    """Describe a node's rotation limits, if any is switched on."""
    props = keep(node.props)
    on = [bool(props.find_bool(name, False)) for name in _LIMITS]
    if not any(on):
        return None
    names = ("RotationMin", "RotationMax", "PreRotation", "PostRotation")
    low, high, before, after = (_vector(props, name) for name in names)
    return {"row": row, "on": on, "low": low, "high": high, "pre": _quaternion(before), "post": _quaternion(after)}


def _vector(props: Any, name: str) -> tuple[float, float, float]:
    prop = keep(props.find_prop(name))
    return (0.0, 0.0, 0.0) if prop is None else tuple(prop.value_vec4)[:3]


class _Spheric:
    """A node of the rotation order SPHERIC. ufbx does not evaluate it. Its angles are read in the order XYZ."""

    def __init__(self, row: int, node: Any) -> None:
        self.row, self.node = row, node
        self.post = _quaternion(_vector(keep(node.props), "PostRotation"))
        self.values: list[Any] = []

    def play(self, anim: Any) -> None:
        """Select the rotation curves of a take. The last layer with any wins."""
        found = [keep(layer.find_anim_prop(self.node, "Lcl Rotation")) for layer in every(anim.layers)]
        self.values = [keep(prop.anim_value) for prop in found if prop is not None]

    def angles(self, time: float) -> tuple[float, float, float]:
        """Return the angles [degrees] at a time of the selected take."""
        return tuple(self.values[-1].evaluate_vec3(time) if self.values else self.node.euler_rotation)

    def mend(self, values: array[float], place: int, angles: tuple[float, float, float]) -> None:
        """Write the rotation into a transform, before with rotation pre . post^-1."""
        at = 10 * place + 3
        pre = _product(tuple(values[at : at + 4]), self.post)
        x, y, z, w = self.post
        values[at : at + 4] = array("d", _product(_product(pre, _quaternion(angles)), (-x, -y, -z, w)))


def _quaternion(degrees: Iterable[float]) -> tuple[float, float, float, float]:
    """Convert XYZ Euler angles [degrees] to a quaternion x y z w. The rotation is about x, then y, then z."""
    turned = (0.0, 0.0, 0.0, 1.0)
    for axis, angle in enumerate(degrees):
        one = [0.0, 0.0, 0.0, math.cos(angle * _HALF_DEGREE)]
        one[axis] = math.sin(angle * _HALF_DEGREE)
        turned = _product((one[0], one[1], one[2], one[3]), turned)
    return turned


def _product(a: tuple[float, ...], b: tuple[float, ...]) -> tuple[float, float, float, float]:
    """Return the product of two quaternions x y z w."""
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


if __name__ == "__main__":
    main(work)
