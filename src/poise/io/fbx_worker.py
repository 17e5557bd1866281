"""FBX worker: reads a file in a process of its own.

ufbx reads the bytes from standard input. The reply on standard output is a JSON header with nodes, limits, skins and
takes, and blocks of numbers; `fbx_scene.py` parses it.

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
from itertools import chain, pairwise, repeat
from typing import Any, TypeVar

from poise.io.subprocess_worker import UnreadableFileError, run_worker

_TRANSFORM_SIZE = 10  # numbers of a local transform
_ROTATION_OFFSET = 3  # index of its rotation x y z w
MAX_SAMPLES = 2_000_000  # most local transforms of all takes: 20,000 frames of a hundred nodes
_MAX_SLOPE_SAMPLES = 400_000  # most local transforms of a take with samples between its frames
_SLOPE_SAMPLE_OFFSET = 1e-4  # distance [frames] from a frame for measuring the slope of a curve
_RATE_RANGE_HZ = (0.5, 1000.0)  # accepted frame rates [Hz]
_DEFAULT_RATE_HZ = 30.0  # frame rate [Hz] for files with another one
_NON_SOLID_KINDS = ("UNKNOWN", "BONE", "EMPTY", "MARKER")
_CAMERA_KINDS = ("CAMERA", "STEREO_CAMERA", "CAMERA_SWITCHER")
_LIGHT_KINDS = ("LIGHT",)
_LIMIT_SWITCHES = ("RotationMinX", "RotationMinY", "RotationMinZ", "RotationMaxX", "RotationMaxY", "RotationMaxZ")
_HALF_DEGREE_RAD = math.pi / 360.0
_TIME_TOLERANCE = 1e-6  # time difference [frames] below which two times are equal

T = TypeVar("T")
_live_objects: list[Any] = []


def keep_alive(item: T) -> T:
    """Keep an object of ufbx alive until the process ends."""
    _live_objects.append(item)
    return item


def keep_all_alive(items: Iterable[T]) -> list[T]:
    """Keep all objects of a ufbx list alive, and the list."""
    keep_alive(items)
    return [keep_alive(item) for item in items]


def read_fbx(data: bytes) -> tuple[dict[str, Any], list[array[float]]]:
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
        scene = keep_alive(ufbx.load_memory(data, **options))
    except ufbx.UfbxError as error:
        raise UnreadableFileError(f"ufbx cannot read it: {str(error).lower() or type(error).__name__}") from error
    if keep_alive(scene.metadata).file_format != ufbx.FileFormat.FBX:
        raise UnreadableFileError("it is not an FBX file")
    return _SceneReader(scene, ufbx).build()


class _SceneReader:
    """Reader of ufbx scenes into JSON headers and number blocks."""

    def __init__(self, scene: Any, ufbx: Any) -> None:
        self.scene = scene
        self.evaluate_transform = ufbx.evaluate_transform
        self.skins = keep_all_alive(scene.skin_deformers)
        nodes = [node for node in keep_all_alive(scene.nodes) if not node.is_root]
        self.excluded_kinds = self._find_cameras_and_lights(nodes)
        self.nodes = [node for node in nodes if node.element_id not in self.excluded_kinds]
        self.row_by_id = {node.element_id: row for row, node in enumerate(self.nodes)}
        self.blocks: list[array[float]] = []

    def build(self) -> tuple[dict[str, Any], list[array[float]]]:
        """Build the JSON header and the blocks of numbers."""
        settings = keep_alive(self.scene.settings)
        transforms = (node.local_transform for node in self.nodes)
        rest_transforms = array("d", chain.from_iterable(chain.from_iterable(transforms)))
        self.spheric_order_nodes = [
            _SphericOrderNode(row, node) for row, node in enumerate(self.nodes) if node.rotation_order.name == "SPHERIC"
        ]
        for spheric in self.spheric_order_nodes:
            spheric.write_rotation(rest_transforms, spheric.row, tuple(spheric.node.euler_rotation))
        self.rest_transforms = rest_transforms
        header = {
            "unit": settings.unit_meters,
            "axes": [axis.name for axis in settings.axes],
            "nodes": [self._describe_node(node) for node in self.nodes],
            "rest": self._add_block(rest_transforms),
            "limits": [
                entry for row, node in enumerate(self.nodes) if (entry := _describe_limit(row, node)) is not None
            ],
            "skins": [entry for skin in self.skins if (entry := self._describe_skin(skin)) is not None],
            "cameras": sum(kind in _CAMERA_KINDS for kind in self.excluded_kinds.values()),
            "lights": sum(kind in _LIGHT_KINDS for kind in self.excluded_kinds.values()),
            "constraints": len(keep_alive(self.scene.constraints)),
            "warnings": sorted(
                {warning.description for warning in keep_all_alive(keep_alive(self.scene.metadata).warnings)}
            ),
        }
        rate = settings.frames_per_second
        rate = rate if _RATE_RANGE_HZ[0] <= rate <= _RATE_RANGE_HZ[1] else _DEFAULT_RATE_HZ
        stacks = keep_all_alive(self.scene.anim_stacks)
        self._check_length(stacks, rate)
        header["takes"] = [self._describe_take(stack, rate) for stack in stacks]
        return header, self.blocks

    def _find_cameras_and_lights(self, nodes: list[Any]) -> dict[int, str]:
        """Find cameras and lights with no part of the character below. Return their kinds by id."""
        bones = [keep_alive(cluster.bone_node) for skin in self.skins for cluster in keep_all_alive(skin.clusters)]
        needed_ids = {bone.element_id for bone in bones if bone is not None}
        kind_by_id: dict[int, str] = {}
        for node in reversed(nodes):
            kind, parent = node.attrib_type.name, keep_alive(node.parent)
            is_camera_or_light = kind in _CAMERA_KINDS or kind in _LIGHT_KINDS
            if is_camera_or_light and keep_alive(node.bone) is None and node.element_id not in needed_ids:
                kind_by_id[node.element_id] = kind
            elif parent is not None:
                needed_ids.add(parent.element_id)
        return kind_by_id

    def _check_length(self, stacks: list[Any], rate: float) -> None:
        """Refuse takes above the sample limit before reading any."""
        sample_count = 0
        for stack in stacks:
            seconds = stack.time_end - stack.time_begin
            if not math.isfinite(seconds):
                raise UnreadableFileError(f"take {stack.name!r} has a begin or an end that is not finite")
            sample_count += int(min(max(seconds, 0.0) * rate, 1e9) + 2) * len(self.nodes)
            if sample_count > MAX_SAMPLES:
                raise UnreadableFileError(
                    f"take {stack.name!r} of {seconds:g} s at {rate:g} frames per second is too long: of all takes "
                    f"together {MAX_SAMPLES:,} transforms of nodes are read; cut it into several files"
                )

    def _add_block(self, numbers: array[float]) -> int:
        self.blocks.append(numbers)
        return len(self.blocks) - 1

    def _describe_node(self, node: Any) -> list[Any]:
        """Describe a node: name, parent row, flags and rotation order.

        The flags are bone, solid, helper and moved to its pivot.
        """
        parent = keep_alive(node.parent)
        parent_row = -1 if parent is None else self.row_by_id.get(parent.element_id, -1)
        is_solid = node.attrib_type.name not in _NON_SOLID_KINDS
        # ufbx moves a node to its pivot and its contents back; nodes below are also moved back, but have no contents
        has_pivot = any(node.adjust_pre_translation) and any(node.geometry_transform.translation)
        is_bone = keep_alive(node.bone) is not None
        return [node.name, parent_row, is_bone, is_solid, node.is_scale_helper, has_pivot, node.rotation_order.name]

    def _describe_skin(self, skin: Any) -> dict[str, Any] | None:
        joint_rows: list[int] = []
        bind_matrices = array("d")
        for cluster in keep_all_alive(skin.clusters):
            bone = keep_alive(cluster.bone_node)
            row = None if bone is None else self.row_by_id.get(bone.element_id)
            if row is not None and row not in joint_rows:
                joint_rows.append(row)
                for column in cluster.bind_to_world:
                    bind_matrices.extend(column)
        return {"name": skin.name, "joints": joint_rows, "bind": self._add_block(bind_matrices)} if joint_rows else None

    # --- takes -----------------------------------------------------------------------------------

    def _describe_take(self, stack: Any, rate: float) -> dict[str, Any]:
        """Describe a take: its times and the transforms of moving nodes. Nodes always at rest are left out."""
        start_time, end_time = stack.time_begin, stack.time_end
        frame_times = [
            start_time + i / rate for i in range(int(max(end_time - start_time, 0.0) * rate + _TIME_TOLERANCE) + 1)
        ]
        if end_time - frame_times[-1] > _TIME_TOLERANCE / rate:
            frame_times.append(end_time)
        animation = keep_alive(stack.anim)
        for spheric in self.spheric_order_nodes:
            spheric.select_take(animation)
        rows, samples = self._sample_moving_nodes(animation, frame_times)
        take = {
            "name": stack.name,
            "begin": start_time,
            "rows": rows,
            "times": self._add_block(array("d", frame_times)),
        }
        take["keys"] = self._add_block(samples)
        if len(frame_times) * len(rows) <= _MAX_SLOPE_SAMPLES:
            take["between"] = [
                self._add_block(self._sample_nodes(animation, rows, times))
                for times in _list_times_between_frames(frame_times)
            ]
        return take

    def _sample_moving_nodes(self, animation: Any, times: list[float]) -> tuple[list[int], array[float]]:
        """Sample all nodes and keep the rows ever away from rest.

        Their transforms follow row by row, each with all times.
        """
        animated_ids = self._find_animated_nodes(animation)
        samples_by_row = [
            self._sample_nodes(animation, [row], times)
            if node.element_id in animated_ids
            else self._sample_still_node(animation, row, times)
            for row, node in enumerate(self.nodes)
        ]
        rows = [
            row
            for row, row_samples in enumerate(samples_by_row)
            if row_samples != self.rest_transforms[_TRANSFORM_SIZE * row : _TRANSFORM_SIZE * (row + 1)] * len(times)
        ]
        samples = array("d")
        for row in rows:
            samples.extend(samples_by_row[row])
        return rows, samples

    def _find_animated_nodes(self, animation: Any) -> set[int]:
        """Find the ids of nodes with a curve.

        Nodes with the scale of another node are among them.
        """
        animated_ids = {
            keep_alive(prop.element).element_id
            for layer in keep_all_alive(animation.layers)
            for prop in keep_all_alive(layer.anim_props)
        }
        for node in self.nodes:
            parent, scale_node = keep_alive(node.parent), keep_alive(node.inherit_scale_node)
            has_helper = parent is not None and keep_alive(parent.scale_helper) is not None
            if node.is_scale_helper or has_helper or scale_node is not None:
                animated_ids.add(node.element_id)
        return animated_ids | {spheric.node.element_id for spheric in self.spheric_order_nodes}

    def _sample_still_node(self, animation: Any, row: int, times: list[float]) -> array[float]:
        """Sample a node without curves. Its transform is the same at all times."""
        return self._sample_nodes(animation, [row], times[:1]) * len(times)

    def _sample_nodes(self, animation: Any, rows: list[int], times: list[float]) -> array[float]:
        values = array("d")
        for row in rows:
            transforms = map(self.evaluate_transform, repeat(animation), repeat(self.nodes[row]), times)
            values.extend(chain.from_iterable(chain.from_iterable(transforms)))  # a loop takes twice as long
        for spheric in self.spheric_order_nodes:
            if spheric.row in rows:
                first_index = rows.index(spheric.row) * len(times)
                for k, time in enumerate(times):
                    spheric.write_rotation(values, first_index + k, spheric.read_angles(time))
        return values


def _list_times_between_frames(frame_times: list[float]) -> tuple[list[float], list[float], list[float]]:
    """Return times just after each frame, before the next, and between. The last is the midpoint."""
    pairs = list(pairwise(frame_times))
    times_after = [a + (b - a) * _SLOPE_SAMPLE_OFFSET for a, b in pairs]
    times_before = [b - (b - a) * _SLOPE_SAMPLE_OFFSET for a, b in pairs]
    return times_after, times_before, [0.5 * (a + b) for a, b in pairs]


def _describe_limit(row: int, node: Any) -> dict[str, Any] | None:
    """Describe a node's rotation limits, if any is switched on."""
    properties = keep_alive(node.props)
    switches = [bool(properties.find_bool(name, False)) for name in _LIMIT_SWITCHES]
    if not any(switches):
        return None
    names = ("RotationMin", "RotationMax", "PreRotation", "PostRotation")
    low, high, pre_degrees, post_degrees = (_read_vector(properties, name) for name in names)
    return {
        "row": row,
        "is_limited": switches,
        "low": low,
        "high": high,
        "pre_rotation": _euler_to_quaternion(pre_degrees),
        "post_rotation": _euler_to_quaternion(post_degrees),
    }


def _read_vector(properties: Any, name: str) -> tuple[float, float, float]:
    found_property = keep_alive(properties.find_prop(name))
    return (0.0, 0.0, 0.0) if found_property is None else tuple(found_property.value_vec4)[:3]


class _SphericOrderNode:
    """A node of the rotation order SPHERIC. ufbx does not evaluate it. Its angles are read in the order XYZ."""

    def __init__(self, row: int, node: Any) -> None:
        self.row, self.node = row, node
        self.post_rotation = _euler_to_quaternion(_read_vector(keep_alive(node.props), "PostRotation"))
        self.rotation_curves: list[Any] = []

    def select_take(self, animation: Any) -> None:
        """Select the rotation curves of a take. The last layer with any wins."""
        properties = [
            keep_alive(layer.find_anim_prop(self.node, "Lcl Rotation")) for layer in keep_all_alive(animation.layers)
        ]
        self.rotation_curves = [keep_alive(prop.anim_value) for prop in properties if prop is not None]

    def read_angles(self, time: float) -> tuple[float, float, float]:
        """Return the angles [degrees] at a time of the selected take."""
        return tuple(self.rotation_curves[-1].evaluate_vec3(time) if self.rotation_curves else self.node.euler_rotation)

    def write_rotation(self, values: array[float], transform_index: int, angles: tuple[float, float, float]) -> None:
        """Write the rotation pre . angles . post^-1 of a transform, which holds pre . post^-1."""
        start = _TRANSFORM_SIZE * transform_index + _ROTATION_OFFSET
        pre_rotation = _multiply_quaternions(tuple(values[start : start + 4]), self.post_rotation)
        x, y, z, w = self.post_rotation
        values[start : start + 4] = array(
            "d",
            _multiply_quaternions(_multiply_quaternions(pre_rotation, _euler_to_quaternion(angles)), (-x, -y, -z, w)),
        )


def _euler_to_quaternion(degrees: Iterable[float]) -> tuple[float, float, float, float]:
    """Convert XYZ Euler angles [degrees] to a quaternion x y z w. The rotation is about x, then y, then z."""
    rotation = (0.0, 0.0, 0.0, 1.0)
    for axis, angle in enumerate(degrees):
        step = [0.0, 0.0, 0.0, math.cos(angle * _HALF_DEGREE_RAD)]
        step[axis] = math.sin(angle * _HALF_DEGREE_RAD)
        rotation = _multiply_quaternions((step[0], step[1], step[2], step[3]), rotation)
    return rotation


def _multiply_quaternions(a: tuple[float, ...], b: tuple[float, ...]) -> tuple[float, float, float, float]:
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
    run_worker(read_fbx, "ufbx")
