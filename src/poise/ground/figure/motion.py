"""Motion of the legs in a clip, in metres, z up.

Everything in this folder is worked out in this frame, so that units and up axes cannot matter.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from poise.errors import InputError
from poise.ground.figure.figure import Figure
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints
from poise.maths.frame_masks import measure_step
from poise.maths.vectors import length
from poise.model.clip import Clip
from poise.model.pose import Pose, Transforms
from poise.model.roles import Leg
from poise.runtime.immutable_values import freeze
from poise.runtime.result_cache import get_or_compute

Frames = TypeVar("Frames")  # a frozen value whose arrays are rows of frames

HIP, KNEE, ANKLE, BALL, END = range(5)  # the places along a leg
THIGH, SHIN, FOOT, TOES = range(4)  # what turns

_RATE = 100.0  # [frames/s] feet are worked out in at least so many: contacts end between a slow clip's frames
_UPRIGHT = 0.35  # of a leg's length: a deep squat is above it, a seat on the floor below


@dataclass(frozen=True, eq=False)
class Motion:
    """The legs of F frames and L legs.

    times   (F,) [s]
    places  (F, L, 5, 3) hip, knee, ankle, ball of the foot and end of the toes [m], z up. Where a leg has no joint at
            the ball, ball and end are the ankle; where the toes have no end, it is the ball
    turns   (F, L, 4, 4) world rotations w x y z of thigh, shin, foot and toes, from the joint's frame to z up
    """

    figure: Figure
    times: Floats
    places: Floats
    turns: Floats

    def __len__(self) -> int:
        return len(self.times)

    @cached_property
    def step(self) -> float:
        """Median time between frames [s]; 0 for a single frame."""
        return measure_step(self.times)

    def frames(self, seconds: float) -> int:
        """How many frames take so long; none where no time passes."""
        return round(seconds / self.step) if self.step > 0.0 else 0

    @cached_property
    def upright(self) -> Bools:
        """Whether (F, L) the hip is at least 0.35 leg lengths high.

        The height is that over the foot; with a lower hip the character sits or lies.
        """
        places = self.places
        bones = length(np.diff(places[:, :, : ANKLE + 1], axis=2)).sum(axis=2)
        foot = np.minimum(places[:, :, ANKLE, 2], places[:, :, BALL, 2])
        return places[:, :, HIP, 2] - foot >= _UPRIGHT * bones

    @cached_property
    def bends(self) -> Bools:
        """Whether (L,) the foot has a toe joint."""
        return freeze(np.array([leg.toes is not None for leg in self.figure.legs]))

    def finer(self, times: int, lone: Bools | None = None) -> Motion:
        """Return this motion with `times` frames for each.

        Positions and quaternions are interpolated linearly. Frame i becomes frame i * times; the last frame stays the
        last. Frames between a `lone` one (F,) and its neighbour continue the motion of the neighbour.
        """
        if times <= 1 or len(self) <= 1:
            return self
        lower, share = _between(len(self), times)
        if lone is not None and lone.any():
            shift = np.where((share > 0.0) & (share < 1.0), _find_leading_steps(lone)[lower], 0)
            lower, share = lower + shift, share - shift
        weight = share[:, None, None, None]
        places = self.places[lower] + weight * (self.places[lower + 1] - self.places[lower])
        start, end = self.turns[lower], self.turns[lower + 1]
        end = np.where((start * end).sum(axis=-1, keepdims=True) < 0.0, -end, end)
        turns = start + weight * (end - start)
        turns /= np.sqrt((turns * turns).sum(axis=-1, keepdims=True))
        return Motion(self.figure, finer_times(self.times, times), places, turns)

    def translate(self, offsets: Floats) -> Motion:
        """Return this motion displaced by an offset (F, 3) [m] a frame."""
        return dataclasses.replace(self, places=self.places + offsets[:, None, None, :])


def rows_of(value: Frames, frames: Bools | Ints | slice) -> Frames:
    """Select frames (F,) of a frozen value. Each of its arrays has a row for each frame."""
    rows: Any = value
    return dataclasses.replace(rows, **{name: array[frames] for name, array in _arrays(rows).items()})


def _arrays(value: Any) -> dict[str, Any]:
    values = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return {name: array for name, array in values.items() if isinstance(array, np.ndarray)}


def fineness(times: Floats) -> int:
    """Return the upsampling factor of a clip for foot contacts. It gives at least 100 frames a second."""
    return max(1, int(np.ceil(_RATE * measure_step(times))))


def finer_times(times: Floats, count: int) -> Floats:
    """The times of `Motion.finer`: `count` for each."""
    if count <= 1:
        return times
    lower, share = _between(len(times), count)
    return times[lower] + share * (times[lower + 1] - times[lower])


def _between(frames: int, count: int) -> tuple[Ints, Floats]:
    """Return lower frames and interpolation weights of the upsampled frames."""
    fine = np.arange((frames - 1) * count + 1)
    lower = np.minimum(fine // count, frames - 2)
    return lower, fine / count - lower


def _find_leading_steps(lone: Bools) -> Ints:
    """Find the step to continue in each step (F - 1,).

    1 is the next one, -1 the one before, 0 the step itself.
    """
    known = np.concatenate([[False], ~lone[1:] & ~lone[:-1], [False]])  # before the first step, and after the last
    steps = ~known[1:-1]
    return np.where(steps & lone[:-1] & known[2:], 1, 0) - np.where(steps & lone[1:] & known[:-2], 1, 0)


def rest_motion(figure: Figure) -> Motion:
    """The rest pose as a motion of one frame."""
    skeleton, times = figure.skeleton, np.zeros(1)

    def measure() -> tuple[Floats, Floats]:  # the arrays alone: a figure would keep its skeleton alive
        motion = motion_of(Clip(times, Pose(skeleton, skeleton.rest_q[None])), figure)
        return freeze((motion.places, motion.turns))

    return Motion(
        figure, times, *get_or_compute(skeleton, "rest legs", (figure.legs, figure.up, figure.metre), measure)
    )


def motion_of(clip: Clip, figure: Figure) -> Motion:
    """Walk the legs of every frame of a clip. No frames: InputError."""
    if not len(clip):
        raise InputError(f"clip {clip.name!r} has no frames: there is nothing to plant")
    return get_or_compute(clip, "leg motion", figure, lambda: freeze(_walk_legs(clip, figure)), max_keys=1)


def _walk_legs(clip: Clip, figure: Figure) -> Motion:
    affine, index = clip.poses.world.affine, figure.skeleton.index
    rows = [[index(name) for name in _path(figure, leg)] for leg in figure.legs]
    turning_rows = [[index(name) for name in turning(leg)] for leg in figure.legs]
    places = affine[:, rows][..., 3]
    turned = Transforms(figure.skeleton, affine[:, turning_rows]).rotations
    return Motion(
        figure,
        clip.times,
        rotations.rotate(figure.turn, places / figure.metre),
        rotations.multiply(figure.turn, turned),
    )


def turning(leg: Leg) -> tuple[str, str, str, str]:
    """Return the joints of thigh, shin, foot and toes.

    For a foot without toes, the foot stands in the place of its toes.
    """
    return leg.upper, leg.lower, leg.foot, leg.toes or leg.foot


def _path(figure: Figure, leg: Leg) -> tuple[str, ...]:
    ball = leg.toes or leg.foot
    return leg.upper, leg.lower, leg.foot, ball, _end(figure, ball) if leg.toes else ball


def _end(figure: Figure, toes: str) -> str:
    """Return the child of the toes farthest away at rest. Toes without children are returned themselves."""
    skeleton = figure.skeleton
    children = list(skeleton.children[skeleton.index(toes)])
    if not children:
        return toes
    lengths = np.linalg.norm(skeleton.A[children, :3], axis=1)
    return skeleton.names[children[int(lengths.argmax())]]
