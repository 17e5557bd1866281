"""The robots: serial chains as stripped URDF files with a JSON beside each that names base, tip, joints and limits."""

from __future__ import annotations

import json
import math
import os
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import harness
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
ARMS = {  # base link, tip link
    "panda": ("panda_link0", "panda_link8"),
    "ur5": ("base_link", "ee_link"),
    "iiwa14": ("base_link", "tool0"),
    "pr2": ("torso_lift_link", "r_wrist_roll_link"),
}
NOMINAL = ("iiwa14",)  # arms without the offsets below a millimetre, so that closed forms get their geometry
SMALL_OFFSET_M = 1e-3
G1_CHAINS = {  # cut out of the humanoid of the test data: base link, tip link
    "g1_arm": ("torso_link", "left_rubber_hand"),
    "g1_leg": ("pelvis", "left_ankle_roll_link"),
}
NAMES = (*ARMS, *G1_CHAINS)


@dataclass(frozen=True)
class Robot:
    """One serial chain. `lower` and `upper` (n,) are the joints' limits [rad], in the order of `joints`."""

    name: str
    base: str
    tip: str
    joints: tuple[str, ...]
    lower: Floats
    upper: Floats
    urdf: str

    @property
    def mid(self) -> Floats:
        """The middle of every joint's range (n,)."""
        return 0.5 * (self.lower + self.upper)


def store() -> Path:
    """Folder of everything this benchmark makes: environments, chains, targets, raw results."""
    folder = harness.cache_folder() / "robots"
    folder.mkdir(exist_ok=True)
    return folder


def arms_folder() -> Path:
    """Where the arms' URDF and JSON files are: POISE_PEER_URDFS, by default beside the test data."""
    data = Path(os.environ.get("POISE_DATA", harness.HERE.parent.parent / "shared" / "data"))
    return Path(os.environ.get("POISE_PEER_URDFS", data.parent / "reference" / "peers" / "urdf"))


def load(name: str) -> Robot:
    """Read a robot. Raises FileNotFoundError where its files are not here."""
    if name in G1_CHAINS:
        return read(name, store() / "urdf")
    if not (arms_folder() / f"{name}.json").is_file():
        source = (harness.data_folder() or Path("nowhere")) / "peers" / f"{name}.urdf"
        if source.is_file():
            cut(source, name, *ARMS[name], store() / "urdf", is_nominal=name in NOMINAL)
            return read(name, store() / "urdf")
    return read(name, arms_folder())


def read(name: str, folder: Path) -> Robot:
    """Read NAME.urdf and NAME.json."""
    spec = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    lower, upper = (np.array(spec[key], dtype=np.float64) for key in ("lower", "upper"))
    return Robot(name, spec["base"], spec["tip"], tuple(spec["joints"]), lower, upper, str(folder / f"{name}.urdf"))


def available(names: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """Names of the robots whose files are here, and a sentence for each that is not. Cuts the G1 where it can."""
    found, missing = [], []
    for name in names:
        try:
            if name in G1_CHAINS:
                _cut_g1(name)
            load(name)
            found.append(name)
        except OSError as error:
            missing.append(f"{name} left out: {error}; set POISE_PEER_URDFS and POISE_DATA.")
    return found, missing


def _cut_g1(name: str) -> None:
    folder = harness.data_folder()
    if folder is None:
        message = "the test data is not here"
        raise FileNotFoundError(message)
    base, tip = G1_CHAINS[name]
    cut(folder / "urdf" / "g1_29dof.urdf", name, base, tip, store() / "urdf")


def cut(source: Path, name: str, base: str, tip: str, folder: Path, *, is_nominal: bool = False) -> None:
    """Write the chain from `base` to `tip` of a URDF as NAME.urdf and NAME.json.

    Links lose their shapes and get a unit inertia: simulators refuse massless ones, KDL refuses any on the root.
    Continuous joints become revolute in -pi .. pi, so that every peer samples and clamps the same range. A nominal arm
    loses offsets below a millimetre.
    """
    joints = _path(ET.parse(source).getroot(), base, tip)  # noqa: S314 - our own test data
    robot = ET.Element("robot", name=name)
    ET.SubElement(robot, "link", name=base)
    for joint in joints:
        _add_link(robot, _link(joint, "child"))
    moving = [joint for joint in joints if joint.get("type") != "fixed"]
    limits = [_limits(joint) for joint in moving]
    for joint in joints:
        robot.append(_stripped(joint, is_nominal=is_nominal))
    folder.mkdir(parents=True, exist_ok=True)
    ET.indent(robot)
    ET.ElementTree(robot).write(folder / f"{name}.urdf", encoding="utf-8", xml_declaration=True)
    spec = {
        "name": name, "base": base, "tip": tip, "joints": [joint.get("name") for joint in moving],
        "lower": [low for low, _ in limits], "upper": [high for _, high in limits], "source": source.name,
    }  # fmt: skip
    (folder / f"{name}.json").write_text(json.dumps(spec, indent=1) + "\n", encoding="utf-8")


def _path(root: ET.Element, base: str, tip: str) -> list[ET.Element]:
    into = {_link(joint, "child"): joint for joint in root.findall("joint")}
    path: list[ET.Element] = []
    link = tip
    while link != base:
        path.insert(0, into[link])
        link = _link(path[0], "parent")
    return path


def _link(joint: ET.Element, end: str) -> str:
    return str(joint.find(end).get("link"))  # type: ignore[union-attr]


def _add_link(robot: ET.Element, name: str) -> None:
    inertial = ET.SubElement(ET.SubElement(robot, "link", name=name), "inertial")
    ET.SubElement(inertial, "mass", value="1")
    ET.SubElement(inertial, "inertia", ixx="0.01", iyy="0.01", izz="0.01", ixy="0", ixz="0", iyz="0")


def _limits(joint: ET.Element) -> tuple[float, float]:
    limit = joint.find("limit")
    if joint.get("type") == "continuous" or limit is None:
        return -math.pi, math.pi
    return float(limit.get("lower", 0)), float(limit.get("upper", 0))


def _stripped(joint: ET.Element, *, is_nominal: bool) -> ET.Element:
    kind = "fixed" if joint.get("type") == "fixed" else "revolute"
    out = ET.Element("joint", name=str(joint.get("name")), type=kind)
    origin = joint.find("origin")
    place = {} if origin is None else origin.attrib
    xyz = place.get("xyz", "0 0 0").split()
    if is_nominal:
        xyz = ["0" if abs(float(number)) < SMALL_OFFSET_M else number for number in xyz]
    ET.SubElement(out, "origin", xyz=" ".join(xyz), rpy=place.get("rpy", "0 0 0"))
    ET.SubElement(out, "parent", link=_link(joint, "parent"))
    ET.SubElement(out, "child", link=_link(joint, "child"))
    if kind == "revolute":
        axis = joint.find("axis")
        ET.SubElement(out, "axis", xyz="1 0 0" if axis is None else axis.get("xyz", "1 0 0"))
        low, high = _limits(joint)
        ET.SubElement(out, "limit", lower=repr(low), upper=repr(high), effort="100", velocity="3")
    return out
