"""USD worker process: usd-core opens the stage and numbers are written.

Before a stage is composed, every layer it would load is checked. A layer outside of the file's folder and of the
permitted folder is refused without opening it. Matrices are 16 numbers for row vectors, as in USD.
"""

from __future__ import annotations

import os
import re
import sys
from array import array
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from poise.io.permitted_folders import PermittedFolders
from poise.io.subprocess_worker import UnreadableFileError, run_worker

_MAX_LAYERS = 1000  # most layers of a stage
_MAX_NUMBERS = 20_000_000  # most numbers of animation in a reply
_MAX_MESSAGE_LENGTH, _MAX_PLACE_LENGTH = 200, 30  # most characters of a message of USD and of its place in the file
_MESSAGE_PATTERNS = (  # patterns of source names in USD's messages, and their replacements
    (r" matching pxrInternal.*?(?= at '|$)", ""), (r" in <[^>]*> ?'?$", ""), (r"pxrInternal\w*::", ""),
    (r",? while reading @.*?@", ""), (r"Corrupt asset <[^>]*>: ", "corrupt: "), (r"<[^>\[]*\[([^]]*)\]>", r"\1"),
)  # fmt: skip
_JOINT_KINDS = {
    "PhysicsRevoluteJoint": "revolute", "PhysicsPrismaticJoint": "prismatic", "PhysicsFixedJoint": "fixed",
    "PhysicsSphericalJoint": "spherical", "PhysicsJoint": "free",
}  # fmt: skip
_CHANNELS = ("translations", "rotations", "scales")


def read_usd(_: bytes) -> tuple[dict[str, Any], list[array[float]]]:
    """Read skeletons, animations and joints as JSON and blocks of numbers."""
    os.environ["PXR_WORK_THREAD_LIMIT"] = "1"
    sdf, tf, usd = (import_pxr(name) for name in ("Sdf", "Tf", "Usd"))
    # Undecodable bytes of a path, as Python represents them.
    if any("\udc80" <= letter <= "\udcff" for letter in sys.argv[3]):
        raise UnreadableFileError("usd-core opens no file with a path that is not UTF-8: rename it")
    try:
        layer = sdf.Layer.FindOrOpen(sys.argv[3])
        if layer is None:
            raise UnreadableFileError("usd-core cannot read it")
        missing_assets = _check_layers(layer, sdf)
        stage = usd.Stage.Open(layer)
    except tf.ErrorException as error:
        raise UnreadableFileError(f"usd-core cannot read it: {_format_first_error(error)}") from error
    try:
        return _StageReport(stage, missing_assets).build()
    except (TypeError, ValueError, AttributeError) as error:  # such as a list of joints of another type than tokens
        raise UnreadableFileError(
            "a property of a skeleton, an animation or a joint has another type than USD gives it"
        ) from error


def import_pxr(name: str) -> Any:
    """Import a module of usd-core. It is an extra without types everywhere; the parent process has checked for it."""
    return import_module(f"pxr.{name}")


def _format_first_error(error: Exception) -> str:
    """Format the first error of USD without names of its sources. Lines and columns are the file's.

    The text is `Error in 'FUNCTION' at line N in file SOURCE : 'WORDS' Error in ...`. Messages of its parser begin with
    the file's path and `:LINE:COLUMN: `.
    """
    message = " ".join(str(error).split()).split(" : '", 1)[-1].split("' Error in '", 1)[0]
    message = re.sub(r"^\S.*?:(\d+):(\d+): ", r"line \1, column \2: ", message.split("--", 1)[-1].strip())
    for pattern, replacement in _MESSAGE_PATTERNS:
        message = re.sub(pattern, replacement, message)
    message, separator, file_place = message.strip(" '").partition(" at '")
    if message.endswith(" at"):
        message = f"{message} the end of the file"
    return (
        f"{message}{f' at {file_place[:_MAX_PLACE_LENGTH]!r}' if separator else ''}"[:_MAX_MESSAGE_LENGTH]
        or "unknown error"
    )


def _check_layers(root_layer: Any, sdf: Any) -> list[str]:
    """Refuse references outside the permitted folders; return the missing ones."""
    permitted_folders = PermittedFolders.from_path(Path(root_layer.realPath), *map(Path, sys.argv[4:]))
    missing_assets: list[str] = []
    pending_layers, known_layers = [root_layer], {root_layer.identifier}
    while pending_layers:
        layer = pending_layers.pop()
        _refuse_clips(layer)
        for asset in layer.GetCompositionAssetDependencies():
            if not asset:
                continue  # a prim of this layer
            layer_path = layer.ComputeAbsolutePath(asset)
            layer_file = Path(layer_path.split("[", 1)[0]).resolve()
            if not permitted_folders.contains(layer_file):
                raise UnreadableFileError(
                    f"its reference {permitted_folders.format_refusal(repr(asset[:_MAX_MESSAGE_LENGTH]))}"
                )
            if layer_path in known_layers:
                continue
            known_layers.add(layer_path)
            if len(known_layers) > _MAX_LAYERS:
                raise UnreadableFileError(f"it refers to more than {_MAX_LAYERS:,} layers")
            sublayer = sdf.Layer.FindOrOpen(layer_path) if layer_file.is_file() else None
            if sublayer is None:
                missing_assets.append(asset)
            else:
                pending_layers.append(sublayer)
    return sorted(missing_assets)


def _refuse_clips(layer: Any) -> None:
    """Refuse value clips. They open files when values are read, too late to check these."""
    clip_paths: list[str] = []

    def visit(path: Any) -> None:
        if _has_clips(layer, path):
            clip_paths.append(str(path))

    layer.Traverse("/", visit)
    if clip_paths:
        raise UnreadableFileError(f"{clip_paths[0]} has value clips, which are not read; flatten the stage first")


def _has_clips(layer: Any, path: Any) -> bool:
    prim = layer.GetPrimAtPath(path) if path.IsPrimPath() else None
    return prim is not None and prim.HasInfo("clips")


class _StageReport:
    """Report on a stage."""

    def __init__(self, stage: Any, missing_assets: list[str]) -> None:
        self.stage, self.missing_assets = stage, missing_assets
        self.prims = list(stage.Traverse(import_pxr("Usd").TraverseInstanceProxies()))
        self.usd_geom, self.usd_skel = import_pxr("UsdGeom"), import_pxr("UsdSkel")
        self.transform_cache = self.usd_geom.XformCache()
        self.blocks: list[array[float]] = []
        self.number_count = 0
        self.mistyped: list[str] = []  # attributes of another type than USD defines

    def build(self) -> tuple[dict[str, Any], list[array[float]]]:
        """Build the JSON header and the blocks of numbers."""
        prims = self.prims
        header: dict[str, Any] = {
            "metres_per_unit": self.usd_geom.GetStageMetersPerUnit(self.stage),
            "up": str(self.usd_geom.GetStageUpAxis(self.stage)).lower(),
            "time_codes_per_second": self.stage.GetTimeCodesPerSecond(),
            "prim_count": len(prims),
            "missing_layers": self.missing_assets,
            "skeletons": [self._describe_skeleton(prim) for prim in prims if prim.IsA(self.usd_skel.Skeleton)],
            "animations": [self._describe_animation(prim) for prim in prims if prim.IsA(self.usd_skel.Animation)],
            "joints": [self._describe_joint(prim) for prim in prims if prim.GetTypeName() in _JOINT_KINDS],
        }
        header["mistyped_attributes"] = self.mistyped
        header["unsupported_joint_types"] = sorted(
            {
                str(p.GetTypeName())
                for p in prims
                if "Joint" in str(p.GetTypeName()) and p.GetTypeName() not in _JOINT_KINDS
            }
        )
        bodies = {path for joint in header["joints"] for path in joint["bodies"] if path}
        prim_by_path = {path: self.stage.GetPrimAtPath(path) for path in sorted(bodies)}
        header["bodies"] = {path: self._read_world_matrix(prim) for path, prim in prim_by_path.items()}
        header["dynamic_bodies"] = [path for path, prim in prim_by_path.items() if self._is_dynamic(prim)]
        return header, self.blocks

    def _add_block(self, values: Iterator[float] | list[float]) -> int:
        numbers = array("d", values)
        self.number_count += len(numbers)
        if self.number_count > _MAX_NUMBERS:
            raise UnreadableFileError(
                f"it has more than {_MAX_NUMBERS:,} numbers of animation; cut it into several files"
            )
        self.blocks.append(numbers)
        return len(self.blocks) - 1

    def _read_world_matrix(self, prim: Any) -> list[float]:
        """Return the world matrix of a prim. The identity for a missing one."""
        if not prim or not prim.IsA(self.usd_geom.Xformable):
            return [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
        matrix: Any = self.transform_cache.GetLocalToWorldTransform(prim)
        return [value for row in matrix for value in row]

    def _is_dynamic(self, prim: Any) -> bool:
        """Return whether a body is dynamic in simulation. It is an enabled rigid body without kinematic animation."""
        rigid_body_api = import_pxr("UsdPhysics").RigidBodyAPI
        if not prim or not prim.HasAPI(rigid_body_api):
            return False
        body = rigid_body_api(prim)
        return bool(body.GetRigidBodyEnabledAttr().Get()) and not body.GetKinematicEnabledAttr().Get()

    def _describe_skeleton(self, prim: Any) -> dict[str, Any]:
        skeleton = self.usd_skel.Skeleton(prim)
        joints = [str(joint) for joint in skeleton.GetJointsAttr().Get() or ()]
        animation_prim = self.usd_skel.BindingAPI(prim).GetInheritedAnimationSource()
        return {
            "path": str(prim.GetPath()),
            "joints": joints,
            "rest_block": self._add_block(_flatten_matrices(skeleton.GetRestTransformsAttr().Get())),
            "bind_block": self._add_block(_flatten_matrices(skeleton.GetBindTransformsAttr().Get())),
            "world_matrix": self._read_world_matrix(prim),
            "is_animated": self.usd_geom.Xformable(prim).TransformMightBeTimeVarying(),
            "animation_path": str(animation_prim.GetPath()) if animation_prim else "",
        }

    def _describe_animation(self, prim: Any) -> dict[str, Any]:
        """Describe an animation: joints, block of times, blocks of three channels.

        Times are in time codes. A missing channel is None.
        """
        animation = self.usd_skel.Animation(prim)
        attributes = [getattr(animation, f"Get{name.capitalize()}Attr")() for name in _CHANNELS]
        sample_times = sorted({time for attribute in attributes for time in attribute.GetTimeSamples()})
        entry: dict[str, Any] = {"path": str(prim.GetPath()), "time_block": self._add_block(sample_times or [0.0])}
        entry["joints"] = [str(joint) for joint in animation.GetJointsAttr().Get() or ()]
        for name, attribute in zip(_CHANNELS, attributes, strict=True):
            values = [attribute.Get(time) if sample_times else attribute.Get() for time in sample_times or [0.0]]
            entry[name] = (
                None if any(value is None for value in values) else self._add_block(_flatten_values(values, name))
            )
        return entry

    def _describe_joint(self, prim: Any) -> dict[str, Any]:
        attributes = _JointAttributes(prim, self.mistyped)
        bodies = [[str(p) for p in prim.GetRelationship(f"physics:body{k}").GetTargets()] for k in (0, 1)]
        return {
            "path": str(prim.GetPath()),
            "kind": _JOINT_KINDS[str(prim.GetTypeName())],
            "bodies": [targets[0] if targets else "" for targets in bodies],
            "frame_positions": [attributes.read_position(f"physics:localPos{k}") for k in (0, 1)],
            "frame_rotations": [attributes.read_quaternion(f"physics:localRot{k}") for k in (0, 1)],
            "axis": attributes.read_word("physics:axis", "X"),
            "limits": {
                name.removeprefix("limit:").removesuffix(":physics:low"): [
                    attributes.read_number(name, 0.0), attributes.read_number(name.replace(":low", ":high"), 0.0)]
                for name in map(str, prim.GetPropertyNames()) if name.startswith("limit:") and name.endswith(":low")
            },
            "lower_limit": attributes.read_number("physics:lowerLimit", float("-inf")),
            "upper_limit": attributes.read_number("physics:upperLimit", float("inf")),
            "is_outside_articulation": attributes.read_flag("physics:excludeFromArticulation", default=False),
            "is_enabled": attributes.read_flag("physics:jointEnabled", default=True),
            "cone_angles": [attributes.read_number(f"physics:coneAngle{k}Limit", -1.0) for k in (0, 1)],
        }  # fmt: skip


class _JointAttributes:
    """Attributes of a joint as plain numbers and words. A file may give them any type.

    A value of the wrong type counts as absent and is listed in `mistyped`. In the frames of a joint it is refused.
    """

    def __init__(self, prim: Any, mistyped: list[str]) -> None:
        self.prim, self.mistyped = prim, mistyped

    def _read_value(self, name: str) -> Any:
        attribute = self.prim.GetAttribute(name)
        return attribute.Get() if attribute else None

    def _read_typed(self, name: str, *types: type) -> Any:
        value = self._read_value(name)
        if value is None or isinstance(value, types):
            return value
        self.mistyped.append(self._format_attribute(name, value))
        return None

    def _format_attribute(self, name: str, value: Any) -> str:
        return f"{name} of {self.prim.GetPath()} ({type(value).__name__})"

    def read_number(self, name: str, default: float) -> float:
        """Read a number of any kind."""
        value = self._read_typed(name, int, float)
        return default if value is None else float(value)

    def read_flag(self, name: str, *, default: bool) -> bool:
        """Read a number as true unless it is zero."""
        value = self._read_typed(name, int, float)
        return default if value is None else bool(value)

    def read_word(self, name: str, default: str) -> str:
        """Read a token or text."""
        value = self._read_typed(name, str)
        return default if value is None else str(value)

    def read_position(self, name: str) -> list[float]:
        """Read three numbers; zeros where the attribute is absent."""
        value = self._read_value(name)
        if value is None:
            return [0.0, 0.0, 0.0]
        if not isinstance(value, tuple(getattr(import_pxr("Gf"), f"Vec3{letter}") for letter in "dfhi")):
            raise UnreadableFileError(f"{self._format_attribute(name, value)} is not a position of three numbers")
        return [float(coordinate) for coordinate in value]

    def read_quaternion(self, name: str) -> list[float]:
        """Read a quaternion as w x y z.

        The identity where the attribute is absent.
        """
        value = self._read_value(name)
        if value is not None and not isinstance(
            value, tuple(getattr(import_pxr("Gf"), f"Quat{letter}") for letter in "dfh")
        ):
            raise UnreadableFileError(f"{self._format_attribute(name, value)} is not a quaternion")
        return _to_wxyz(value)


def _flatten_matrices(matrices: Any) -> list[float]:
    return [value for matrix in matrices or () for row in matrix for value in row]


def _flatten_values(values: list[Any], name: str) -> Iterator[float]:
    for sample in values:
        for value in sample:
            yield from _to_wxyz(value) if name == "rotations" else value


def _to_wxyz(quaternion: Any) -> list[float]:
    return [1.0, 0.0, 0.0, 0.0] if quaternion is None else [quaternion.GetReal(), *quaternion.GetImaginary()]


if __name__ == "__main__":
    run_worker(read_usd)
