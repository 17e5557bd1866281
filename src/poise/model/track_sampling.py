"""Sampling of all tracks of a keyed clip at once.

Keys of tracks with the same path and interpolation lie in one array. Its first axes are the components of a value, so
every step is one NumPy call for all tracks and times. Results equal those of `Channel.sample` bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from poise.maths import rotations
from poise.maths.arrays import Floats, Ints, check_finite
from poise.model.channels import Channel
from poise.model.joint_tree import find_rotation_starts
from poise.model.numpy_kinematics import normalise_rotations
from poise.model.skeleton import Kind, Skeleton

_MAX_BLOCK_VALUES = 8192  # values of a group at once: its ten intermediate arrays stay in a processor's cache
_SPLINE_PARTS = 3  # in-tangent, value, out-tangent


class _Group(NamedTuple):
    """Tracks with the same path and interpolation.

    joints      rows of the joints, one for each track
    time_rows   row of each track's times in a table
    key_starts  first key of each track in `values`
    values      (width, keys), or (3, width, keys) for splines
    """

    path: str
    interpolation: str
    joints: list[int]
    time_rows: Ints
    key_starts: Ints
    values: Floats


class TrackTable:
    """Keys of many tracks, joined to few arrays. Of several tracks for one property the last counts.

    Parameters
    ----------
    tracks
        Valid tracks.
    """

    def __init__(self, tracks: Iterable[Channel]) -> None:
        times: list[Floats] = []
        row_by_times: dict[int, int] = {}  # tracks of a file often share one array of times
        members: dict[tuple[str, str], list[tuple[Channel, int]]] = {}
        for track in {(track.joint, track.path): track for track in tracks}.values():
            row = row_by_times.setdefault(id(track.times), len(times))
            if row == len(times):
                times.append(track.times)
            members.setdefault((track.path, track.interpolation), []).append((track, row))
        self._times = times
        counts = np.array([len(row_times) for row_times in times], dtype=np.int64)
        self._flat_times = np.concatenate(times) if times else np.zeros(0)
        self._time_starts = (np.cumsum(counts) - counts)[:, None]
        self._last_lower = np.maximum(counts - 2, 0)[:, None]
        self._last_key = (counts - 1)[:, None]
        self._groups = [_join_tracks(path, interpolation, pairs) for (path, interpolation), pairs in members.items()]

    def iterate_samples(self, t: Floats) -> Iterator[tuple[str, list[int], slice, Floats]]:
        """Iterate path, joints, slice of the times and values.

        Values are (width, tracks, times of the slice).

        Parameters
        ----------
        t
            (frames,) times [s].
        """
        if not self._groups:
            return
        track_count = max(len(group.joints) for group in self._groups)
        block_length = max(_MAX_BLOCK_VALUES // track_count, 1)
        for start in range(0, max(len(t), 1), block_length):  # no times give empty arrays of each path
            block = slice(start, start + block_length)
            brackets = self._bracket_times(t[block])
            for group in self._groups:
                yield group.path, group.joints, block, _sample_group(group, brackets)

    def _bracket_times(self, t: Floats) -> _Brackets:
        """Find the keys around times t (frames,) in every track.

        `bracket_times` does the same for one.
        """
        counts = np.empty((len(self._times), len(t)), dtype=np.int64)
        for row, row_times in enumerate(self._times):
            counts[row] = row_times.searchsorted(t, side="right")
        lower = np.minimum(np.maximum(counts - 1, 0), self._last_lower)
        upper = np.minimum(lower + 1, self._last_key)
        lower_times = self._flat_times[self._time_starts + lower]
        span, elapsed = self._flat_times[self._time_starts + upper] - lower_times, t - lower_times
        has_span = span > 0
        fraction = np.where(has_span, elapsed / np.where(has_span, span, 1.0), (elapsed > 0) * 1.0)
        return _Brackets(lower, upper, np.minimum(np.maximum(fraction, 0.0), 1.0), span)


class _Brackets(NamedTuple):
    """Keys around times, and fractions between. Each is (arrays of times, frames)."""

    lower: Ints
    upper: Ints
    fraction: Floats
    span: Floats


def _join_tracks(path: str, interpolation: str, pairs: list[tuple[Channel, int]]) -> _Group:
    counts = np.array([len(track.times) for track, _ in pairs], dtype=np.int64)
    values = np.concatenate([track.values for track, _ in pairs])
    axes = (1, 2, 0) if interpolation == "CUBICSPLINE" else (1, 0)
    return _Group(
        path,
        interpolation,
        [track.joint for track, _ in pairs],
        np.array([row for _, row in pairs], dtype=np.int64),
        (np.cumsum(counts) - counts)[:, None],
        np.ascontiguousarray(values.transpose(axes)),
    )


def _sample_group(group: _Group, brackets: _Brackets) -> Floats:
    """Sample a group as (width, tracks, frames)."""
    rows = group.time_rows
    fraction = brackets.fraction[rows]
    lower, upper = group.key_starts + brackets.lower[rows], group.key_starts + brackets.upper[rows]
    if group.interpolation == "STEP":
        return group.values.take(np.where(fraction >= 1.0, upper, lower), axis=-1)
    a, b = group.values.take(lower, axis=-1), group.values.take(upper, axis=-1)
    if group.interpolation == "CUBICSPLINE":
        value = _interpolate_spline(a, b, fraction, brackets.span[rows])
        return rotations.normalise_components(value) if group.path == "rotation" else value
    return rotations.slerp_components(a, b, fraction) if group.path == "rotation" else a + fraction * (b - a)


def _interpolate_spline(a: Floats, b: Floats, s: Floats, span: Floats) -> Floats:
    """Interpolate cubic Hermite splines, as in `Channel`. Keys a and b are (3, width, tracks, frames)."""
    _, p0, out_tangent = a
    in_tangent, p1, _ = b
    s2, s3 = s * s, s * s * s
    m0, m1 = out_tangent * span, in_tangent * span
    return (2 * s3 - 3 * s2 + 1) * p0 + (s3 - 2 * s2 + s) * m0 + (3 * s2 - 2 * s3) * p1 + (s3 - s2) * m1


# --- Configurations of a skeleton ------------------------------------------------------------------------------------


class TrackSamples(NamedTuple):
    """Configurations, translations and scales.

    They are (..., nq), (..., n, 3) and (..., n, 3). Without a track of its kind an array is None.
    """

    q: Floats
    translations: Floats | None
    scales: Floats | None


def sample_tracks(skeleton: Skeleton, table: TrackTable, t: Floats) -> TrackSamples:
    """Sample tracks at times t (...) [s]. Joints without a track stay at rest.

    Raises
    ------
    InputError
        For a spline with a rotation of zero length, or with numbers too large.
    """
    frame_count = t.size
    q = np.broadcast_to(skeleton.rest_q, (frame_count, skeleton.nq)).copy()
    translations: Floats | None = None
    scales: Floats | None = None
    for path, joints, block, values in table.iterate_samples(t.reshape(-1)):
        if path == "rotation":
            _store_rotations(skeleton, q[block], joints, values)
        elif path == "translation":
            translations = _store_translations(skeleton, q, translations, joints, block, values)
        else:
            if scales is None:
                rest_scales = np.diagonal(skeleton.B[:, :, :3], axis1=1, axis2=2)
                scales = np.broadcast_to(rest_scales, (frame_count, len(skeleton), 3)).copy()
            scales[block, joints] = values.transpose(2, 1, 0)
    q = normalise_rotations(skeleton, check_finite(q, "q"))
    for label, array in (("translations", translations), ("scales", scales)):
        if array is not None:
            check_finite(array, label)
    shape = (*t.shape, len(skeleton), 3)
    return TrackSamples(
        q.reshape(*t.shape, skeleton.nq),
        None if translations is None else translations.reshape(shape),
        None if scales is None else scales.reshape(shape),
    )


def _store_rotations(skeleton: Skeleton, q: Floats, joints: list[int], values: Floats) -> None:
    """Store parent-relative rotations in q, without A's rotation.

    Rotations are (4, tracks, frames), q is (frames, nq).
    """
    inverse_rest = rotations.inverse(skeleton.A[joints, 3:])[:, None]
    columns = find_rotation_starts(skeleton.kinds[joints], skeleton.q_start[joints])[:, None] + np.arange(4)
    q[:, columns] = rotations.multiply(inverse_rest, np.moveaxis(values, 0, -1)).transpose(1, 0, 2)


def _store_translations(
    skeleton: Skeleton, q: Floats, translations: Floats | None, joints: list[int], block: slice, values: Floats
) -> Floats | None:
    """Store parent-relative translations (3, tracks, frames).

    A free joint has them in q; of the others the array is returned.
    """
    is_free = skeleton.kinds[joints] == Kind.FREE
    for k in np.flatnonzero(is_free).tolist():
        rest, start = skeleton.A[joints[k]], int(skeleton.q_start[joints[k]])
        q[block, start : start + 3] = rotations.rotate(rotations.inverse(rest[3:]), values[:, k].T - rest[:3])
    if is_free.all():
        return translations
    if translations is None:
        translations = np.broadcast_to(skeleton.A[:, :3], (len(q), len(skeleton), 3)).copy()
    rows = np.array(joints)[~is_free]
    translations[block, rows] = (values[:, ~is_free] if is_free.any() else values).transpose(2, 1, 0)
    return translations
