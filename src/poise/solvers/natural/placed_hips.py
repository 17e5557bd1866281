"""Placed hips: trunks bow for hands, or for the weight.

Where hands ahead or behind are out of reach of an upright trunk, it bows about the hips by as little as will do, as in
crawling. The pelvis takes the bow as far as hips bend over their thighs, which keeps the back straight; the spine takes
the rest in equal shares, as in someone who sits on the floor and reaches for the toes. What is beside the figure is
left to the engine.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poise import kernels
from poise.maths.arrays import Floats, prepare_for_kernel
from poise.model.pose import Pose
from poise.runtime.result_cache import get_or_compute
from poise.solvers.natural.body_maps import find_body, find_turns, flatten_maps, list_points
from poise.solvers.natural.carried_roots import Carried, find_reaches
from poise.solvers.natural.limbs import Bends, find_up
from poise.solvers.natural.weight import find_support_offsets, find_upper_mass

_NO_OFFSET = np.zeros((1, 3))


def bow_from_hips(
    bends: Sequence[Bends], pose: Pose, root: str, hips: int, spine: Sequence[int], targets: Floats, ahead: Floats
) -> Carried | None:
    """Bow trunks about placed hips towards hands. None where all are within reach.

    hips     their row
    targets  (k, l, 3) of hands and feet
    ahead    (k, 3) level front of the pelvis
    """
    arms = [j for j, one in enumerate(bends) if one.limb.kind == "arm"]
    body = find_body(pose, [*(bends[j].limb.first for j in arms), hips])
    bow, reach = np.empty(len(targets)), find_reaches(pose.skeleton, bends).all[arms].mean()
    shoulders = np.array([body.numbers[bends[j].limb.first] for j in arms], dtype=np.int64)
    is_bowed = kernels.posture_bow.find_hand_bows(
        flatten_maps(body), shoulders, body.numbers[hips], prepare_for_kernel(targets[:, arms]), reach,
        prepare_for_kernel(ahead), find_up(pose.skeleton), bow,
    )  # fmt: skip
    return _bow(bends, pose, root, hips, spine, targets, ahead, bow) if is_bowed else None


def bow_over_feet(
    bends: Sequence[Bends],
    pinned: Sequence[bool],
    start: Pose,
    pose: Pose,
    root: str,
    hips: int,
    spine: Sequence[int],
    ahead: Floats,
) -> Carried | None:
    """Bow trunks about placed hips until pinned feet carry the weight. None where they do.

    A weight that no bow brings there is borne by something else: the figure sits, and stays upright.

    start  poses before the root moved
    pose   poses with legs that stand
    """
    limbs = [one.limb for one in bends]
    offsets = find_support_offsets(limbs, pinned, start, pose, None)
    if offsets is None:
        return None
    feet = list_points(pose, [limb.tip for limb in limbs])
    at_start = get_or_compute(
        start, "own offsets", (tuple(limb.tip for limb in limbs), tuple(pinned)),
        lambda: find_support_offsets(limbs, pinned, start, start, None),
    )  # fmt: skip
    mass, bow = find_upper_mass(pose.skeleton), np.empty(len(offsets))
    body = find_body(pose, (*mass.rows, hips))
    is_bowed = kernels.posture_bow.find_weight_bows(
        flatten_maps(body), np.array([body.numbers[row] for row in mass.rows]), mass.shares, mass.centres, mass.share,
        body.numbers[hips], offsets, _NO_OFFSET if at_start is None else at_start, prepare_for_kernel(ahead),
        find_up(pose.skeleton), bow,
    )  # fmt: skip
    return _bow(bends, pose, root, hips, spine, feet, ahead, bow) if is_bowed else None


def _bow(
    bends: Sequence[Bends],
    pose: Pose,
    root: str,
    hips: int,
    spine: Sequence[int],
    targets: Floats,
    ahead: Floats,
    bow: Floats,
) -> Carried:
    """Bow trunks by angles (k,).

    The pelvis bows as far as hips bend, the spine beyond.
    """
    legs, row, count = [j for j, one in enumerate(bends) if one.limb.kind == "leg"], pose.skeleton.index(root), len(bow)
    body = find_body(pose, [*(bends[j].limb.first for j in legs), hips, row])
    place, lean, bend, axis = np.empty((count, 7)), np.empty((count, 4)), np.empty(count), np.empty((count, 3))
    kernels.posture_bow.bow_trunks(
        flatten_maps(body), body.numbers[hips], body.numbers[row], find_turns(pose, row),
        np.array([body.numbers[bends[j].limb.first] for j in legs], dtype=np.int64),
        np.array([bends[j].limb.lengths for j in legs]).reshape(-1, 2), prepare_for_kernel(targets[:, legs]),
        prepare_for_kernel(ahead), find_up(pose.skeleton), len(spine), bow, place, lean, bend, axis,
    )  # fmt: skip
    return Carried(place, lean, bend, axis)
