"""Forward kinematics and Jacobians of real robots against Pinocchio, which shares no code with ours."""

from __future__ import annotations

import warnings
from types import ModuleType

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import poise
from poise import Kind, Pose
from tests.io.test_urdf import ROBOTS
from tests.strategies import random_q, rng_of

POSES = 20


@pytest.fixture(scope="module")
def pin() -> ModuleType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a compiled module, when it is imported
        return pytest.importorskip("pinocchio")


def models(pin, data, name, *, floating=False):
    """Pinocchio's model and its data, our skeleton."""
    path = data / "urdf" / ROBOTS[name]
    root = [pin.JointModelFreeFlyer()] if floating else []
    model = pin.buildModelFromXML(path.read_text(encoding="utf-8"), *root, mimic=True)
    skeleton = poise.load(path).skeleton
    return model, model.createData(), under_a_free_joint(skeleton) if floating else skeleton


def under_a_free_joint(s):
    """The skeleton with its roots hung below one free joint more."""
    free = ["floating", *s.names]
    couplings = [c and c._replace(leader=c.leader + 1) for c in s.couplings]
    return poise.Skeleton.build(
        free, [-1, *(s.parents + 1)], [Kind.FREE, *s.kinds], axes=np.vstack([np.zeros(3), s.axes]),
        offsets=np.vstack([np.zeros(3), s.A[:, :3]]), rotations=np.vstack([[1, 0, 0, 0], s.A[:, 3:]]),
        couplings=[None, *couplings],
    )  # fmt: skip


def pin_name(skeleton, row):
    return "root_joint" if skeleton.names[row] == "floating" else skeleton.names[row]


def leaders(skeleton):
    """Rows with numbers of their own in q."""
    return [i for i, kind in enumerate(skeleton.kinds) if kind != Kind.FIXED and not skeleton.couplings[i]]


def pin_q(model, skeleton, q):
    """Our q (nq,) as Pinocchio's: its joints by name, its quaternions x y z w, unbounded joints as cos, sin."""
    theirs = np.zeros(model.nq)
    for row in leaders(skeleton):
        joint = model.joints[model.getJointId(pin_name(skeleton, row))]
        start = skeleton.q_start[row]
        values = q[start : start + Kind(skeleton.kinds[row]).nq]
        if skeleton.kinds[row] == Kind.FREE:
            values = values[[0, 1, 2, 4, 5, 6, 3]]
        elif joint.nq == 2:
            values = [np.cos(values[0]), np.sin(values[0])]
        theirs[joint.idx_q : joint.idx_q + joint.nq] = values
    return theirs


def pin_columns(model, skeleton, q, jacobian):
    """Pinocchio's Jacobian (6, nv) with our columns: its free joint's are along the axes it has turned to."""
    ours = np.zeros((6, skeleton.nv))
    for row in leaders(skeleton):
        joint = model.joints[model.getJointId(pin_name(skeleton, row))]
        columns = jacobian[:, joint.idx_v : joint.idx_v + joint.nv]
        if skeleton.kinds[row] == Kind.FREE:
            start = skeleton.q_start[row] + 3
            turned = Rotation.from_quat(np.roll(q[start : start + 4], -1)).as_matrix()
            columns = columns @ np.kron(np.eye(2), turned.T)
        ours[:, skeleton.v_slice(skeleton.names[row])] = columns
    return ours


def check(pin, model, theirs, skeleton, seed):
    rng = rng_of(seed)
    pose = Pose(skeleton, random_q(rng, skeleton, POSES))
    names = [name for name in skeleton.names if model.existFrame(name)]
    assert len(names) >= len(leaders(skeleton)) - 1
    world = pose.world
    columns = {name: pose.jacobian(name) for name in names}
    for k, q in enumerate(pose.q):
        pin.computeJointJacobians(model, theirs, pin_q(model, skeleton, q))
        pin.updateFramePlacements(model, theirs)
        for name in names:
            frame = model.getFrameId(name)
            place = theirs.oMf[frame]
            np.testing.assert_allclose(world[name].positions[k], place.translation, rtol=0, atol=1e-12)
            np.testing.assert_allclose(world[name].matrices[k, :3, :3], place.rotation, rtol=0, atol=1e-12)
            expected = pin.getFrameJacobian(model, theirs, frame, pin.LOCAL_WORLD_ALIGNED)
            expected = pin_columns(model, skeleton, q, expected)
            np.testing.assert_allclose(columns[name][k], expected, rtol=0, atol=1e-10)
    return pose, names


@pytest.mark.long
@pytest.mark.parametrize("name", ROBOTS)
def test_places_and_jacobians_of_every_joint_agree(pin, data, name):
    model, theirs, skeleton = models(pin, data, name)
    assert model.nv == skeleton.nv
    _, names = check(pin, model, theirs, skeleton, 1)
    moving = [name for name, kind in zip(skeleton.names, skeleton.kinds, strict=True) if kind != Kind.FIXED]
    assert set(moving) <= set(names)


@pytest.mark.long
@pytest.mark.parametrize("name", ["panda", "g1_29dof", "solo12"])
def test_they_agree_on_a_floating_base(pin, data, name):
    model, theirs, skeleton = models(pin, data, name, floating=True)
    assert model.nv == skeleton.nv
    check(pin, model, theirs, skeleton, 2)


def test_points_of_the_hand_move_as_pinocchio_says(pin, data):
    model, theirs, skeleton = models(pin, data, "panda")
    rng = rng_of(3)
    pose, point = Pose(skeleton, random_q(rng, skeleton, POSES)), rng.normal(size=(POSES, 3))
    ours = pose.jacobian("panda_joint7", point)
    joint = model.getJointId("panda_joint7")
    for k, q in enumerate(pose.q):
        place = pin.SE3(np.eye(3), point[k])
        pin.computeJointJacobians(model, theirs, pin_q(model, skeleton, q))
        expected = pin.getFrameJacobian(model, theirs, joint, place, pin.LOCAL_WORLD_ALIGNED)
        np.testing.assert_allclose(ours[k], pin_columns(model, skeleton, q, expected), rtol=0, atol=1e-10)
