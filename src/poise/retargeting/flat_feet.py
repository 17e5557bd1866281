"""Axes of feet and toes, from flat stance."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from poise.ground.contact.contacts import Contacts
from poise.ground.contact.soles import Soles
from poise.ground.figure.motion import FOOT, TOES, Motion
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.vectors import UP, cross, normalise, remove_component
from poise.model.roles.bone_names import SIDES

# flat frames without which a clip does not show the sole
_MIN_FLAT_FRAMES = 5
# length of a unit heading along the sole
_MIN_HEADING = 0.3


def measure_flat_feet(
    motion: Motion, soles: Soles, contacts: Contacts, *, stands_at_rest: bool = True
) -> dict[str, Floats]:
    """Measure the axes (3, 3) of feet and toes by joint.

    The first axis is the heading in the plane of the sole, from heel to ball. The second is the sole's normal: up, on
    average over the frames in which heel and ball stand. Those of the toes are the foot's at that time.

    stands_at_rest  whether the rest pose shows feet that are flat in too few frames; they have the normals of their
                    soles where it does not, and toes as where they touch the ground
    """
    axes: dict[str, Floats] = {}
    for column, leg in enumerate(motion.figure.legs):
        flat = contacts.heel[:, column] & contacts.ball[:, column]
        is_shown = flat.sum() >= _MIN_FLAT_FRAMES
        if leg.side not in SIDES or (stands_at_rest and not is_shown):
            continue
        if not is_shown:
            on = contacts.any[:, column]
            flat = on if on.any() else np.ones_like(on)
        foot, normal = motion.turns[flat, column, FOOT], normalise(soles.normals[column])
        if is_shown:
            normal = normalise(rotations.rotate(rotations.inverse(foot), UP).mean(axis=0))
        heading = remove_component(normalise(soles.ball[column] - soles.heel[column]), normal)
        if float(np.linalg.norm(heading)) < _MIN_HEADING:
            continue
        heading = normalise(heading)
        axes[leg.foot] = np.stack([heading, normal, cross(heading, normal)], axis=1)
        if leg.toes is not None:
            toes = motion.turns[flat, column, TOES]
            between = rotations.as_matrix(rotations.multiply(rotations.inverse(toes), foot)).mean(axis=0)
            axes[leg.toes] = rotations.rotation_part(between) @ axes[leg.foot]
    return axes


def select_flat_feet(axes: Mapping[str, Floats], joints: Mapping[str, str]) -> dict[str, Floats]:
    """Select the axes of feet and toes by role."""
    return {role: axes[joint] for role, joint in joints.items() if role.endswith(("Foot", "Toes")) and joint in axes}
