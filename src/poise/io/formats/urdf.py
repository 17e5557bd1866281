"""Read and write URDF, the robot description of ROS.

Every joint becomes a row of the skeleton with the same name; links are aliases of rows.

Row 0 is the root link, fixed. A joint's row has the frame of its child link, so `world["tool0"]` is that of the link.
Metres, radians, z up. Collision shapes, transmissions and plugins are ignored. An SRDF file beside it gives chains,
named poses and disabled collision pairs.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from poise.errors import FileError, InputError
from poise.io import urdf_joints
from poise.io.files import is_file, read_bytes, write_checked
from poise.io.inertials import Inertial
from poise.io.srdf import apply_srdf
from poise.io.urdf_xml import XACRO_MESSAGE, RobotElement, UrdfDocument, encode_urdf, parse_robot
from poise.maths import euler
from poise.model.joints import drop_blocking_ranges
from poise.model.pose import Pose
from poise.model.rig import Rig, Saveable
from poise.model.skeleton import Coupling, Kind, Skeleton

NAME = "URDF"
SUFFIXES = (".urdf",)


def read(path: Path) -> Rig:
    """Read a URDF file and its SRDF file, if any. The SRDF is `robot.srdf` beside `robot.urdf`.

    The rest pose is zero clamped to the limits. FileError for anything but one complete, finite tree of links; repairs
    are listed in `Rig.notes`.
    """
    rig, srdf_path = _read_data(path, read_bytes(path)), path.with_suffix(".srdf")
    return apply_srdf(rig, srdf_path) if is_file(srdf_path) else rig


def _read_data(path: Path, data: bytes) -> Rig:
    robot = parse_robot(path, data)
    try:
        builder = _SkeletonBuilder(path, robot)
        skeleton = builder.build_skeleton()
    except InputError as error:
        raise FileError(path, str(error)) from error
    except FileError as error:
        if robot.xacro_elements:  # xacro may create the missing part
            reason = f"{XACRO_MESSAGE}; as it is, it cannot be read: {error.reason}"
            raise FileError(path, reason, place=error.place or f"line {robot.xacro_elements[0].line}") from error
        raise
    document = UrdfDocument(
        data,
        robot.name,
        dict(robot.links),
        skeleton.names,
        skeleton.kinds,
        skeleton.A,
        skeleton.limits,
        tuple(row.limit_byte for row in builder.rows),
        builder.read_inertials(),
        path.absolute(),
    )
    object.__setattr__(skeleton, "source", document)  # not shared yet; a copy would lose its cached arrays
    return Rig(skeleton, Pose(skeleton, skeleton.rest_q), notes=tuple(builder.notes), path=path)


def write(content: Saveable, path: Path, source_skeleton: Skeleton) -> None:
    """Write the source URDF with changed limits. See `poise.io.urdf_xml`."""
    write_checked(path, encode_urdf(content, source_skeleton), _read_data)


class _SkeletonBuilder:
    """Builder of the skeleton from the joints of a robot, parents first."""

    def __init__(self, path: Path, robot: RobotElement) -> None:
        self.notes = robot.notes.copy()
        root = urdf_joints.find_root_link(path, robot)
        self.used_names = set(robot.joints)
        self.rows = [urdf_joints.JointRow(self._name_root(root), Kind.FIXED)]
        self.used_names.add(self.rows[0].name)
        self.parents = [-1]
        self.source_ids: list[object] = [root]
        self.aliases = {root: 0}
        self.row_by_joint: dict[str, int] = {}
        self.robot = robot
        mimics: dict[str, urdf_joints.Mimic] = {}
        for joint in urdf_joints.sort_joints(path, robot, root):
            reader = urdf_joints.JointReader(path, joint)
            self._append_rows(joint.name, self.aliases[joint.parent], reader.build_rows(self.used_names))
            self.aliases[joint.child] = self.row_by_joint[joint.name]
            mimic = reader.read_mimic()
            if mimic:
                mimics[joint.name] = mimic
            self.notes += reader.notes
        self.mimics = urdf_joints.resolve_mimics(path, robot, mimics, self.notes)
        self._note_hidden_links()

    def _name_root(self, link: str) -> str:
        name, suffix = link, 0
        while name in self.used_names:
            suffix += 1
            name = f"{link}_{suffix}"
        if name != link:
            self.notes.append(f"the root link {link!r} is called {name!r} here: a joint has its name")
        return name

    def _append_rows(self, joint_name: str, parent: int, rows: list[urdf_joints.JointRow]) -> None:
        for row in rows:
            self.rows.append(row)
            self.parents.append(parent)
            self.source_ids.append(joint_name)
            parent = len(self.rows) - 1
        self.row_by_joint[joint_name] = parent

    def _note_hidden_links(self) -> None:
        """Note links named like another joint. The name means the joint."""
        row_by_name = {row.name: i for i, row in enumerate(self.rows)}
        for link, row in self.aliases.items():
            if link in row_by_name and row_by_name[link] != row and row > 0:
                self.notes.append(
                    f"link {link!r} and a joint elsewhere have the same name; it means the joint, and the link "
                    f"is found under its own joint {self.rows[row].name!r}"
                )

    def read_inertials(self) -> dict[str, Inertial]:
        """Read the masses and centres of the links.

        They are keyed by row name; a note names each that cannot be read.
        """
        inertials: dict[str, Inertial] = {}
        for link, inertial_element in self.robot.inertials.items():
            inertial = urdf_joints.read_inertial(inertial_element)
            if inertial is None:
                self.notes.append(f"link {link!r}: its <inertial> has no finite mass and position, and is ignored")
            elif inertial.mass > 0.0 and link in self.aliases:
                inertials[self.rows[self.aliases[link]].name] = inertial
        return inertials

    def build_skeleton(self) -> Skeleton:
        """Build the skeleton. InputError for limits of coupled joints without a legal value."""
        couplings: list[Coupling | None] = [None] * len(self.rows)
        for name, mimic in self.mimics.items():
            couplings[self.row_by_joint[name]] = Coupling(self.row_by_joint[mimic.leader], mimic.ratio, mimic.offset)
        names, kinds = [row.name for row in self.rows], np.array([row.kind for row in self.rows])
        limits, notes = drop_blocking_ranges(names, kinds, [row.limit for row in self.rows], couplings)
        self.notes += notes
        return Skeleton.build(
            names,
            self.parents,
            kinds.tolist(),
            offsets=[row.offset for row in self.rows],
            rotations=euler.to_quaternion([row.rpy[::-1] for row in self.rows], "ZYX"),
            axes=[row.axis for row in self.rows],
            limits=limits,
            couplings=couplings,
            aliases={link: i for link, i in self.aliases.items() if self.rows[i].name != link},
            source_ids=self.source_ids,
            metres_per_unit=1.0,
            up="z",
            motors={row.name: row.motor for row in self.rows if row.motor is not None},
        )
