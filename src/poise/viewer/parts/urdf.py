"""Visual shapes of a URDF robot as one GLB."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from poise.errors import FileError, listed
from poise.io.numbers import number
from poise.io.numbers import shown as quoted
from poise.io.urdf.document import Attributes, UrdfDocument
from poise.io.urdf.visuals import Visual, Visuals, parse_visuals
from poise.maths import euler, rotations
from poise.maths.arrays import Floats
from poise.model.pose import Pose
from poise.model.skeleton import Skeleton
from poise.viewer.parts import shapes
from poise.viewer.parts.glb import Colour, Part, Primitive, glb_of_parts
from poise.viewer.parts.gltf import MOST_TRIANGLES
from poise.viewer.parts.mesh_files import found, moved, read_mesh

_NAMED = 3  # meshes named in a note
_PLURAL = {"is": "are", "has": "have", "holds": "hold", "leads": "lead", "cannot": "cannot"}  # first words of reasons


class Robot(NamedTuple):
    """Visual shapes of a robot.

    glb    the GLB, or None without shapes
    nodes  per joint its node in the GLB, or None
    lost   per joint whether its shapes could not be shown; all joints without a GLB. A link without shapes is not lost
    notes  one sentence for each shape that cannot be shown
    """

    glb: bytes | None
    nodes: tuple[int | None, ...]
    lost: tuple[bool, ...]
    notes: tuple[str, ...]


def robot_glb(skeleton: Skeleton, path: Path, packages: Sequence[Path] = ()) -> Robot:
    """Build a GLB of a robot's visual shapes. Each shape is in the frame of its joint.

    Meshes of package:// are searched in the folders `packages` as well.
    """
    document = skeleton.source
    reader = _Shapes(path, packages)
    parts: list[Part] = []
    nodes: list[int | None] = [None] * len(skeleton)
    lost = [False] * len(skeleton)
    if isinstance(document, UrdfDocument):
        world = Pose(skeleton, skeleton.rest_q).world
        visuals = parse_visuals(path, document.data)
        for row, link in _links(skeleton, visuals):
            shown = visuals.links.get(link, [])
            surfaces = [s for visual in shown for s in reader.surfaces(visual, visuals.materials)]
            lost[row] = bool(shown) and not surfaces
            if surfaces:
                nodes[row] = len(parts)
                parts.append(Part(skeleton.names[row], surfaces, world.positions[row], world.rotations[row]))
    if not parts:
        return Robot(None, tuple(nodes), (True,) * len(skeleton), reader.notes())
    return Robot(glb_of_parts(parts), tuple(nodes), tuple(lost), reader.notes())


def _links(skeleton: Skeleton, visuals: Visuals) -> list[tuple[int, str]]:
    """List the joints with their links. The first is the root link, the others have their joint's name."""
    children = visuals.children
    below = [(row, children[name]) for row, name in enumerate(skeleton.names) if row and name in children]
    return [(0, str(skeleton.source_ids[0])), *below]


class _Shapes:
    """Builder of surfaces of visual elements. A file is read once."""

    def __init__(self, path: Path, packages: Sequence[Path]) -> None:
        self.path, self.packages = path, packages
        self.files: dict[Path, list[Primitive]] = {}
        self.failed: dict[str, str] = {}  # mesh name in the file -> reason against it
        self.triangles = 0

    def surfaces(self, visual: Visual, materials: dict[str, str]) -> list[Primitive]:
        """Build the surfaces of one element in the link's frame.

        Where it cannot be shown there are none, and a note.
        """
        try:
            pieces = self._shape(visual)
            transform = _transform(visual)
            colour = _colour(visual.rgba or materials.get(visual.material, ""))
        except FileError as error:
            self.failed[error.path] = error.reason
            return []
        except ValueError as error:
            self.failed[f"line {visual.line}: <visual>"] = str(error)
            return []
        self.triangles += sum(len(piece.faces) for piece in pieces)
        if self.triangles > MOST_TRIANGLES:
            self.failed[f"line {visual.line}: <visual>"] = f"the robot has more than {MOST_TRIANGLES:,} triangles"
            return []
        return [moved(piece, transform)._replace(colour=colour or piece.colour) for piece in pieces]

    def _shape(self, visual: Visual) -> list[Primitive]:
        given = visual.attributes
        if visual.shape == "mesh":
            scale = np.diag([*_numbers(given, "scale", 3, "1 1 1"), 1.0])
            return [moved(piece, scale) for piece in self._read(given.get("filename", ""))]
        makers: dict[str, Callable[[], Primitive]] = {
            "box": lambda: shapes.box(np.array(_numbers(given, "size", 3))),
            "cylinder": lambda: shapes.cylinder(*_numbers(given, "radius", 1), *_numbers(given, "length", 1)),
            "capsule": lambda: shapes.capsule(*_numbers(given, "radius", 1), *_numbers(given, "length", 1)),
            "sphere": lambda: shapes.sphere(*_numbers(given, "radius", 1)),
        }
        return [makers[visual.shape]()] if visual.shape in makers else []

    def _read(self, name: str) -> list[Primitive]:
        if name in self.failed:
            raise FileError(name, self.failed[name])
        target = found(self.path, name, self.packages)
        try:
            if target not in self.files:
                self.files[target] = read_mesh(target)
        except FileError as error:
            raise FileError(name, error.reason) from error
        return self.files[target]

    def notes(self) -> tuple[str, ...]:
        """Format one note per reason, with its meshes."""
        reasons: dict[str, list[str]] = {}
        for name, reason in self.failed.items():
            reasons.setdefault(reason, []).append(quoted(name.rpartition("/")[2]))
        return tuple(_sentence(names, reason) for reason, names in reasons.items())


def _sentence(names: list[str], reason: str) -> str:
    """Format a reason with the names of its meshes.

    Of many meshes only the first are named, so that the note does not cover the robot.
    """
    more = len(names) - _NAMED
    which = listed(names) if more <= 1 else f"{listed(names[:_NAMED])} and {more} more"
    verb, _, rest = reason.partition(" ")
    if verb not in _PLURAL:
        return f"{which}: {reason}"
    if len(names) > 1:
        verb, rest = _PLURAL[verb], rest.replace("; it was", "; they were")
    return f"{which} {verb} {rest}"


def _transform(visual: Visual) -> Floats:
    roll, pitch, yaw = _numbers(visual.origin, "rpy", 3, "0 0 0")
    transform = np.eye(4)
    transform[:3, :3] = rotations.as_matrix(euler.to_quaternion([yaw, pitch, roll], "ZYX"))
    transform[:3, 3] = _numbers(visual.origin, "xyz", 3, "0 0 0")
    return transform


def _colour(rgba: str) -> Colour | None:
    if not rgba.strip():
        return None
    red, green, blue, opacity = (min(max(value, 0.0), 1.0) for value in _numbers({"rgba": rgba}, "rgba", 4))
    return red, green, blue, opacity


def _numbers(attributes: Attributes, name: str, count: int, default: str = "") -> list[float]:
    """Parse `count` numbers of an attribute. Raise ValueError with the reason for anything else."""
    words = attributes.get(name, default).split()
    if len(words) != count:
        message = f"{name} needs {count} numbers, not {quoted(attributes.get(name, default))}"
        raise ValueError(message)
    return [number(word) for word in words]
