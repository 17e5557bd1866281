"""Measures of an edit: differences of a clip from its source.

Frame by frame, lengths in metres of the figure. No measure depends on the frame rate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from poise.errors import InputError
from poise.ground.figure.figure import Figure
from poise.ground.figure.steps import MM, spans
from poise.ground.legs.write_back import hangs_in
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.vectors import median
from poise.model.channels import bracket_times
from poise.model.clip import Clip

CUTOFF = 12.0  # [Hz]
_END = 1.0 / CUTOFF  # [s] so near to an end the filter sees beyond it
_CALM = 1.0  # [m/s^2] smaller accelerations count as this much: what stands still has no ratio
_CALM_JERK = _CALM * 2.0 * np.pi * CUTOFF  # [m/s^3] the same, swinging as fast as the filter lets pass


@dataclass(frozen=True, eq=False)
class Changes:
    """How far a result is from its source.

    joints         names of the skeleton's J joints
    accelerations  (2, J) [m/s^2] of the source and of the result: what 99 % of the frames stay below
    jerks          (2, J) [m/s^3] the largest in any frame
    sideways       [mm] how far the joint that carries the figure is from the source's place, level, at most
    vertical       [mm] the same up or down
    pelvis         [mm] how far the pelvis is above or below its height in the source, at most
    pelvis_median  [mm] the same in the middle one of the frames
    stretch        largest change of a bone's length, relative; exactly 0 where nothing is stretched
    largest_move   [mm] farthest that any joint is from the source
    largest_turn   [deg] farthest that any joint is turned from the source
    """

    joints: tuple[str, ...]
    accelerations: Floats
    jerks: Floats
    sideways: float
    vertical: float
    pelvis: float
    pelvis_median: float
    stretch: float
    largest_move: float
    largest_turn: float

    @property
    def acceleration_ratios(self) -> Floats:
        """(J,) accelerations of the result relative to the source. Both count as 1 m/s^2 at least."""
        before, after = np.maximum(self.accelerations, _CALM)
        return after / before

    @property
    def jerk_ratios(self) -> Floats:
        """(J,) peak jerks of the result relative to the source. Both count as 75 m/s^3 at least."""
        before, after = np.maximum(self.jerks, _CALM_JERK)
        return after / before

    @property
    def worst_acceleration(self) -> tuple[str, float]:
        """Joint with the largest acceleration ratio, and the ratio."""
        return _worst(self.joints, self.acceleration_ratios)

    @property
    def worst_jerk(self) -> tuple[str, float]:
        """Joint with the largest jerk ratio, and the ratio."""
        return _worst(self.joints, self.jerk_ratios)


def _worst(joints: tuple[str, ...], ratios: Floats) -> tuple[str, float]:
    row = int(ratios.argmax())
    return joints[row], float(ratios[row])


def changes_of(source: Clip, result: Clip, figure: Figure, cuts: Sequence[int] = ()) -> Changes:
    """Compare two clips of the same skeleton frame by frame. No frames, or other times: InputError.

    cuts  frames in which the figure stands elsewhere: no acceleration is measured from the frame before
    """
    if not len(source) or not np.array_equal(source.times, result.times):
        raise InputError(f"{source.name!r} and {result.name!r} cannot be compared: they need the same times")
    places = [clip.poses.world.positions / figure.metre for clip in (source, result)]
    moved = places[1] - places[0]
    carrier = rotations.rotate(figure.turn, moved[:, figure.skeleton.index(figure.mover)])
    pelvis = np.abs(pelvis_heights(source, result, figure))
    swung = [accelerations(source.times, place, cuts) for place in places]
    return Changes(
        joints=tuple(figure.skeleton.names),
        accelerations=np.stack([most for most, _ in swung]),
        jerks=np.stack([peak for _, peak in swung]),
        sideways=MM * float(np.linalg.norm(carrier[:, :2], axis=1).max()),
        vertical=MM * float(np.abs(carrier[:, 2]).max()),
        pelvis=float(pelvis.max()),
        pelvis_median=float(median(pelvis)),
        stretch=stretch(source, result, figure),
        largest_move=MM * float(np.linalg.norm(moved, axis=-1).max()),
        largest_turn=_largest_turn(source, result),
    )


def pelvis_heights(source: Clip, result: Clip, figure: Figure) -> Floats:
    """Compute pelvis heights (F,) above the source [mm]. Negative below it."""
    row = figure.skeleton.index(figure.trunk)
    before, after = (clip.poses.world.positions[:, row] for clip in (source, result))
    return MM * rotations.rotate(figure.turn, (after - before) / figure.metre)[:, 2]


def stretch(source: Clip, result: Clip, figure: Figure) -> float:
    """Compute the largest relative change of bone length.

    |l' - l| / l over all frames and bones, from a joint to its parent, of length l > 0.

    Joints that are placed by themselves count as having no bone: those that carry the figure, from the one that is
    moved to the one that leans (hips below a root on the ground), and a foot that does not hang in its leg.
    """
    before, after = (np.linalg.norm(clip.poses.local_positions, axis=-1) for clip in (source, result))
    bones = before > 0
    s, carrying = figure.skeleton, figure.trunk
    placed = [figure.mover, *(leg.foot for leg in figure.legs if not hangs_in(s, leg.foot, leg.lower))]
    while s.index(carrying) > s.index(figure.mover):
        placed.append(carrying)
        carrying = s.names[s.parents[s.index(carrying)]]
    bones[:, [s.index(joint) for joint in placed]] = False
    return float((np.abs(after - before)[bones] / before[bones]).max(initial=0.0))


def _largest_turn(source: Clip, result: Clip) -> float:
    turn = rotations.multiply(rotations.inverse(source.poses.world.rotations), result.poses.world.rotations)
    sine = np.linalg.norm(turn[..., 1:], axis=-1)
    return float(np.degrees(2 * np.arctan2(sine, np.abs(turn[..., 0]))).max())


def accelerations(times: Floats, places: Floats, cuts: Sequence[int] = ()) -> tuple[Floats, Floats]:
    """Compute accelerations and peak jerks (J,) of points (F, J, 3). 99 % of frames stay below the accelerations.

    Each stretch between gaps and cuts is sampled at its median rate, low-passed, and differenced: the acceleration is
    (p+ - 2 p + p-) / t^2, the jerk the difference of neighbouring ones over t. The first and last 1/12 s are left
    out: there the filter sees beyond the end. What is shorter than that has no acceleration: 0.
    """
    found = [_swing(times[rows], places[rows]) for rows in _stretches(times, cuts)]
    none = np.zeros((0, places.shape[1]))
    swing, jerk = (np.concatenate([none, *parts]) for parts in zip(*found, strict=True))
    most = np.percentile(swing, 99, axis=0) if len(swing) else np.zeros(places.shape[1])
    return most, jerk.max(axis=0, initial=0.0)


def _stretches(times: Floats, cuts: Sequence[int]) -> list[slice]:
    """Frames between gaps and cuts."""
    gaps = (np.flatnonzero(spans(times) == 0) + 1).tolist()
    ends = sorted({0, *gaps, *cuts, len(times)})
    return [slice(*pair) for pair in pairwise(ends)]


def _swing(times: Floats, places: Floats) -> tuple[Floats, Floats]:
    """Compute accelerations (n, J) and jerks (n - 1, J). Their sizes, in the frames that count."""
    step = float(median(np.diff(times))) if len(times) > 1 else 1.0
    margin = round(_END / step)
    frames = round((times[-1] - times[0]) / step) + 1
    if frames - 2 * margin < 1 or frames < 3:  # noqa: PLR2004
        none = np.zeros((0, places.shape[1]))
        return none, none
    lower, weight = bracket_times(times, np.linspace(times[0], times[-1], frames))
    even = places[lower] + weight[:, None, None] * (places[lower + 1] - places[lower])
    swing = np.diff(low_passed(even, step), n=2, axis=0) / step**2
    swing = swing[margin - 1 : len(swing) - margin + 1] if margin > 1 else swing
    return np.linalg.norm(swing, axis=-1), np.linalg.norm(np.diff(swing, axis=0), axis=-1) / step


def low_passed(values: Floats, step: float, cutoff: float = CUTOFF) -> Floats:
    """Low-pass values (n, ...) at a constant time step [s] without delay.

    Oscillation faster than the cutoff [Hz] is removed.

    The response is 1 / (1 + (f / cutoff)^4): that of a Butterworth filter of second order run forwards and backwards,
    one half at the cutoff, and the same at every frame rate. The line between the ends is taken out, and what is left
    continues beyond each end turned about it by half a turn. Lines pass unchanged.
    """
    n = len(values)
    if n < 3:  # noqa: PLR2004
        return values
    ramp = np.linspace(0.0, 1.0, n).reshape(-1, *[1] * (values.ndim - 1))
    line = values[:1] + ramp * (values[-1:] - values[:1])
    odd = np.concatenate([values - line, (line - values)[-2:0:-1]])
    response = 1.0 / (1.0 + (np.fft.rfftfreq(2 * n - 2, step) / cutoff) ** 4)
    spectrum = np.fft.rfft(odd, axis=0) * response.reshape(-1, *[1] * (values.ndim - 1))
    return line + np.fft.irfft(spectrum, 2 * n - 2, axis=0)[:n]
