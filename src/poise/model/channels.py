"""Channels: keys of one property of one joint, with interpolation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from poise.calls.argument_checks import check_choice, check_entries, check_type, describe_value
from poise.calls.old_names import make_alias
from poise.errors import InputError
from poise.formatting import format_fields
from poise.maths import rotations
from poise.maths.arrays import Floats, abbreviate, check_finite, freeze_array
from poise.model.skeleton import Kind, Skeleton

ChannelPath = Literal["translation", "rotation", "scale"]
Interpolation = Literal["LINEAR", "STEP", "CUBICSPLINE"]

_CHANNEL_WIDTHS = {"translation": 3, "rotation": 4, "scale": 3}
_INTERPOLATIONS = ("LINEAR", "STEP", "CUBICSPLINE")
# values per spline key: in-tangent, value, out-tangent
_SPLINE_KEY_VALUES = 3


class Channel(NamedTuple):
    """Keys of one channel of one joint.

    Parameters
    ----------
    joint
        Row of the joint in the skeleton, such as skeleton.index("Head").
    path
        "translation", "rotation" (both relative to the parent) or "scale".
    interpolation
        "LINEAR", "STEP" or "CUBICSPLINE".
    times
        (k,) [s], k of at least 1, not decreasing.
    values
        (k, 3) translations or scales, (k, 4) rotations w x y z; for "CUBICSPLINE" (k, 3, 3) or (k, 3, 4): in-tangent,
        value, out-tangent.

    Notes
    -----
    It is a plain record: `check`, `at` and the clip validate its fields.
    """

    joint: int
    path: ChannelPath
    interpolation: Interpolation
    times: Floats
    values: Floats

    def __repr__(self) -> str:
        return format_fields(self)

    def check(self) -> Channel:
        """Check the fields; return a track with read-only arrays.

        Writeable arrays are copied.

        Raises
        ------
        InputError
            For other words, shapes and numbers, and for a rotation of zero length.
        """
        joint: Any = self.joint
        if isinstance(joint, bool | np.bool_) or not isinstance(joint, int | np.integer) or joint < 0:
            example = f"skeleton.index({abbreviate(joint)})" if isinstance(joint, str) else "skeleton.index('Head')"
            message = (
                f"the joint of a Channel is its row in the skeleton, such as {example}, not {describe_value(joint)}"
            )
            raise InputError(message)
        check_choice(self.path, "the path of a Channel", tuple(_CHANNEL_WIDTHS))
        check_choice(self.interpolation, "the interpolation of a Channel", _INTERPOLATIONS)
        times = _freeze_array(check_finite(self.times, "the times of a Channel"))
        if times.ndim != 1 or not len(times):
            message = f"the times of a Channel are one or more in a row; their shape is {times.shape}"
            raise InputError(message)
        if (times[1:] < times[:-1]).any():
            message = "the times of a Channel must not decrease"
            raise InputError(message)
        values = _freeze_array(check_finite(self.values, "the values of a Channel"))
        spline_axis = (_SPLINE_KEY_VALUES,) if self.interpolation == "CUBICSPLINE" else ()
        shape = (len(times), *spline_axis, _CHANNEL_WIDTHS[self.path])
        if values.shape != shape:
            label = f"{self.interpolation} keys of a {self.path} at {len(times)} times"
            raise InputError(f"{label} need values of shape {shape}; theirs is {values.shape}")
        if self.path == "rotation" and not (values[:, 1] if spline_axis else values).any(axis=-1).all():
            message = "a rotation of a Channel has zero length; the identity is (1, 0, 0, 0)"
            raise InputError(message)
        return self if times is self.times and values is self.values else self._replace(times=times, values=values)

    if not TYPE_CHECKING:  # an annotation would make it a field
        checked = make_alias("Channel.checked", check)

    def at(self, t: ArrayLike) -> Floats:
        """Return the values at times t [s].

        Before the first key and after the last one their values hold.
        """
        return self.check().sample(check_finite(t, "the times"))

    def sample(self, t: Floats) -> Floats:
        """Sample a valid track without checking it.

        A clip may have thousands of tracks; see `at`.
        """
        lower, fraction = bracket_times(self.times, t)
        upper = np.minimum(lower + 1, len(self.times) - 1)
        if self.interpolation == "STEP":
            is_at_upper = (fraction >= 1.0)[..., None]
            return np.where(is_at_upper, self.values[upper], self.values[lower])
        if self.interpolation == "CUBICSPLINE":
            return self._sample_spline(lower, upper, fraction[..., None])
        a, b = self.values[lower], self.values[upper]
        return rotations.slerp(a, b, fraction) if self.path == "rotation" else a + fraction[..., None] * (b - a)

    if not TYPE_CHECKING:  # an annotation would make it a field
        sampled = make_alias("Channel.sampled", sample)

    def _sample_spline(self, lower: np.ndarray, upper: np.ndarray, s: Floats) -> Floats:
        """Sample a cubic Hermite spline.

        Tangents are scaled by the key distance (glTF 2.0, appendix C).
        """
        span = (self.times[upper] - self.times[lower])[..., None]
        p0, m0 = self.values[lower, 1], self.values[lower, 2] * span
        p1, m1 = self.values[upper, 1], self.values[upper, 0] * span
        s2, s3 = s * s, s * s * s
        value = (2 * s3 - 3 * s2 + 1) * p0 + (s3 - 2 * s2 + s) * m0 + (3 * s2 - 2 * s3) * p1 + (s3 - s2) * m1
        return rotations.normalise(value) if self.path == "rotation" else value


def check_tracks(skeleton: Skeleton, tracks: Any) -> tuple[Channel, ...]:
    """Check tracks against a skeleton; return them as a tuple.

    Raises
    ------
    InputError
        As `Channel.check`, for a row outside the skeleton, and for rotations of a joint without a quaternion in q.
    """
    entries = check_entries(tracks, "the tracks of a clip", "[poise.Channel(...)]")
    checked_tracks = tuple([check_type(track, Channel, "each track of a clip").check() for track in entries])
    last_row = max([track.joint for track in checked_tracks], default=0)
    if checked_tracks and last_row >= len(skeleton):
        message = (
            f"a track moves row {last_row}; the skeleton has {len(skeleton)} joints, rows 0 to {len(skeleton) - 1}"
        )
        raise InputError(message)
    rotated_rows = np.fromiter({track.joint for track in checked_tracks if track.path == "rotation"}, dtype=np.int64)
    for row in rotated_rows[skeleton.kinds[rotated_rows] < Kind.BALL]:
        kind = Kind(skeleton.kinds[row]).name.lower()
        message = (
            f"a rotation track turns a ball or free joint; {skeleton.names[row]!r} is a {kind} joint, and a Clip holds "
            "its values in q"
        )
        raise InputError(message)
    return checked_tracks


def bracket_times(times: Floats, t: Floats) -> tuple[np.ndarray, Floats]:
    """Find the two times around t, and its fraction between.

    Return the index of the last time at or before t, and the fraction 0 to 1 towards the next; both are clamped at the
    ends.
    """
    lower = np.clip(np.searchsorted(times, t, side="right") - 1, 0, max(len(times) - 2, 0))
    upper = np.minimum(lower + 1, len(times) - 1)
    span = times[upper] - times[lower]
    fraction = np.where(span > 0, (t - times[lower]) / np.where(span > 0, span, 1.0), (t > times[lower]) * 1.0)
    return lower, np.clip(fraction, 0.0, 1.0)


def _freeze_array(array: Floats) -> Floats:
    """Return a read-only array; copy it if it is writable."""
    if array.flags.writeable:
        array = array.copy()
        freeze_array(array)
    return array
