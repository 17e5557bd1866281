"""Weight: where the centre of mass is beside pinned feet or toes.

A root without goals moves level until it is above their soles, as far as the legs reach. Limbs have taken it where they
reach; the centre of mass is then known but for knees and elbows, whose limbs count as straight lines to their targets.
About a placed root the trunk bows instead (placed_hips.py), with legs that stand already, perhaps on their toes. A
start that is no standing pose, as a frame of a run, keeps its own weight: the shift fades out where the start's centre
of mass is beside its feet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from poise import kernels
from poise.errors import InputError
from poise.maths.arrays import Bools, Floats, Ints, prepare_for_kernel
from poise.maths.smoothing import smoothstep
from poise.maths.vectors import cross, dot_rows, normalise
from poise.model.anatomy.rest_geometry import BodyFrame
from poise.model.anatomy.standing_pose import compute_standing_transforms, find_standing_frame
from poise.model.mass import MassShares, compute_mass_shares
from poise.model.pose import Pose
from poise.model.skeleton import Skeleton
from poise.runtime.result_cache import get_or_compute
from poise.solvers.natural.body_maps import find_body, find_maps, find_points, list_points
from poise.solvers.natural.limbs import RoleLimb, find_limbs

# Corners of what a sole carries, in lengths of the shin from the ankle: heel, tip, half of the width. A foot is 0.6 of
# a shin long (de Leva 1996) and carries a little inside its edges.
_HEEL, _TIP, _HALF_WIDTH = -0.09, 0.33, 0.04
_ALONG = np.array([[_HEEL], [_HEEL], [_TIP], [_TIP]])  # of each corner along the toes, and to their left
_ASIDE = _HALF_WIDTH * np.array([[-1.0], [1.0], [-1.0], [1.0]])
# Shins from the ankle to the ball of a foot without toes, toes beyond it, and a whole foot.
_BALL, _TOES, _FOOT = 0.25, 0.1, 0.6
_ON_BALL_RAD = np.radians(15.0)  # of a heel: from there on the ball carries all
_FADE_SHINS = 0.3  # shins: a start whose centre of mass is farther from its feet does not stand
_STANDS_SHINS = 0.3  # shins: other feet of a start stand if they are no higher than this above a pinned one
_LIFTED_SHINS = 0.4  # shins: a foot that is raised so far carries nothing
_ONSET_SHINS = 0.04  # shins: left beside the soles, so that the root begins to move smoothly
_THIGH_SHARE = 0.5  # of a leg's mass that moves with its hip
# of the way to a tip: where upper bone, lower bone and tip have their mass
_CENTRE_SHARES = np.array([0.25, 0.75, 1.0])


class _Sole(NamedTuple):
    """Row, toe direction and shin length of a foot.

    ball  how far it is ahead of the ankle, in shins
    """

    row: int
    ahead: Floats
    shin: float
    ball: float


def find_support_offsets(
    limbs: Sequence[RoleLimb], pinned: Sequence[bool], start: Pose, after: Pose, tips: Floats | None
) -> Floats | None:
    """Find level offsets (k, 3) from mass centres to supports.

    None where all are above pinned feet, and where masses are unknown.

    limbs   limbs with targets
    pinned  which of them are legs that stand on a pinned foot
    start   poses before the root moved
    after   poses (k,) after it
    tips    (k, l, 3) targets of the limbs; None where they are there in `after`, perhaps with raised heels
    """
    skeleton = after.skeleton
    masses = _find_masses(skeleton)
    if masses is None or not any(pinned):
        return None
    is_posed = tips is None
    tips, count = list_points(after, [limb.tip for limb in limbs]) if tips is None else tips, len(after.flat_q)
    body = find_standing_frame(skeleton)
    soles = [_find_sole(skeleton, limb) for limb in limbs]
    standing = [j for j, is_pinned in enumerate(pinned) if is_pinned]
    legs = [j for j, limb in enumerate(limbs) if limb.kind == "leg"]
    level = np.stack([body.forward, body.left])
    corners = [_broadcast(_find_start_corners(soles[j], body, start), count) for j in standing]
    if is_posed:
        corners = [_shorten_sole(each, soles[j], body, after) for each, j in zip(corners, standing, strict=True)]
    floor = dot_rows(tips[:, standing[0]], body.up)
    places = [(soles[j], tips[:, j]) for j in legs if j not in standing]
    known = {limb.tip for limb in limbs}
    free = [limb for limb in find_limbs(skeleton) if limb.kind == "leg" and limb.tip not in known]
    places += [(_find_sole(skeleton, limb), find_points(after, limb.tip)) for limb in free]
    corners += [_find_lifted_corners(sole, body, after, ankle, floor, corners[0]) for sole, ankle in places]
    centre = _find_centre(masses, after, () if is_posed else limbs, tips)
    offset = _find_offset(centre, np.concatenate(corners, axis=1), level)
    if not offset.any():
        return None
    pin = soles[standing[0]]
    offset = _soften(offset, _ONSET_SHINS * pin.shin)
    stands = get_or_compute(start, "stands", pin.row, lambda: _measure_standing(pin, body, start, masses, level))
    offset = offset * stands[:, None]
    return offset[:, 0, None] * level[0] + offset[:, 1, None] * level[1]


def find_moved_share(skeleton: Skeleton, limbs: Sequence[RoleLimb]) -> np.float64:
    """Find the share of the mass moved along with a root."""

    def find() -> np.float64:
        masses = _find_masses(skeleton)
        assert masses is not None  # an offset to a support has been found
        share = np.float64(1.0)
        for limb in limbs:
            if limb.kind == "leg":
                share -= (1.0 - _THIGH_SHARE) * masses.shares[[limb.first, limb.middle, limb.tip]].sum()
            else:
                share -= masses.shares[[limb.middle, limb.tip]].sum()
        return share

    return get_or_compute(skeleton, "moved shares", tuple(limb.tip for limb in limbs), find)


def find_upper_mass(pose: Pose) -> tuple[Floats, float]:
    """Find mass centres (k, 3) above legs, and their share."""
    skeleton, masses = pose.skeleton, _find_masses(pose.skeleton)
    assert masses is not None  # an offset to a support has been found
    rows = get_or_compute(skeleton, "above legs", None, lambda: _list_above(skeleton, masses))
    share = float(masses.shares[rows].sum())
    return _add_up_masses(masses, pose, rows) / share, share


def _list_above(skeleton: Skeleton, masses: MassShares) -> Ints:
    legs = [limb for limb in find_limbs(skeleton) if limb.kind == "leg"]
    is_below = [any(leg.first in skeleton.list_path(row) for leg in legs) for row in range(len(skeleton))]
    return np.flatnonzero(np.logical_not(is_below) & (masses.shares > 0.0))


def _find_masses(skeleton: Skeleton) -> MassShares | None:
    """Find the masses of a figure. None where they are unknown."""

    def find() -> MassShares | None:
        try:
            return compute_mass_shares(skeleton)
        except InputError:
            return None

    return get_or_compute(skeleton, "masses of a figure", None, find)


def _find_sole(skeleton: Skeleton, limb: RoleLimb) -> _Sole:
    def find() -> _Sole:
        body = find_standing_frame(skeleton)
        frame = compute_standing_transforms(skeleton)[limb.tip, :3, :3]
        ahead = normalise(np.asarray(np.linalg.solve(frame, body.forward), dtype=np.float64))
        shin = float(np.linalg.norm(body.points[limb.tip] - body.points[limb.middle]))
        below = [body.points[row] for row in np.flatnonzero(skeleton.parents == limb.tip)]
        toes = [float((point - body.points[limb.tip]) @ body.forward) / shin for point in below]
        return _Sole(limb.tip, ahead, shin, min(max([_BALL, *toes]), _FOOT))

    return get_or_compute(skeleton, "soles", limb.tip, find)


def _find_lifted_corners(
    sole: _Sole, body: BodyFrame, pose: Pose, ankle: Floats, floor: Floats, pinned_corners: Floats
) -> Floats:
    """Find the level corners (k, 4, 2) of an unpinned foot.

    They are its own on the floor, those of a pinned foot where it is raised.
    """
    share = np.clip((dot_rows(ankle, body.up) - floor) / (_LIFTED_SHINS * sole.shin), 0.0, 1.0)
    share = (share * share * (3.0 - 2.0 * share))[:, None, None]
    return (1.0 - share) * _find_corners(sole, body, pose, ankle) + share * pinned_corners


def _find_start_corners(sole: _Sole, body: BodyFrame, start: Pose) -> Floats:
    """Find a sole's corners (1|k, 4, 2) in starts. They are kept with these."""

    def find() -> Floats:
        return _find_corners(sole, body, start, find_points(start, sole.row))

    return get_or_compute(start, "sole corners", sole.row, find)


def _find_corners(sole: _Sole, body: BodyFrame, pose: Pose, ankle: Floats) -> Floats:
    """Find a sole's corners (k, 4, 2) along front and left."""
    ahead = _find_ahead(sole, pose)
    ahead = ahead - dot_rows(ahead, body.up)[:, None] * body.up
    size = np.sqrt(dot_rows(ahead, ahead))[:, None]
    ahead = ahead / np.where(size > 0.0, size, 1.0)
    aside = cross(body.up, ahead)
    points = ankle[:, None] + sole.shin * (_ALONG * ahead[:, None] + _ASIDE * aside[:, None])
    corners = np.empty((len(points), 4, 2))
    corners[..., 0], corners[..., 1] = dot_rows(points, body.forward), dot_rows(points, body.left)
    return corners


def _shorten_sole(corners: Floats, sole: _Sole, body: BodyFrame, pose: Pose) -> Floats:
    """Move corners (k, 4, 2) to the ball as heels rise."""
    ahead = _find_ahead(sole, pose)
    angle = np.arcsin(np.clip(-dot_rows(ahead, body.up) / np.sqrt(dot_rows(ahead, ahead)), -1.0, 1.0))
    share = smoothstep(angle / _ON_BALL_RAD)[:, None, None]
    ends = np.array([sole.ball - _HEEL, max(sole.ball + _TOES - _TIP, 0.0)]).repeat(2)[:, None] / (_TIP - _HEEL)
    return corners + share * ends * (corners[:, 2:] - corners[:, :2])[:, [0, 1, 0, 1]]


def _find_ahead(sole: _Sole, pose: Pose) -> Floats:
    """Find directions (k, 3) of a foot to its toes."""
    maps = find_maps(pose, sole.row)
    return maps[..., 0] * sole.ahead[0] + maps[..., 1] * sole.ahead[1] + maps[..., 2] * sole.ahead[2]


def _broadcast(corners: Floats, count: int) -> Floats:
    return corners if len(corners) == count else np.broadcast_to(corners, (count, *corners.shape[1:]))


def _find_offset(centre: Floats, corners: Floats, level: Floats) -> Floats:
    """Find the way (k, 2) from mass centres to their supports. Zero above them."""
    point = np.stack([dot_rows(centre, axis) for axis in level], axis=-1)
    offset = np.empty(point.shape)
    kernels.posture_weight.find_support_offsets(prepare_for_kernel(corners), point, offset)
    return offset


def _soften(offset: Floats, least: float) -> Floats:
    """Shorten offsets (k, 2) by `least`, smoothly from zero."""
    size = np.sqrt(dot_rows(offset, offset))
    soft = np.where(size < 2.0 * least, size * size / (4.0 * least), size - least)
    return offset * (soft / np.where(size > 0.0, size, 1.0))[:, None]


def _measure_standing(pinned: _Sole, body: BodyFrame, start: Pose, masses: MassShares, level: Floats) -> Floats:
    """Measure the standing share of starts. It is 1 with the weight above the feet, 0 far beside them."""
    skeleton = start.skeleton
    feet = [_find_sole(skeleton, limb) for limb in find_limbs(skeleton) if limb.kind == "leg"]
    low = dot_rows(find_points(start, pinned.row), body.up)
    corners = [_find_start_corners(pinned, body, start)]
    for foot in feet:
        is_low: Bools = dot_rows(find_points(start, foot.row), body.up) < low + _STANDS_SHINS * pinned.shin
        corners.append(np.where(is_low[:, None, None], _find_start_corners(foot, body, start), corners[0]))
    offset = _find_offset(_find_centre(masses, start, (), None), np.concatenate(corners, axis=1), level)
    share = np.clip(1.0 - np.sqrt(dot_rows(offset, offset)) / (_FADE_SHINS * pinned.shin), 0.0, 1.0)
    return share * share * (3.0 - 2.0 * share)


def _find_centre(masses: MassShares, pose: Pose, limbs: Sequence[RoleLimb], tips: Floats | None) -> Floats:
    """Find centres of mass (k, 3). Limbs count as lines to tips (k, l, 3)."""
    lines = [[limb.first, limb.middle, limb.tip] for limb in limbs]
    centre = _add_up_masses(
        masses, pose, _list_heavy(pose.skeleton, masses, tuple(row for rows in lines for row in rows))
    )
    for j, rows in enumerate(lines):
        assert tips is not None
        shares, first = masses.shares[rows], find_points(pose, rows[0])
        centre += shares.sum() * first + (shares @ _CENTRE_SHARES) * (tips[:, j] - first)
    return centre


def _list_heavy(skeleton: Skeleton, masses: MassShares, left_out: tuple[int, ...]) -> Ints:
    """List the rows with a mass, but for those left out."""

    def find() -> Ints:
        rows = np.flatnonzero(masses.shares)
        return rows[~np.isin(rows, left_out)]

    return get_or_compute(skeleton, "rows with a mass", left_out, find)


def _add_up_masses(masses: MassShares, pose: Pose, rows: Ints) -> Floats:
    """Add up mass centres of rows by their shares (k, 3).

    One pose and many are the same bit for bit.
    """
    body = find_body(pose, rows.tolist())
    maps, moments = body.maps.reshape(len(body.maps), -1, 12), np.empty((len(body.maps), 3))
    numbers, shares, centres = np.searchsorted(body.rows, rows), masses.shares[body.rows], masses.centres[body.rows]
    kernels.posture_weight.add_up_masses(prepare_for_kernel(maps), numbers, shares, centres, moments)
    return moments
