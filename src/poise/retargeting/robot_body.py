"""Bodies of robots: missing hands, and the axes of their world."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

from poise.errors import UnsupportedError
from poise.io.collision_shapes import CollisionShapes, read_collision_shapes
from poise.io.inertials import Inertial
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.vectors import normalise, snap_to_axis
from poise.model.anatomy.rest_geometry import BodyFrame
from poise.model.rig import Rig
from poise.model.roles.bone_names import SIDES
from poise.model.skeleton import Kind, Skeleton
from poise.retargeting.body import Body, measure_body

# cosine: a rest pose that is tilted by more lies, and does not show where the robot looks
_LYING_COSINE = np.cos(np.radians(30.0))
_FORWARD = {"x": (0.0, 1.0, 0.0), "y": (0.0, 0.0, 1.0), "z": (1.0, 0.0, 0.0)}


def measure_robot_body(target: Rig, joints: Mapping[str, str]) -> Body:
    """Measure the body of a robot. Without hands its forearms end at twice the way to their centres of mass.

    Rows of such hands are behind those of the skeleton.
    """
    missing = [side for side in SIDES if f"{side}Hand" not in joints]
    skeleton, named = target.skeleton, dict(joints)
    if missing:
        shapes = read_collision_shapes(target)
        for side in missing:
            row = skeleton.index(joints[f"{side}LowerArm"])
            end = 2.0 * _find_centre(target, row, shapes)
            named[f"{side}Hand"] = f"{skeleton.names[row]} end"
            skeleton = _add_fixed_joint(skeleton, named[f"{side}Hand"], row, end)
    return _stand_in_world(measure_body(skeleton, named, []))


def _find_centre(target: Rig, row: int, shapes: CollisionShapes) -> Floats:
    """Find the centre of a link, by its mass or its shapes."""
    name = target.skeleton.names[row]
    inertials: Mapping[str, Inertial] = getattr(target.skeleton.source, "inertials", {})
    if name in inertials:
        return np.array(inertials[name].centre)
    centres = [shape.centre for shape_row, shape in shapes.shapes if shape_row == row]
    if not centres:
        raise UnsupportedError(
            f"the target has no known hand, and neither mass nor shape says where the forearm {name!r} ends: "
            "name the hands in the [humanoid] table of its sidecar"
        )
    return np.mean(centres, axis=0)


def _add_fixed_joint(skeleton: Skeleton, name: str, parent: int, offset: Floats) -> Skeleton:
    """Add a fixed joint behind all others."""
    return dataclasses.replace(
        skeleton,
        names=(*skeleton.names, name),
        parents=np.append(skeleton.parents, parent),
        kinds=np.append(skeleton.kinds, int(Kind.FIXED)),
        axes=np.concatenate([skeleton.axes, np.zeros((1, 3))]),
        A=np.concatenate([skeleton.A, np.array([[*offset, *rotations.IDENTITY]])]),
        B=np.concatenate([skeleton.B, np.eye(3, 4)[None]]),
        limits=(*skeleton.limits, None),
        couplings=(*skeleton.couplings, None),
        source_ids=(*skeleton.source_ids, None) if skeleton.source_ids else (),
        euler=(*skeleton.euler, "") if skeleton.euler else (),
        source=None,
    )


def _stand_in_world(body: Body) -> Body:
    """Stand a robot along the up axis of its file.

    The trunk of a robot at rest is not quite upright, or lies.
    """
    own = body.reference.body
    up = np.eye(3)["xyz".index(body.skeleton.up)] if body.skeleton.up else snap_to_axis(own.up, 0.0)
    if float(own.up @ up) >= _LYING_COSINE:
        ahead = body.reference.world_axes[0]
    else:
        ahead = np.array(_FORWARD["xyz"[int(np.abs(up).argmax())]])
    ahead = normalise(ahead - up * float(ahead @ up))
    axes = np.stack([ahead, np.cross(up, ahead), up])
    return body._replace(reference=body.reference._replace(world_axes=axes), world_turn=rotations.from_matrix(axes))


def turn_to_body(body: BodyFrame) -> Floats:
    """Compute the rotation (4,) from file axes to body axes.

    Those are ahead, left and up at rest.
    """
    return rotations.from_matrix(np.stack([body.forward, body.left, body.up]))


def leave_out_hands(body: Body, skeleton: Skeleton) -> Body:
    """Return the body without hands beyond a skeleton's joints."""
    rows = {role: row for role, row in body.rows.items() if row < len(skeleton)}
    return body._replace(skeleton=skeleton, rows=rows, joints={role: body.joints[role] for role in rows})
