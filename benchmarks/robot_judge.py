"""Motions of a robot, judged by MuJoCo: soles, slides, self-contact, speeds, directions of limbs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

import numpy as np

try:
    import mujoco
except ImportError:
    mujoco: Any = None

MIN_DEPTH_M = 0.002  # of a self-contact that counts
EVERY = 2  # frames of which one is asked for contacts
G1_FILE = "g1_29dof_rev_1_0.urdf"
FEET = ("left_ankle_roll_joint", "right_ankle_roll_joint")
LIMB_ROLES = tuple(
    (f"{side}{first}", f"{side}{last}")
    for side in ("left", "right")
    for first, last in (("UpperLeg", "LowerLeg"), ("LowerLeg", "Foot"), ("UpperArm", "LowerArm"), ("LowerArm", "Hand"))
)
_JOINTS = {"UpperLeg": "hip_roll", "LowerLeg": "knee", "Foot": "ankle_roll", "UpperArm": "shoulder_roll",
           "LowerArm": "elbow", "Hand": "wrist_yaw"}  # fmt: skip
_JOINT_OF_ROLE = {f"{side}{role}": f"{side}_{joint}_joint" for side in ("left", "right")
                  for role, joint in _JOINTS.items()}  # fmt: skip
LIMBS = tuple((_JOINT_OF_ROLE[first], _JOINT_OF_ROLE[last]) for first, last in LIMB_ROLES)


class Motion(NamedTuple):
    """A motion of the robot.

    qpos         (F, nq) configurations in MuJoCo's order
    fps          frames a second
    heel, ball   (F, 2) where the left and the right foot of the source stand
    still        (F, 2) where ankle and toes of the source are slow
    directions   (F, 8, 3) of the source's limbs, in the order of LIMBS: x ahead, z up
    speeds       (nq - 7,) largest speeds of the robot's file [rad/s]
    """

    qpos: np.ndarray
    fps: float
    heel: np.ndarray
    ball: np.ndarray
    still: np.ndarray
    directions: np.ndarray
    speeds: np.ndarray


class Followed(NamedTuple):
    """Places of a motion, by MuJoCo's forward kinematics.

    ankles    (F, 2, 3) [m]
    soles     (F, 2) heights of the lowest points of both feet [m]
    limbs     (F, 8, 3) directions
    """

    ankles: np.ndarray
    soles: np.ndarray
    limbs: np.ndarray


def load_judge() -> tuple[Any, str]:
    """Load the G1 with its collision meshes in MuJoCo. Where that cannot be done, None and the reason."""
    folder = os.environ.get("POISE_G1")
    if folder is None or mujoco is None:
        return None, "the judge needs MuJoCo, and POISE_G1: g1_description of example-robot-data"
    path = next(Path(folder).glob(f"**/{G1_FILE}"), None)
    meshes = next(Path(folder).glob("**/meshes"), None)
    if path is None or meshes is None:
        return None, f"POISE_G1 is not g1_description of example-robot-data: {folder} lacks {G1_FILE} or meshes"
    text = path.read_text(encoding="utf-8")
    text = text.replace("package://example-robot-data/robots/g1_description/meshes/", "")
    options = f'<mujoco><compiler meshdir="{meshes}" discardvisual="true" balanceinertia="true"/></mujoco>'
    try:
        return mujoco.MjModel.from_xml_string(text.replace("</robot>", f"{options}</robot>")), ""
    except ValueError as error:
        return None, f"MuJoCo cannot load {path}: {' '.join(str(error).split())}"


def list_hinges(model: Any) -> list[str]:
    """List the names of the model's hinges, in the order of its configurations."""
    return [model.joint(index).name for index in range(model.njnt)]


def read_speeds(path: Path, hinges: Sequence[str]) -> np.ndarray:
    """Read the largest speeds [rad/s] of hinges from a URDF file."""
    joints = {joint.get("name"): joint.find("limit") for joint in ET.parse(path).getroot().iter("joint")}  # noqa: S314
    return np.array([float(limit.get("velocity", "inf")) if (limit := joints.get(name)) is not None else np.inf
                     for name in hinges])  # fmt: skip


def judge_motion(model: Any, motion: Motion) -> dict[str, float]:
    """Measure a motion. Lengths are in mm, slides in cm/s, angles in degrees, shares in percent."""
    followed = follow(model, motion)
    stands = motion.heel | motion.ball
    rates_of_ankles = np.linalg.norm(np.gradient(followed.ankles, 1.0 / motion.fps, axis=0)[..., :2], axis=-1)
    slides = [rates_of_ankles[_find_inner(frames)] for frames in (motion.heel & motion.ball, motion.still)]
    cosine = np.clip((followed.limbs * motion.directions).sum(axis=-1), -1.0, 1.0)
    angles = np.degrees(np.arccos(cosine))
    hinges = motion.qpos[:, 7:]
    rates = np.abs(np.diff(hinges, axis=0)) * motion.fps
    share, depth = measure_self_contact(model, motion.qpos)
    return {
        "slide p95 [cm/s]": 100.0 * _percentile(slides[0], 95.0),
        "while the source is slow": 100.0 * _percentile(slides[1], 95.0),
        "soles p1 [mm]": 1000.0 * _percentile(followed.soles[stands], 1.0),
        "soles p99 [mm]": 1000.0 * _percentile(followed.soles[stands], 99.0),
        "deepest [mm]": -1000.0 * float(followed.soles.min()),
        "self-contact [%]": 100.0 * share,
        "its depth [mm]": 1000.0 * depth,
        "fastest hinge of its limit": float((rates / motion.speeds).max()),
        "change of step p99.9 [rad]": _percentile(np.abs(np.diff(hinges, 2, axis=0)), 99.9),
        "directions p50": _percentile(angles, 50.0),
        "p95": _percentile(angles, 95.0),
    }


def _find_inner(frames: np.ndarray) -> np.ndarray:
    """Find the frames (F, 2) whose neighbours are marked too."""
    inner = frames.copy()
    inner[1:] &= frames[:-1]
    inner[:-1] &= frames[1:]
    return inner


def stand_on_floor(model: Any, motion: Motion) -> Motion:
    """Move a motion up or down as a whole, until half of its soles that lie flat are above the ground."""
    soles = follow(model, motion).soles[motion.heel & motion.ball]
    qpos = motion.qpos.copy()
    qpos[:, 2] -= np.median(soles) if soles.size else 0.0
    return motion._replace(qpos=qpos)


def follow(model: Any, motion: Motion) -> Followed:
    """Follow a motion by forward kinematics."""
    data, place = mujoco.MjData(model), lambda name: int(model.joint(name).bodyid[0])
    feet, limbs = [place(name) for name in FEET], np.array([[place(a), place(b)] for a, b in LIMBS])
    ankles, soles, bones = [], [], []
    free = motion.qpos.shape[1] - model.nq
    for q in motion.qpos:
        data.qpos[:] = q[free:]
        mujoco.mj_kinematics(model, data)
        base, turn = q[:3], _build_matrix(q[3:7])  # the URDF's base is fixed in the world
        places = base + data.xpos @ turn.T
        ankles.append(places[feet])
        soles.append([base[2] + _find_lowest(model, data, foot, turn[2]) for foot in feet])
        ways = places[limbs[:, 1]] - places[limbs[:, 0]]
        bones.append(ways / np.linalg.norm(ways, axis=1, keepdims=True))
    return Followed(np.array(ankles), np.array(soles), np.array(bones))


def measure_ankle_height(model: Any) -> float:
    """Measure the height [m] of the left ankle over its sole with all hinges at zero."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    foot = int(model.joint(FEET[0]).bodyid[0])
    return float(data.xpos[foot, 2] - _find_lowest(model, data, foot, np.array([0.0, 0.0, 1.0])))


def measure_self_contact(model: Any, qpos: np.ndarray) -> tuple[float, float]:
    """Measure the share of frames with parts deeper in each other than MIN_DEPTH_M, and the largest depth [m]."""
    depths = [max((depth for _, depth in found), default=0.0) for found in list_self_contacts(model, qpos)]
    return float(np.mean(np.array(depths) > 0.0)), max(depths)


def list_self_contacts(model: Any, qpos: np.ndarray) -> list[list[tuple[str, float]]]:
    """List the contacts of parts in each frame that is asked: names of both, depth [m]."""
    data, contacts = mujoco.MjData(model), []
    for q in qpos[::EVERY, -model.nq :]:
        data.qpos[:] = q
        mujoco.mj_fwdPosition(model, data)
        found = [contact for contact in data.contact[: data.ncon] if contact.dist < -MIN_DEPTH_M]
        contacts.append([(" and ".join(sorted(model.body(model.geom_bodyid[geom]).name
                                              for geom in (contact.geom1, contact.geom2))), -contact.dist)
                         for contact in found])  # fmt: skip
    return contacts


def _find_lowest(model: Any, data: Any, body: int, up: np.ndarray) -> float:
    """Find the height of a body's lowest point along a direction."""
    lowest = np.inf
    for geom in np.flatnonzero(model.geom_bodyid == body):
        kind, place, turn = model.geom_type[geom], data.geom_xpos[geom], data.geom_xmat[geom].reshape(3, 3)
        if kind == mujoco.mjtGeom.mjGEOM_SPHERE:
            low = up @ place - model.geom_size[geom, 0]
        elif kind == mujoco.mjtGeom.mjGEOM_MESH:
            mesh = model.geom_dataid[geom]
            first, count = model.mesh_vertadr[mesh], model.mesh_vertnum[mesh]
            low = up @ place + (model.mesh_vert[first : first + count] @ (turn.T @ up)).min()
        else:
            raise NotImplementedError(f"feet of spheres and meshes are judged, not of {kind}")
        lowest = min(lowest, float(low))
    return lowest


def _build_matrix(q: np.ndarray) -> np.ndarray:
    matrix = np.empty(9)
    mujoco.mju_quat2Mat(matrix, q)
    return matrix.reshape(3, 3)


def _percentile(values: np.ndarray, percent: float) -> float:
    return float(np.percentile(values, percent)) if values.size else 0.0
