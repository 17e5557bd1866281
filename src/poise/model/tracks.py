"""Tracks: keys of one channel of one joint, with interpolation."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InputError
from poise.maths import rotations
from poise.maths.arguments import named, require, several
from poise.maths.arrays import Floats, finite, frozen, short
from poise.maths.in_words import in_words
from poise.maths.options import one_of
from poise.model.skeleton import Kind, Skeleton

Path = Literal["translation", "rotation", "scale"]
Interpolation = Literal["LINEAR", "STEP", "CUBICSPLINE"]

_WIDTHS = {"translation": 3, "rotation": 4, "scale": 3}
_INTERPOLATIONS = ("LINEAR", "STEP", "CUBICSPLINE")
# values per spline key: in-tangent, value, out-tangent
_PARTS = 3


class Track(NamedTuple):
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
    It is a plain record: `checked`, `at` and the clip validate its fields.
    """

    joint: int
    path: Path
    interpolation: Interpolation
    times: Floats
    values: Floats

    def __repr__(self) -> str:
        return in_words(self)

    def checked(self) -> Track:
        """Check the fields; return a track with read-only arrays.

        Writeable arrays are copied.

        Raises
        ------
        InputError
            For other words, shapes and numbers, and for a rotation of zero length.
        """
        joint: Any = self.joint
        if isinstance(joint, bool | np.bool_) or not isinstance(joint, int | np.integer) or joint < 0:
            such = f"skeleton.index({short(joint)})" if isinstance(joint, str) else "skeleton.index('Head')"
            message = f"the joint of a Track is its row in the skeleton, such as {such}, not {named(joint)}"
            raise InputError(message)
        one_of("the path of a Track", self.path, tuple(_WIDTHS))
        one_of("the interpolation of a Track", self.interpolation, _INTERPOLATIONS)
        times = _kept(finite(self.times, "the times of a Track"))
        if times.ndim != 1 or not len(times):
            message = f"the times of a Track are one or more in a row; their shape is {times.shape}"
            raise InputError(message)
        if (times[1:] < times[:-1]).any():
            message = "the times of a Track must not decrease"
            raise InputError(message)
        values = _kept(finite(self.values, "the values of a Track"))
        parts = (_PARTS,) if self.interpolation == "CUBICSPLINE" else ()
        shape = (len(times), *parts, _WIDTHS[self.path])
        if values.shape != shape:
            what = f"{self.interpolation} keys of a {self.path} at {len(times)} times"
            raise InputError(f"{what} need values of shape {shape}; theirs is {values.shape}")
        if self.path == "rotation" and not (values[:, 1] if parts else values).any(axis=-1).all():
            message = "a rotation of a Track has zero length; the identity is (1, 0, 0, 0)"
            raise InputError(message)
        return self if times is self.times and values is self.values else self._replace(times=times, values=values)

    def at(self, t: ArrayLike) -> Floats:
        """Return the values at times t [s].

        Before the first key and after the last one their values hold.
        """
        return self.checked().sampled(finite(t, "the times"))

    def sampled(self, t: Floats) -> Floats:
        """Sample a valid track without checking it.

        A clip may have thousands of tracks; see `at`.
        """
        lower, weight = bracket(self.times, t)
        upper = np.minimum(lower + 1, len(self.times) - 1)
        if self.interpolation == "STEP":
            last = (weight >= 1.0)[..., None]
            return np.where(last, self.values[upper], self.values[lower])
        if self.interpolation == "CUBICSPLINE":
            return self._spline(lower, upper, weight[..., None])
        a, b = self.values[lower], self.values[upper]
        return rotations.slerp(a, b, weight) if self.path == "rotation" else a + weight[..., None] * (b - a)

    def _spline(self, lower: np.ndarray, upper: np.ndarray, s: Floats) -> Floats:
        """Sample a cubic Hermite spline.

        Tangents are scaled by the key distance (glTF 2.0, appendix C).
        """
        span = (self.times[upper] - self.times[lower])[..., None]
        p0, m0 = self.values[lower, 1], self.values[lower, 2] * span
        p1, m1 = self.values[upper, 1], self.values[upper, 0] * span
        s2, s3 = s * s, s * s * s
        value = (2 * s3 - 3 * s2 + 1) * p0 + (s3 - 2 * s2 + s) * m0 + (3 * s2 - 2 * s3) * p1 + (s3 - s2) * m1
        return rotations.normalised(value) if self.path == "rotation" else value


def check_tracks(skeleton: Skeleton, tracks: Any) -> tuple[Track, ...]:
    """Check tracks against a skeleton; return them as a tuple.

    Raises
    ------
    InputError
        As `Track.checked`, for a row outside the skeleton, and for rotations of a joint without a quaternion in q.
    """
    given = several(tracks, "the tracks of a clip", "[poise.Track(...)]")
    found = tuple([require(track, Track, "each track of a clip").checked() for track in given])
    last = max([track.joint for track in found], default=0)
    if found and last >= len(skeleton):
        message = f"a track moves row {last}; the skeleton has {len(skeleton)} joints, rows 0 to {len(skeleton) - 1}"
        raise InputError(message)
    turned = np.fromiter({track.joint for track in found if track.path == "rotation"}, dtype=np.int64)
    for row in turned[skeleton.kinds[turned] < Kind.BALL]:
        kind = Kind(skeleton.kinds[row]).name.lower()
        message = (
            f"a rotation track turns a ball or free joint; {skeleton.names[row]!r} is a {kind} joint, and a Clip holds "
            "its values in q"
        )
        raise InputError(message)
    return found


def bracket(times: Floats, t: Floats) -> tuple[np.ndarray, Floats]:
    """Find the two times around t, and its fraction between.

    Return the index of the last time at or before t, and the fraction 0 to 1 towards the next; both are clamped at the
    ends.
    """
    lower = np.clip(np.searchsorted(times, t, side="right") - 1, 0, max(len(times) - 2, 0))
    upper = np.minimum(lower + 1, len(times) - 1)
    span = times[upper] - times[lower]
    weight = np.where(span > 0, (t - times[lower]) / np.where(span > 0, span, 1.0), (t > times[lower]) * 1.0)
    return lower, np.clip(weight, 0.0, 1.0)


def _kept(array: Floats) -> Floats:
    """Return a read-only array; copy it if it is writable."""
    if array.flags.writeable:
        array = array.copy()
        frozen(array)
    return array
