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

from poise.io.child.answer import Refused, main
from poise.io.permitted import PermittedFolders

_MOST_LAYERS = 1000  # most layers of a stage
_MOST_NUMBERS = 20_000_000  # most numbers of animation in a reply
_LONGEST_SAID, _LONGEST_PLACE = 200, 30  # most characters of a message of USD and of its place in the file
_SOURCES = (  # patterns of source names in USD's messages, and their replacements
    (r" matching pxrInternal.*?(?= at '|$)", ""), (r" in <[^>]*> ?'?$", ""), (r"pxrInternal\w*::", ""),
    (r",? while reading @.*?@", ""), (r"Corrupt asset <[^>]*>: ", "corrupt: "), (r"<[^>\[]*\[([^]]*)\]>", r"\1"),
)  # fmt: skip
_KINDS = {
    "PhysicsRevoluteJoint": "revolute", "PhysicsPrismaticJoint": "prismatic", "PhysicsFixedJoint": "fixed",
    "PhysicsSphericalJoint": "spherical", "PhysicsJoint": "free",
}  # fmt: skip
_CHANNELS = ("translations", "rotations", "scales")


def work(_: bytes) -> tuple[dict[str, Any], list[array[float]]]:
    """Read skeletons, animations and joints as JSON and blocks of numbers."""
    os.environ["PXR_WORK_THREAD_LIMIT"] = "1"
    sdf, tf, usd = (pxr(name) for name in ("Sdf", "Tf", "Usd"))
    # Undecodable bytes of a path, as Python represents them.
    if any("\udc80" <= letter <= "\udcff" for letter in sys.argv[3]):
        raise Refused("usd-core opens no file with a path that is not UTF-8: rename it")
    try:
        layer = sdf.Layer.FindOrOpen(sys.argv[3])
        if layer is None:
            raise Refused("usd-core cannot read it")
        missing = _check_layers(layer, sdf)
        stage = usd.Stage.Open(layer)
    except tf.ErrorException as error:
        raise Refused(f"usd-core cannot read it: {_first(error)}") from error
    try:
        return _Stage(stage, missing).told()
    except (TypeError, ValueError, AttributeError) as error:  # such as a list of joints of another type than tokens
        raise Refused("a property of a skeleton, an animation or a joint has another type than USD gives it") from error


def pxr(name: str) -> Any:
    """Import a module of usd-core. It is an extra without types everywhere; the parent process has checked for it."""
    return import_module(f"pxr.{name}")


def _first(error: Exception) -> str:
    """Format the first error of USD without names of its sources. Lines and columns are the file's.

    The text is `Error in 'FUNCTION' at line N in file SOURCE : 'WORDS' Error in ...`. Messages of its parser begin with
    the file's path and `:LINE:COLUMN: `.
    """
    words = " ".join(str(error).split()).split(" : '", 1)[-1].split("' Error in '", 1)[0]
    words = re.sub(r"^\S.*?:(\d+):(\d+): ", r"line \1, column \2: ", words.split("--", 1)[-1].strip())
    for pattern, plain in _SOURCES:
        words = re.sub(pattern, plain, words)
    words, at, place = words.strip(" '").partition(" at '")
    if words.endswith(" at"):
        words = f"{words} the end of the file"
    return f"{words}{f' at {place[:_LONGEST_PLACE]!r}' if at else ''}"[:_LONGEST_SAID] or "unknown error"


def _check_layers(first: Any, sdf: Any) -> list[str]:
    """Refuse references outside the permitted folders; return the missing ones."""
    permitted = PermittedFolders.of(Path(first.realPath), *map(Path, sys.argv[4:]))
    missing: list[str] = []
    waiting, seen = [first], {first.identifier}
    while waiting:
        layer = waiting.pop()
        _refuse_clips(layer)
        for asset in layer.GetCompositionAssetDependencies():
            if not asset:
                continue  # a prim of this layer
            place = layer.ComputeAbsolutePath(asset)
            outer = Path(place.split("[", 1)[0]).resolve()
            if not permitted.hold(outer):
                raise Refused(f"its reference {permitted.refusal(repr(asset[:_LONGEST_SAID]))}")
            if place in seen:
                continue
            seen.add(place)
            if len(seen) > _MOST_LAYERS:
                raise Refused(f"it refers to more than {_MOST_LAYERS:,} layers")
            below = sdf.Layer.FindOrOpen(place) if outer.is_file() else None
            if below is None:
                missing.append(asset)
            else:
                waiting.append(below)
    return sorted(missing)


def _refuse_clips(layer: Any) -> None:
    """Refuse value clips. They open files when values are read, too late to check these."""
    found: list[str] = []

    def visit(path: Any) -> None:
        if _has_clips(layer, path):
            found.append(str(path))

    layer.Traverse("/", visit)
    if found:
        raise Refused(f"{found[0]} has value clips, which are not read; flatten the stage first")


def _has_clips(layer: Any, path: Any) -> bool:
    prim = layer.GetPrimAtPath(path) if path.IsPrimPath() else None
    return prim is not None and prim.HasInfo("clips")


class _Stage:
    """Report on a stage."""

    def __init__(self, stage: Any, missing: list[str]) -> None:
        self.stage, self.missing = stage, missing
        self.prims = list(stage.Traverse(pxr("Usd").TraverseInstanceProxies()))
        self.geom, self.skel = pxr("UsdGeom"), pxr("UsdSkel")
        self.places = self.geom.XformCache()
        self.blocks: list[array[float]] = []
        self.count = 0
        self.odd: list[str] = []  # attributes of another type than USD defines

    def told(self) -> tuple[dict[str, Any], list[array[float]]]:
        """Build the JSON header and the blocks of numbers."""
        prims = self.prims
        header: dict[str, Any] = {
            "unit": self.geom.GetStageMetersPerUnit(self.stage),
            "up": str(self.geom.GetStageUpAxis(self.stage)).lower(),
            "rate": self.stage.GetTimeCodesPerSecond(),
            "prims": len(prims),
            "missing": self.missing,
            "skeletons": [self._skeleton(prim) for prim in prims if prim.IsA(self.skel.Skeleton)],
            "animations": [self._animation(prim) for prim in prims if prim.IsA(self.skel.Animation)],
            "joints": [self._joint(prim) for prim in prims if prim.GetTypeName() in _KINDS],
        }
        header["odd"] = self.odd
        header["others"] = sorted(
            {str(p.GetTypeName()) for p in prims if "Joint" in str(p.GetTypeName()) and p.GetTypeName() not in _KINDS}
        )
        bodies = {path for joint in header["joints"] for path in joint["bodies"] if path}
        prims = {path: self.stage.GetPrimAtPath(path) for path in sorted(bodies)}
        header["bodies"] = {path: self._place(prim) for path, prim in prims.items()}
        header["floating"] = [path for path, prim in prims.items() if self._floats(prim)]
        return header, self.blocks

    def _block(self, values: Iterator[float] | list[float]) -> int:
        numbers = array("d", values)
        self.count += len(numbers)
        if self.count > _MOST_NUMBERS:
            raise Refused(f"it has more than {_MOST_NUMBERS:,} numbers of animation; cut it into several files")
        self.blocks.append(numbers)
        return len(self.blocks) - 1

    def _place(self, prim: Any) -> list[float]:
        """Return the world matrix of a prim. The identity for a missing one."""
        if not prim or not prim.IsA(self.geom.Xformable):
            return [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
        matrix: Any = self.places.GetLocalToWorldTransform(prim)
        return [value for row in matrix for value in row]

    def _floats(self, prim: Any) -> bool:
        """Return whether a body is dynamic in simulation. It is an enabled rigid body without kinematic animation."""
        physics = pxr("UsdPhysics").RigidBodyAPI
        if not prim or not prim.HasAPI(physics):
            return False
        body = physics(prim)
        return bool(body.GetRigidBodyEnabledAttr().Get()) and not body.GetKinematicEnabledAttr().Get()

    def _skeleton(self, prim: Any) -> dict[str, Any]:
        skeleton = self.skel.Skeleton(prim)
        joints = [str(joint) for joint in skeleton.GetJointsAttr().Get() or ()]
        source = self.skel.BindingAPI(prim).GetInheritedAnimationSource()
        return {
            "path": str(prim.GetPath()),
            "joints": joints,
            "rest": self._block(_matrices(skeleton.GetRestTransformsAttr().Get())),
            "bind": self._block(_matrices(skeleton.GetBindTransformsAttr().Get())),
            "place": self._place(prim),
            "moves": self.geom.Xformable(prim).TransformMightBeTimeVarying(),
            "animation": str(source.GetPath()) if source else "",
        }

    def _animation(self, prim: Any) -> dict[str, Any]:
        """Describe an animation: joints, times [time codes], values of three channels. None for a missing channel."""
        animation = self.skel.Animation(prim)
        attributes = [getattr(animation, f"Get{name.capitalize()}Attr")() for name in _CHANNELS]
        samples = sorted({time for attribute in attributes for time in attribute.GetTimeSamples()})
        told: dict[str, Any] = {"path": str(prim.GetPath()), "times": self._block(samples or [0.0])}
        told["joints"] = [str(joint) for joint in animation.GetJointsAttr().Get() or ()]
        for name, attribute in zip(_CHANNELS, attributes, strict=True):
            values = [attribute.Get(time) if samples else attribute.Get() for time in samples or [0.0]]
            told[name] = None if any(value is None for value in values) else self._block(_flat(values, name))
        return told

    def _joint(self, prim: Any) -> dict[str, Any]:
        given = _Attributes(prim, self.odd)
        bodies = [[str(p) for p in prim.GetRelationship(f"physics:body{k}").GetTargets()] for k in (0, 1)]
        return {
            "path": str(prim.GetPath()),
            "kind": _KINDS[str(prim.GetTypeName())],
            "bodies": [targets[0] if targets else "" for targets in bodies],
            "places": [given.place(f"physics:localPos{k}") for k in (0, 1)],
            "turns": [given.turn(f"physics:localRot{k}") for k in (0, 1)],
            "axis": given.word("physics:axis", "X"),
            "limits": {
                name.removeprefix("limit:").removesuffix(":physics:low"): [
                    given.number(name, 0.0), given.number(name.replace(":low", ":high"), 0.0)]
                for name in map(str, prim.GetPropertyNames()) if name.startswith("limit:") and name.endswith(":low")
            },
            "low": given.number("physics:lowerLimit", float("-inf")),
            "high": given.number("physics:upperLimit", float("inf")),
            "apart": given.flag("physics:excludeFromArticulation", otherwise=False),
            "on": given.flag("physics:jointEnabled", otherwise=True),
            "cone": [given.number(f"physics:coneAngle{k}Limit", -1.0) for k in (0, 1)],
        }  # fmt: skip


class _Attributes:
    """Attributes of a joint as plain numbers and words. A file may give them any type.

    A value of the wrong type counts as absent and is listed in `mistyped`. In the frames of a joint it is refused.
    """

    def __init__(self, prim: Any, odd: list[str]) -> None:
        self.prim, self.odd = prim, odd

    def _value(self, name: str) -> Any:
        attribute = self.prim.GetAttribute(name)
        return attribute.Get() if attribute else None

    def _plain(self, name: str, *kinds: type) -> Any:
        value = self._value(name)
        if value is None or isinstance(value, kinds):
            return value
        self.odd.append(self._shown(name, value))
        return None

    def _shown(self, name: str, value: Any) -> str:
        return f"{name} of {self.prim.GetPath()} ({type(value).__name__})"

    def number(self, name: str, otherwise: float) -> float:
        """Read a number of any kind."""
        value = self._plain(name, int, float)
        return otherwise if value is None else float(value)

    def flag(self, name: str, *, otherwise: bool) -> bool:
        """Read a number as true unless it is zero."""
        value = self._plain(name, int, float)
        return otherwise if value is None else bool(value)

    def word(self, name: str, otherwise: str) -> str:
        """Read a token or text."""
        value = self._plain(name, str)
        return otherwise if value is None else str(value)

    def place(self, name: str) -> list[float]:
        """Read three numbers; zeros where the attribute is absent."""
        value = self._value(name)
        if value is None:
            return [0.0, 0.0, 0.0]
        if not isinstance(value, tuple(getattr(pxr("Gf"), f"Vec3{letter}") for letter in "dfhi")):
            raise Refused(f"{self._shown(name, value)} is not a position of three numbers")
        return [float(part) for part in value]

    def turn(self, name: str) -> list[float]:
        """Read a quaternion as w x y z.

        The identity where the attribute is absent.
        """
        value = self._value(name)
        if value is not None and not isinstance(value, tuple(getattr(pxr("Gf"), f"Quat{letter}") for letter in "dfh")):
            raise Refused(f"{self._shown(name, value)} is not a quaternion")
        return _wxyz(value)


def _matrices(given: Any) -> list[float]:
    return [value for matrix in given or () for row in matrix for value in row]


def _flat(values: list[Any], name: str) -> Iterator[float]:
    for at_once in values:
        for value in at_once:
            yield from _wxyz(value) if name == "rotations" else value


def _wxyz(turn: Any) -> list[float]:
    return [1.0, 0.0, 0.0, 0.0] if turn is None else [turn.GetReal(), *turn.GetImaginary()]


if __name__ == "__main__":
    main(work)
