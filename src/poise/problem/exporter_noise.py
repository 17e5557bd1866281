"""Local transforms of a start, without the rounding of exporters.

Exporters write the scale and translation of every joint into every frame, in float32 and after a decomposition: 1 is
1.0000007 in one frame and 0.9999998 in the next. Each frame would need a plan of its own. A plan takes such values as
the values that they were before rounding. The length of each bone has then a relative error of at most
`LENGTH_ERROR_BY_NOISE`, and the answers are measured with the values of the file and corrected
(solvers/base/answer_refinement.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from poise.maths.arrays import Bools, Floats, Ints
from poise.model.pose import Pose
from poise.model.skeleton import Skeleton
from poise.problem.dof_layout import Layout
from poise.problem.frame_packing import SIMILARITY_TOLERANCE
from poise.runtime.result_cache import get_or_compute

# Largest relative difference that counts as rounding. Rest scales and clips of eight exporters differ by up to 7e-6 in
# scale and 3e-6 in translation; compressed clips differ by more than this, and so do scales set by hand.
LENGTH_ERROR_BY_NOISE = 2e-5
_MAX_OFFSET_RATIO = 4.0  # longest offset of a joint whose scales are cleaned, in lengths of the limbs
_NO_NOISE = np.zeros(1, dtype=np.bool_)


class PlanStart(NamedTuple):
    """Start as a plan takes it.

    pose       the start, or its copy with other translations and scales
    has_noise  (1|k,) whether a value of each start differs from the plan's
    """

    pose: Pose
    has_noise: Bools


class _RowValues(NamedTuple):
    """Values of a layout's rows, for comparison.

    scaled_rows    rows of the skeleton whose scales a plan takes
    rest_scales    (n, 3) their scales in the rest pose; NaN where the transform behind a joint is no scale
    offset_rows    rows of the skeleton whose translations a plan takes
    translations   (n, 3) of all rows in the rest pose
    noise_lengths  (r, 1) largest differences of these rows that count as rounding [file units]
    has_noise      whether rest scales are rounded values that no rigid plan takes
    clean_scales   (n, 3) rest scales without rounding
    limb_length    total length of the bones between moving joints [file units]
    """

    scaled_rows: tuple[int, ...]
    rest_scales: Floats
    offset_rows: Ints
    translations: Floats
    noise_lengths: Floats
    has_noise: bool
    clean_scales: Floats
    limb_length: float


def remove_exporter_noise(start: Pose, layout: Layout) -> PlanStart:
    """Return the start as the plan of a layout takes it.

    A scale near 1 or near the joint's rest scale becomes that value, and a translation near the joint's rest offset
    becomes this offset.
    """
    has_own_values = start.translations is not None or start.scales is not None
    if not has_own_values and get_or_compute(start.skeleton, "is rigid", None, lambda: _is_rigid(start.skeleton)):
        return PlanStart(start, _NO_NOISE)
    values = get_or_compute(start.skeleton, "noise rows", _make_key(layout), lambda: _list_values(start, layout))
    if not has_own_values and not values.has_noise:
        return PlanStart(start, _NO_NOISE)
    translations, has_noisy_translations = _clean_translations(start, values)
    scales, has_noisy_scales = _clean_scales(start, values)
    has_noise = has_noisy_translations | has_noisy_scales
    if not has_noise.any():
        return PlanStart(start, _NO_NOISE)
    return PlanStart(Pose.make_unchecked(start.skeleton, start.q, translations, scales), has_noise)


def _is_rigid(skeleton: Skeleton) -> bool:
    """Return whether no joint has a scale."""
    return bool((skeleton.B[:, :, :3] == np.eye(3)).all())


def _make_key(layout: Layout) -> tuple[object, ...]:
    return layout.base_row, layout.rows_below_base, layout.offset_rows.tobytes(), layout.moving_rows


def _list_values(start: Pose, layout: Layout) -> _RowValues:
    skeleton = start.skeleton
    scaled_rows = (*skeleton.list_path(layout.base_row), *layout.rows_below_base)
    rest_scales, clean_scales = get_or_compute(skeleton, "rest scales", None, lambda: _find_rest_scales(skeleton))
    translations = skeleton.A[:, :3]
    lengths = np.sqrt((translations[layout.offset_rows] ** 2).sum(axis=1, keepdims=True))
    # What stands between moving joints is a bone; a root may be far away.
    moving_rows = set(layout.moving_rows)
    is_bone = [not moving_rows.isdisjoint(skeleton.list_path(row)[:-1]) for row in layout.offset_rows.tolist()]
    bone_lengths = lengths[is_bone]
    limb_length = float(bone_lengths.sum())
    shortest = bone_lengths[bone_lengths > 0.0].min(initial=limb_length)  # for joints at the origin of their parents
    noise_lengths = LENGTH_ERROR_BY_NOISE * np.minimum(np.where(lengths > 0.0, lengths, shortest), limb_length)
    scales = rest_scales[list(scaled_rows)]
    is_similar = np.ptp(scales, axis=1, keepdims=True) <= SIMILARITY_TOLERANCE
    has_noise = (
        bool(((clean_scales[list(scaled_rows)] != scales) & ~is_similar).any())
        and not np.isnan(scales).any()
        and lengths.max(initial=0.0) <= _MAX_OFFSET_RATIO * limb_length
    )
    return _RowValues(
        scaled_rows, rest_scales, layout.offset_rows, translations, noise_lengths, has_noise, clean_scales, limb_length
    )


def _find_rest_scales(skeleton: Skeleton) -> tuple[Floats, Floats]:
    """Find the rest scales (n, 3), and the same without rounding.

    They are NaN where the transform behind a joint is not a scale alone.
    """
    scales = np.diagonal(skeleton.B[:, :, :3], axis1=1, axis2=2).copy()
    scale_maps = np.zeros_like(skeleton.B)
    scale_maps[:, [0, 1, 2], [0, 1, 2]] = scales
    is_scale = (scale_maps == skeleton.B).all(axis=(1, 2))
    rest_scales = np.where(is_scale[:, None], scales, np.nan)
    return rest_scales, _round_scales(rest_scales, rest_scales)


def _is_near(scales: Floats, expected: Floats) -> Bools:
    """Return whether scales differ from others by rounding. NaN differs from everything."""
    return np.abs(scales - expected) <= LENGTH_ERROR_BY_NOISE * np.abs(expected)


def _clean_translations(start: Pose, values: _RowValues) -> tuple[Floats | None, Bools]:
    if start.translations is None or not len(values.offset_rows):
        return start.translations, _NO_NOISE
    read = start.translations.take(values.offset_rows, axis=-2)
    rest = values.translations[values.offset_rows]
    differences = read - rest
    is_noise = (differences**2).sum(axis=-1, keepdims=True) <= values.noise_lengths**2
    cleaned = np.where(is_noise, rest, read)
    translations = start.translations.copy()
    translations[..., values.offset_rows, :] = cleaned
    return translations, _find_differences(cleaned, read)


def _has_near_rows(start: Pose, values: _RowValues) -> Bools:
    """Return whether all rows of starts (..., 1, 1) are near.

    A rounded scale would move such a row far.
    """
    rows = values.offset_rows[start.skeleton.parents[values.offset_rows] >= 0]
    offsets = values.translations if start.translations is None else start.translations
    lengths = np.sqrt((offsets.take(rows, axis=-2) ** 2).sum(axis=-1))
    return (lengths.max(axis=-1, initial=0.0) <= _MAX_OFFSET_RATIO * values.limb_length)[..., None, None]


def _clean_scales(start: Pose, values: _RowValues) -> tuple[Floats | None, Bools]:
    if start.scales is None:
        if not values.has_noise:
            return None, _NO_NOISE
        shape = (*start.shape, *values.clean_scales.shape)
        return np.broadcast_to(values.clean_scales, shape), ~_NO_NOISE
    rows = list(values.scaled_rows)
    read, rest = start.scales.take(rows, axis=-2), values.rest_scales[rows]
    cleaned = np.where(_has_near_rows(start, values), _round_scales(read, rest), read)
    if np.isnan(rest).any():
        return start.scales, _NO_NOISE
    scales = start.scales.copy()
    scales[..., rows, :] = cleaned
    return scales, _find_differences(cleaned, read)


def _find_differences(cleaned: Floats, read: Floats) -> Bools:
    """Find the starts (1|k,) with other values (..., rows, 3)."""
    return np.atleast_1d((cleaned != read).any(axis=(-2, -1))).ravel()


def _round_scales(scales: Floats, rest_scales: Floats) -> Floats:
    """Round scales to 1 or to rest scales near them."""
    return np.where(_is_near(scales, np.ones(3)), 1.0, np.where(_is_near(scales, rest_scales), rest_scales, scales))
