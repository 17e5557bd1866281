"""URDF data: links and joints as written, and the source file."""

from __future__ import annotations

from dataclasses import dataclass, field

from poise.io.xml_files import Attributes as Attributes
from poise.maths.arrays import Floats, Ints
from poise.model.limits import Limit


@dataclass
class JointElement:
    """<joint> element as written.

    A missing child element is None; `limit_byte` is where <limit> begins in the bytes.
    """

    name: str
    type: str
    line: int
    parent: str = ""
    child: str = ""
    origin: Attributes | None = None
    axis: Attributes | None = None
    limit: Attributes | None = None
    mimic: Attributes | None = None
    safety_controller: Attributes | None = None
    limit_at: int = -1

    @property
    def has_value(self) -> bool:
        """Return whether the joint has a single value to mimic."""
        return self.type in ("revolute", "continuous", "prismatic")


@dataclass
class RobotElement:
    """<robot> element: links, joints in file order, inertials. Links have the file names of their visual meshes.

    notes  content ignored while reading, a sentence each
    xacro  ignored xacro elements, with their lines
    """

    name: str = ""
    links: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    joints: dict[str, JointElement] = field(default_factory=dict[str, JointElement])
    inertials: dict[str, dict[str, Attributes]] = field(default_factory=dict[str, dict[str, Attributes]])
    notes: list[str] = field(default_factory=list[str])
    xacro: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])


@dataclass(frozen=True, eq=False)
class UrdfDocument:
    """URDF file and the skeleton rows made from it. Writing compares them to find changes.

    meshes      per link the file names of its visual meshes, as written
    limit_byte  per row the byte of its <limit> element; -1 without a limit to change
    inertials   per row's name, of links with mass: the mass [kg] and its centre in the row's frame [m]
    """

    data: bytes
    robot: str
    meshes: dict[str, tuple[str, ...]]
    names: tuple[str, ...]
    kinds: Ints
    A: Floats
    limits: tuple[Limit | None, ...]
    limit_at: tuple[int, ...]
    inertials: dict[str, tuple[float, tuple[float, float, float]]] = field(
        default_factory=dict[str, tuple[float, tuple[float, float, float]]]
    )
