"""Rigs, poses and targets that the golden answers and the gates are made with; only public names of Poise are used.

Nothing here depends on how Poise works inside: poses come from NumPy's random numbers, and targets, found by forward
kinematics, are rounded, so that a last bit in forward kinematics does not change every answer.
"""

from __future__ import annotations

import importlib
import math
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from benchmark_harness import harness
from numpy.typing import NDArray

import poise

Floats = NDArray[np.float64]
DIGITS = 7  # decimals that targets keep
SPREAD = 0.35  # [rad] standard deviation of each number of a ball joint's rotation vector
_WIDEST = 2.5  # [rad] from here on a hinge without a range is not turned

COUPLED = """<robot name="coupled"><link name="base"/>
{links}
</robot>"""
_LINK = """<link name="l{i}"/><joint name="j{i}" type="{kind}"><parent link="{parent}"/><child link="l{i}"/>
<origin xyz="{x} 0 {z}" rpy="0.1 0.05 0"/><axis xyz="{axis}"/><limit lower="{low}" upper="{high}" effort="1"
velocity="1"/>{mimic}</joint>"""


@dataclass(frozen=True)
class Case:
    """A rig and what is asked of it.

    tip, root    the joint of a single goal and where its chain begins (None: the limb's own beginning)
    other        the joint of a second goal, and of a pin
    mid          the joint of a pole, "" where there is no limb to bend
    clip         the number of the clip that is baked; None where there is none
    free_root    whether the rig's root can be asked to move
    """

    name: str
    load: Callable[[], poise.Rig]
    tip: str
    root: str | None = None
    other: str = ""
    mid: str = ""
    clip: int | None = None
    free_root: bool = False
    many: tuple[str, ...] = field(default=())


def sample(name: str) -> Path:
    """Where a file that comes with Poise is, wherever the package keeps its samples."""
    for module in ("poise.samples", "poise.io.samples"):
        try:
            samples = importlib.import_module(module)
        except ModuleNotFoundError:
            continue
        return samples.path(name)
    message = "this Poise has no samples where they are looked for"
    raise ModuleNotFoundError(message)


def data(*parts: str) -> Path:
    """A file of the shared test data; FileNotFoundError where there is none."""
    folder = harness.data_folder()
    path = Path("nowhere") if folder is None else folder.joinpath(*parts)
    if not path.is_file():
        raise FileNotFoundError("/".join(parts))
    return path


def _loaded(path: Path) -> poise.Rig:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", poise.PoiseWarning)
        return poise.load(path)


def _written(name: str, text: str) -> poise.Rig:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(text, encoding="utf-8")
        return _loaded(path)


def floating(text: str, link: str) -> str:
    """A URDF with a world above `link`, joined to it by a floating joint called "float"."""
    joint = (
        f'<link name="above"/><joint name="float" type="floating"><parent link="above"/><child link="{link}"/></joint>'
    )
    return text.replace("</robot>", joint + "</robot>")


def humanoid_robot() -> poise.Rig:
    """The G1 with a floating joint above its pelvis, which the file does not have."""
    return _written("g1.urdf", floating(data("urdf", "g1_29dof.urdf").read_text(encoding="utf-8"), "pelvis"))


def coupled_arm() -> poise.Rig:
    """Five hinges and a slide; the third hinge follows the second, the slide's twin follows the slide."""
    axes = ("0 0 1", "0 1 0", "0 1 0", "1 0 0", "0 1 0", "0 0 1", "0 0 1", "1 0 0")
    rows: list[str] = []
    for i, axis in enumerate(axes):
        slides, last = i in {5, 6}, i == len(axes) - 1
        follows = {2: '<mimic joint="j1" multiplier="0.5" offset="0.1"/>', 6: '<mimic joint="j5" multiplier="1"/>'}
        rows.append(
            _LINK.format(
                i=i, kind="prismatic" if slides else "fixed" if last else "revolute", axis=axis,
                parent=f"l{i - 1}" if i else "base", x=0.05 * (i % 3), z=0.1 + 0.03 * i, low=0.0 if slides else -2.2,
                high=0.1 if slides else 2.4, mimic=follows.get(i, ""),
            )
        )  # fmt: skip
    return _written("coupled.urdf", COUPLED.format(links="\n".join(rows)))


def limited_figure() -> poise.Rig:
    """The sample figure with every kind of limit on its arms and spine."""
    rig = _loaded(sample("humanoid.bvh"))
    limits: dict[str, Any] = {
        "Spine": poise.EulerBox("ZXY", x=(-0.3, 0.5), y=(-0.4, 0.4), z=(-0.3, 0.3)),
        "Chest": poise.SwingTwist((0, 1, 0), swing=(0.4, 0.3), twist=(-0.3, 0.3)),
        "LeftArm": poise.SwingTwist((1, 0, 0), swing=((-1.2, 0.6), 0.9), twist=(-0.8, 0.8)),
        "RightArm": poise.EulerBox("XYZ", x=(-1.0, 1.0), y=(-0.6, 1.2), z=(-0.9, 0.9)),
        "LeftHand": poise.SwingTwist((1, 0, 0), swing=0.5, twist=(-0.2, 0.2)),
        "Head": poise.SwingTwist((0, 1, 0), swing=0.6, twist=(-0.9, 0.9)),
        "RightHand": None,
    }
    return rig.with_skeleton(rig.skeleton.with_limits(limits))


def soft_figure() -> poise.Rig:
    """The sample figure with soft limits on its left arm."""
    rig = _loaded(sample("humanoid.glb"))
    limits: dict[str, Any] = {
        "LeftArm": poise.SwingTwist((1, 0, 0), swing=0.4, twist=(-0.3, 0.3), soft=0.1),
        "LeftForeArm": poise.Range(0.1, 1.2, axis=(0, -1, 0), soft=0.5),
    }
    return rig.with_skeleton(rig.skeleton.with_limits(limits))


RIGS = {
    case.name: case
    for case in (
        Case("arm", lambda: _loaded(sample("arm.urdf")), "flange_tool", other="elbow"),
        Case("panda", lambda: _loaded(data("robots", "panda_moveit.urdf")), "panda_joint8", other="panda_joint4"),
        Case("coupled", coupled_arm, "j7", other="j4"),
        Case(
            "g1", humanoid_robot, "left_hand_palm_joint", "waist_yaw_joint", "right_hand_palm_joint", free_root=True,
            many=("left_hand_palm_joint", "right_hand_palm_joint", "left_ankle_roll_joint", "right_ankle_roll_joint"),
        ),
        Case(
            "glb", lambda: _loaded(sample("humanoid.glb")), "LeftHand", "LeftArm", "RightHand", "LeftForeArm", 0,
            many=("LeftHand", "RightHand", "LeftFoot", "RightFoot", "Head"),
        ),
        Case(
            "bvh", lambda: _loaded(sample("humanoid.bvh")), "LeftHand", "LeftArm", "RightHand", "LeftForeArm", 0,
            free_root=True, many=("LeftHand", "RightHand", "LeftFoot", "RightFoot", "Head"),
        ),
        Case("spine", lambda: _loaded(sample("humanoid.glb")), "LeftHand", "Spine", "RightHand", "", 0),
        Case("limited", limited_figure, "LeftHand", "Spine", "RightHand", "", 0, free_root=True),
        Case("soft", soft_figure, "LeftHand", "LeftArm", "RightHand", "LeftForeArm", 0),
        Case("cesium", lambda: _loaded(data("glb", "cesium_man.gltf")), "node_15", "node_13", "node_18", "node_14", 0),
    )
}  # fmt: skip


@cache
def rig(name: str) -> poise.Rig:
    """The rig of a case, read once."""
    return RIGS[name].load()


def size(case: Case) -> float:
    """Length of the chain of a case at rest, along its joints [file units]."""
    found = rig(case.name)
    names = (*found.skeleton.chain(case.root, case.tip), case.tip)
    spots = np.array([found.rest.world_of(name).positions for name in names])
    return float(np.linalg.norm(np.diff(spots, axis=0), axis=-1).sum())


def random_q(case: Case, count: int, seed: int, spread: float = SPREAD) -> Floats:
    """(count, nq) configurations about rest; hinges and slides inside their ranges, balls where chance turns them."""
    skeleton, rng = rig(case.name).skeleton, np.random.default_rng(seed)
    q = np.tile(skeleton.rest_q, (count, 1))
    for row, kind in enumerate(skeleton.kinds):
        if kind == poise.Kind.FIXED or skeleton.couplings[row] is not None:
            continue
        start, limit = int(skeleton.q_start[row]), skeleton.limits[row]
        if kind in {poise.Kind.HINGE, poise.Kind.SLIDE}:
            q[:, start] = _in_range(limit, rng, count)
            continue
        if kind == poise.Kind.FREE:
            q[:, start : start + 3] += rng.normal(scale=0.1 * size(case), size=(count, 3))
            start += 3
        turn = rng.normal(scale=spread, size=(count, 3))
        if isinstance(limit, poise.Range) and limit.axis is not None:
            turn = _in_range(limit, rng, count)[:, None] * np.array(limit.axis)
        q[:, start : start + 4] = _times(q[:, start : start + 4], _turned(turn))
    return q


def _in_range(limit: Any, rng: np.random.Generator, count: int) -> Floats:
    low, high = (-_WIDEST, _WIDEST) if limit is None else (max(limit.low, -_WIDEST), min(limit.high, _WIDEST))
    return rng.uniform(low + 0.02 * (high - low), high - 0.02 * (high - low), count)


def _turned(turn: Floats) -> Floats:
    """(k, 4) quaternions w x y z of rotation vectors (k, 3)."""
    angle = np.linalg.norm(turn, axis=-1, keepdims=True)
    return np.concatenate([np.cos(angle / 2), np.sinc(angle / math.tau) / 2 * turn], axis=-1)


def _times(a: Floats, b: Floats) -> Floats:
    """Products of quaternions (k, 4), of length one again."""
    w = a[:, :1] * b[:, :1] - (a[:, 1:] * b[:, 1:]).sum(axis=-1, keepdims=True)
    v = a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:] + np.cross(a[:, 1:], b[:, 1:])
    out = np.concatenate([w, v], axis=-1)
    return out / np.linalg.norm(out, axis=-1, keepdims=True)


def poses(case: Case, count: int, seed: int) -> poise.Pose:
    """A batch of random poses, every joint turned."""
    return poise.Pose(rig(case.name).skeleton, random_q(case, count, seed, 0.3 * SPREAD))


def places(case: Case, starts: poise.Pose, seed: int, joint: str | None = None) -> tuple[Floats, Floats]:
    """Positions (k, 3) and rotations (k, 4) of a joint, by default the tip, with its chain at random; else as `starts`.

    What is not clamped by other limits than ranges can be reached, therefore.
    """
    skeleton, q = starts.skeleton, np.array(starts.q)
    turned = random_q(case, len(q), seed)
    names = (*skeleton.chain(case.root if joint is None else None, joint or case.tip), joint or case.tip)
    for name in names:
        q[:, skeleton.q_slice(name)] = turned[:, skeleton.q_slice(name)]
    world = poise.Pose(skeleton, q, starts.translations, starts.scales).world_of(joint or case.tip)
    return np.round(world.positions, DIGITS), np.round(world.rotations, DIGITS)


def at_rest(case: Case, count: int) -> poise.Pose:
    """The rest pose so many times."""
    rest = rig(case.name).rest
    return poise.Pose(rest.skeleton, np.tile(rest.q, (count, 1)))
