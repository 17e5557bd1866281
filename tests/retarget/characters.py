"""Characters of any proportions, and clips of them, for tests of retargeting."""

from __future__ import annotations

import numpy as np

import poise
from poise.maths import rotations
from poise.model.skeleton import Kind

LIMB_PARTS = (("UpperArm", "LowerArm"), ("LowerArm", "Hand"), ("UpperLeg", "LowerLeg"), ("LowerLeg", "Foot"))
LIMBS = [(side + start, side + end) for side in ("left", "right") for start, end in LIMB_PARTS]


def build_character(lengths, *, spine=3, has_neck=True, has_toes=True, has_twist=False, leaves=0, names=None):
    """A skeleton in T pose, y up, facing +z. `lengths`: twelve factors of bone lengths, left and right alike."""
    scale = dict(zip(("spine", "neck", "head", "collar", "arm", "forearm", "hand", "hip", "thigh", "shin", "foot",
                      "toes"), lengths, strict=True))  # fmt: skip
    joints = [("Hips", -1, (0.0, 1.0, 0.0))]

    def add(name, parent, offset):
        joints.append((name, parent, offset))
        return len(joints) - 1

    trunk = 0
    for number in range(spine):
        trunk = add(f"Spine{number or ''}", trunk, (0.0, 0.5 / spine * scale["spine"], 0.0))
    head = add("Neck", trunk, (0.0, 0.1 * scale["neck"], 0.0)) if has_neck else trunk
    head = add("Head", head, (0.0, 0.1 * scale["head"], 0.0))
    add("HeadTop_End", head, (0.0, 0.2, 0.0))
    for side, sign in (("Left", 1.0), ("Right", -1.0)):
        collar = add(f"{side}Shoulder", trunk, (0.03 * sign, 0.0, 0.0))
        arm = add(f"{side}Arm", collar, (0.15 * sign * scale["collar"], 0.0, 0.0))
        upper = add(f"{side}ArmTwist", arm, (0.14 * sign * scale["arm"], 0.0, 0.0)) if has_twist else arm
        forearm = add(f"{side}ForeArm", upper, ((0.14 if has_twist else 0.28) * sign * scale["arm"], 0.0, 0.0))
        hand = add(f"{side}Hand", forearm, (0.25 * sign * scale["forearm"], 0.0, 0.005))
        add(f"{side}HandMiddle1", hand, (0.1 * sign * scale["hand"], 0.0, 0.0))
        thigh = add(f"{side}UpLeg", 0, (0.1 * sign * scale["hip"], -0.05, 0.0))
        shin = add(f"{side}Leg", thigh, (0.0, -0.42 * scale["thigh"], 0.01))
        foot = add(f"{side}Foot", shin, (0.0, -0.43 * scale["shin"], -0.02))
        if has_toes:
            toes = add(f"{side}ToeBase", foot, (0.0, -0.06, 0.13 * scale["foot"]))
            add(f"{side}Toe_End", toes, (0.0, 0.0, 0.06 * scale["toes"]))
    for number in range(leaves):
        add(f"Leaf{number}", number % len(joints), (0.02, 0.03, 0.01 * number))
    kinds = [Kind.BALL] * len(joints)
    return poise.Skeleton.build(
        [(names or {}).get(name, name) for name, _, _ in joints], [parent for _, parent, _ in joints], kinds,
        offsets=[offset for _, _, offset in joints], up="y",
    )  # fmt: skip


def build_rig(skeleton, **options):
    return poise.Rig(skeleton, poise.Pose(skeleton, skeleton.rest_q), **options)


def build_clip(skeleton, seed, frames=12, size=0.5):
    """A clip of smooth random rotations, elbows and knees bent as people bend them."""
    random = np.random.default_rng(seed)
    q = np.tile(skeleton.rest_q, (frames, 1))
    phases = np.linspace(0.0, 2.0, frames)
    for row, name in enumerate(skeleton.names):
        start = int(skeleton.q_start[row])
        sign = 1.0 if name.startswith("Left") else -1.0
        if name.endswith("ForeArm"):
            vector = np.outer(0.8 + 0.5 * np.sin(phases), (0.0, -sign, 0.0))
        elif name in ("LeftLeg", "RightLeg"):
            vector = np.outer(0.7 + 0.4 * np.cos(phases), (1.0, 0.0, 0.0))
        elif name.endswith("Twist"):
            vector = np.outer(0.4 * np.sin(phases), (1.0, 0.0, 0.0))
        else:
            vector = size * random.normal(size=3) * np.sin(phases + random.uniform(0.0, 3.0))[:, None]
        q[:, start : start + 4] = rotations.from_vector(vector)
    translations = np.tile(skeleton.A[:, :3], (frames, 1, 1))
    translations[:, 0] += np.outer(phases, (0.1, 0.0, 0.5))
    return poise.Clip.at_rate(poise.Pose(skeleton, q, translations), 30.0, "moves")


def build_lunge(rig, frames=48):
    """A clip of the sample figure on wide feet. Its hips go from one foot to the other."""
    start, phases = rig.rest.world, np.linspace(0.0, 2.0 * np.pi, frames)
    way = np.stack([0.28 * np.sin(phases), -0.25 - 0.1 * np.cos(2.0 * phases), np.zeros(frames)], axis=1)
    goals = [poise.Position("Hips", start["Hips"].positions + way)]
    for name, aside in (("LeftFoot", 0.42), ("RightFoot", -0.42)):
        goals.append(poise.Position(name, np.tile(start[name].positions + np.array([aside, 0.0, 0.0]), (frames, 1))))
        goals.append(poise.Orientation(name, np.tile(start[name].rotations, (frames, 1))))
    return poise.Clip.at_rate(poise.solve(rig.rest, goals, free_root=True).pose, 24.0, "lunge")


def find_directions(clip, joints, role, end):
    """Unit vectors (F, 3) from one joint to another, by role."""
    positions = clip.poses.world.positions
    way = positions[:, clip.skeleton.index(joints[end])] - positions[:, clip.skeleton.index(joints[role])]
    return way / np.linalg.norm(way, axis=-1, keepdims=True)


def measure_angles(first, second):
    """Angles (F,) between directions [degrees]."""
    return np.degrees(np.arctan2(np.linalg.norm(np.cross(first, second), axis=-1), (first * second).sum(axis=-1)))


def measure_turns(first, second):
    """Angles (...) between rotations [degrees]."""
    return np.degrees(2.0 * np.arccos(np.minimum(np.abs((first * second).sum(axis=-1)), 1.0)))
