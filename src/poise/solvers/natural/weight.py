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
from poise.solvers.natural.body_maps import find_body, find_maps, find_points, flatten_maps
from poise.solvers.natural.limbs import RoleLimb, find_limbs

_HEEL, _TIP, _HALF_WIDTH = (
    kernels.posture_weight.HEEL_SHINS,
    kernels.posture_weight.TIP_SHINS,
    kernels.posture_weight.HALF_WIDTH_SHINS,
)
_ALONG = np.array([[_HEEL], [_HEEL], [_TIP], [_TIP]])  # of each corner along the toes, and to their left
_ASIDE = _HALF_WIDTH * np.array([[-1.0], [1.0], [-1.0], [1.0]])
# Shins from the ankle to the ball of a foot without toes, toes beyond it, and a whole foot.
_BALL, _TOES, _FOOT = 0.25, 0.1, 0.6
_FADE_SHINS = 0.3  # shin lengths: a start whose centre of mass is farther from its feet does not stand
_STANDS_SHINS = 0.3  # shin lengths: other feet of a start stand if they are no higher than this above a pinned one
_ONSET_SHINS = 0.04  # shin lengths: left beside the soles, so that the root begins to move smoothly
_THIGH_SHARE = 0.5  # share of a leg's mass that moves with its hip
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
    parts = get_or_compute(
        skeleton, "parts with weight", (tuple(limb.tip for limb in limbs), tuple(pinned), tips is None),
        lambda: _find_parts(skeleton, limbs, pinned, masses, is_posed=tips is None),
    )  # fmt: skip
    known = get_or_compute(start, "support", parts.key[:2], lambda: _find_support(parts, start, masses))
    own_tips = np.empty((len(after.flat_q), 0, 3)) if tips is None else tips
    offsets = np.empty((len(after.flat_q), 3))
    count = _fill_offsets(parts, after, own_tips, known, _ONSET_SHINS * parts.soles[0].shin, offsets)
    return offsets if count else None


class _Parts(NamedTuple):
    """What of a figure has weight, and what bears it.

    key        tips of limbs, which are pinned, and whether they are where poses say
    rows       with a mass that are not parts of lines
    lines      rows of first joints of limbs that count as lines to their tips, with their masses (l, 2)
    soles      the standing ones first
    standing   how many of them stand
    sole_tips  (s,) numbers of their tips; -1 where a foot is where its pose says
    numbers    (s, SOLE_ROW) of the soles
    """

    key: tuple[object, ...]
    rows: Ints
    shares: Floats
    centres: Floats
    lines: tuple[int, ...]
    line_masses: Floats
    soles: tuple[_Sole, ...]
    standing: int
    sole_tips: Ints
    numbers: Floats


class _Support(NamedTuple):
    """What starts say of the support.

    corners  (1|k, 4 p, 2) of standing soles
    stands   (1|k,) how far they stand, 0 to 1
    """

    corners: Floats
    stands: Floats


def _find_parts(
    skeleton: Skeleton, limbs: Sequence[RoleLimb], pinned: Sequence[bool], masses: MassShares, *, is_posed: bool
) -> _Parts:
    standing = [j for j, is_pinned in enumerate(pinned) if is_pinned]
    others = [j for j, limb in enumerate(limbs) if limb.kind == "leg" and j not in standing]
    known = {limb.tip for limb in limbs}
    free = [limb for limb in find_limbs(skeleton) if limb.kind == "leg" and limb.tip not in known]
    soles = [_find_sole(skeleton, limbs[j]) for j in (*standing, *others)] + [_find_sole(skeleton, one) for one in free]
    tips = [-1 if is_posed else j for j in (*standing, *others)] + [-1] * len(free)
    lines = [] if is_posed else [[limb.first, limb.middle, limb.tip] for limb in limbs]
    heavy = np.flatnonzero(masses.shares)
    heavy = heavy[~np.isin(heavy, [row for rows in lines for row in rows])]
    line_masses = [(masses.shares[rows].sum(), masses.shares[rows] @ _CENTRE_SHARES) for rows in lines]
    return _Parts(
        (tuple([limb.tip for limb in limbs]), tuple(pinned), is_posed),
        heavy, masses.shares[heavy], masses.centres[heavy], tuple(rows[0] for rows in lines),
        np.array(line_masses).reshape(-1, 2), tuple(soles), len(standing), np.array(tips),
        np.array([_pack_sole(sole) for sole in soles]),
    )  # fmt: skip


def _pack_sole(sole: _Sole) -> list[float]:
    """Return the numbers of a sole; see kernels/posture_weight.py."""
    ends = np.array([sole.ball - _HEEL, max(sole.ball + _TOES - _TIP, 0.0)]) / (_TIP - _HEEL)
    return [*sole.ahead, sole.shin, *ends]


def _find_support(parts: _Parts, start: Pose, masses: MassShares) -> _Support:
    body, soles = find_standing_frame(start.skeleton), parts.soles[: parts.standing]
    corners = np.concatenate([_find_corners(sole, body, start) for sole in soles], axis=1)
    return _Support(corners, _measure_standing(parts.soles[0], body, start, masses))


def _fill_offsets(parts: _Parts, pose: Pose, tips: Floats, support: _Support, onset: float, offsets: Floats) -> int:
    """Fill offsets (k, 3) of poses to their support. Return how many are not zero."""
    rows = (*parts.rows.tolist(), *parts.lines, *[sole.row for sole in parts.soles])
    body = find_body(pose, rows)
    numbers = get_or_compute(
        pose.skeleton, "numbers with weight", (parts.key, len(body.rows)),
        lambda: np.array([body.numbers[row] for row in rows], dtype=np.int64),
    )  # fmt: skip
    heavy, lines, soles = np.split(numbers, [len(parts.rows), len(parts.rows) + len(parts.lines)])
    frame = find_standing_frame(pose.skeleton)
    return kernels.posture_weight.find_support_offsets(
        flatten_maps(body), heavy, parts.shares, parts.centres, lines,
        parts.line_masses, prepare_for_kernel(tips), soles, parts.sole_tips, parts.numbers, support.corners,
        support.stands, np.stack([frame.forward, frame.left, frame.up]), onset,
        np.empty((4 * len(soles), 2)), offsets,
    )  # fmt: skip


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


class UpperMass(NamedTuple):
    """The mass above the legs.

    rows     of the skeleton
    shares   (m,) of it
    centres  (m, 3) in the frames of the rows
    share    of the whole mass
    """

    rows: tuple[int, ...]
    shares: Floats
    centres: Floats
    share: float


def find_upper_mass(skeleton: Skeleton) -> UpperMass:
    """Find the mass above the legs."""

    def find() -> UpperMass:
        masses = _find_masses(skeleton)
        assert masses is not None  # an offset to a support has been found
        rows = _list_above(skeleton, masses)
        share = float(masses.shares[rows].sum())
        return UpperMass(tuple(rows.tolist()), masses.shares[rows] / share, masses.centres[rows], share)

    return get_or_compute(skeleton, "upper mass", None, find)


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


def _find_corners(sole: _Sole, body: BodyFrame, pose: Pose) -> Floats:
    """Find a sole's corners (k, 4, 2) along front and left."""
    ahead, ankle = _find_ahead(sole, pose), find_points(pose, sole.row)
    ahead = ahead - dot_rows(ahead, body.up)[:, None] * body.up
    size = np.sqrt(dot_rows(ahead, ahead))[:, None]
    ahead = ahead / np.where(size > 0.0, size, 1.0)
    aside = cross(body.up, ahead)
    points = ankle[:, None] + sole.shin * (_ALONG * ahead[:, None] + _ASIDE * aside[:, None])
    corners = np.empty((len(points), 4, 2))
    corners[..., 0], corners[..., 1] = dot_rows(points, body.forward), dot_rows(points, body.left)
    return corners


def _find_ahead(sole: _Sole, pose: Pose) -> Floats:
    """Find directions (k, 3) of a foot to its toes."""
    maps = find_maps(pose, sole.row)
    return maps[..., 0] * sole.ahead[0] + maps[..., 1] * sole.ahead[1] + maps[..., 2] * sole.ahead[2]


def _measure_standing(pinned: _Sole, body: BodyFrame, start: Pose, masses: MassShares) -> Floats:
    """Measure the standing share of starts. It is 1 with the weight above the feet, 0 far beside them."""
    skeleton, count = start.skeleton, len(start.flat_q)
    feet = [_find_sole(skeleton, limb) for limb in find_limbs(skeleton) if limb.kind == "leg"]
    low = dot_rows(find_points(start, pinned.row), body.up)
    corners = [_find_corners(pinned, body, start)]
    for foot in feet:
        is_low: Bools = dot_rows(find_points(start, foot.row), body.up) < low + _STANDS_SHINS * pinned.shin
        corners.append(np.where(is_low[:, None, None], _find_corners(foot, body, start), corners[0]))
    soles, rows = (pinned, *feet), np.flatnonzero(masses.shares)
    parts = _Parts(
        ("stands", pinned.row), rows, masses.shares[rows], masses.centres[rows], (), np.empty((0, 2)), soles,
        len(soles), np.zeros(len(soles), dtype=np.int64), np.array([_pack_sole(sole) for sole in soles]),
    )  # fmt: skip
    offsets, support = np.empty((count, 3)), _Support(np.concatenate(corners, axis=1), np.ones(1))
    _fill_offsets(parts, start, np.zeros((count, 1, 3)), support, 0.0, offsets)
    return smoothstep(1.0 - np.sqrt(dot_rows(offsets, offsets)) / (_FADE_SHINS * pinned.shin))
