"""Leg problem: the unknowns of legs on the ground, and their terms.

In each frame the pelvis goes up or down; the ball of each of L feet moves, its heel turns about the ball, its toes
about their joint: K = 1 + 5 L unknowns, all lengths [m]. Legs follow in closed form. Asked for, in this order:

1. Points that stand stay where they are: their unknowns are not free.
2. Rows are at most 0: legs within reach and not folded up, soles above the ground, toes and ankles bent no more than
   those of people.
3. Joints accelerate as in the source, feet that stand as they are put: sum of w |D2 p - a|^2 over hips, knees, ankles,
   joints and ends of toes. The weights w grow where an eye would see a pop, see `weigh_pops`.
4. Unknowns stay near to 0: an edit dies away within a time tau, which weighs them by 1 / tau^4.

Accelerations are in m/s^2 at every frame rate. After Witkin and Kass, Spacetime Constraints (1988), and Gleicher,
Retargetting Motion to New Characters (1998): constraints on a whole motion, and displacements that are smooth.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np

from poise import kernels
from poise.ground.figure.footing import Footing
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats, Ints

REACH, FOLD, HEEL, BALL, TIP, BEND = range(6)  # rows of a leg
FOOT_TAU_S = 0.1  # [s] a third of a swing: an edit is over before the foot comes down again
_TOE_WEIGHT = 0.5  # of other joints, for each of the two of the toes: they are one foot


@dataclass(frozen=True, eq=False)
class FeetInMotion:
    """The feet of L legs in F frames [m], z up.

    Heels go up about balls, toes about their joints.

    balls   (F, L, 3) points of the soles about which feet turn
    across  (F, L, 3) level axes about which heels go up, and toes the other way round
    arms    (F, L, 3, 3) from ball to ankle, from there to the joint of the toes, and on to their end
    soles   (F, 3, L, 3) from the ankle to heel and ball, and from the joint of the toes to the tip of the sole
    bends   (F, L) whether the toes bend
    """

    balls: Floats
    across: Floats
    arms: Floats
    soles: Floats
    bends: Bools

    def place_points(self, balls: Floats, angles: Floats) -> tuple[Floats, Floats, Floats]:
        """Place the points of feet after moves.

        Returns ankles and joints of toes (F, L, 3), and heels, balls and tips (F, 3, L, 3).

        angles  (F, L, 2) [rad] by which heels and toes go up
        """
        heel_turn, toe_turn = self.make_turns(angles)
        ankles = balls + rotations.rotate(heel_turn, self.arms[:, :, 0])
        joints = ankles + rotations.rotate(heel_turn, self.arms[:, :, 1])
        heels, soles = (ankles + rotations.rotate(heel_turn, self.soles[:, i]) for i in (0, 1))
        tips = joints + rotations.rotate(toe_turn, self.soles[:, 2])
        return ankles, joints, np.stack([heels, soles, tips], axis=1)

    def make_turns(self, angles: Floats) -> tuple[Floats, Floats]:
        """Make the rotations (F, L, 4) of feet and toes. Toes that do not bend turn with their foot."""
        heel_turn = rotations.about(self.across, angles[..., 0])
        toe_turn = rotations.about(-self.across, angles[..., 1])
        return heel_turn, np.where(self.bends[..., None], toe_turn, heel_turn)


@dataclass(frozen=True, eq=False)
class LegProblem:
    """A figure of L legs in F frames, before any move.

    Parameters
    ----------
    step
        [s] between frames.
    pelvis_tau
        [s] in which a move of the pelvis dies away.
    footing
        The ground.
    plane
        (3,) its height at the origin and its slopes along x and y, where it is a plane.
    wanted
        (F, 5 L, 3) [m] changes of step that hips, knees, ankles, joints and ends of toes should have: the source's, and
        those of the place where they are put for what stands.
    emphasis
        (F, 5 L) factors of the weights of changes of step.
    has_change
        (F,) whether the changes of step of a frame are known: not at the ends, and beside cuts.
    places, axes
        (F, L, 5, 3) joints as animated, (F, L, 3) axes about which knees bend.
    lengths
        (F, L) by which bones are longer in the problem than they are. The distance of a knee from the line of its leg
        has an endless slope where the leg is straight; with longer bones it never is.
    up
        (F,) how much higher the pelvis is than in the source.
    feet
        Where feet are.
    longest, shortest
        (F, L) distances of ankles from hips.
    depths
        (F, 3, L) by which heels, balls and tips may be in the ground.
    bend
        (F, L) [rad] by which toes bend more than they may; below 0 if they do not.
    free
        (F, K) which unknowns may change.
    """

    step: float
    pelvis_tau: float
    footing: Footing
    plane: Floats | None
    wanted: Floats
    emphasis: Floats
    has_change: Bools
    places: Floats
    axes: Floats
    lengths: Floats
    up: Floats
    feet: FeetInMotion
    longest: Floats
    shortest: Floats
    depths: Floats
    bend: Floats
    free: Bools

    def take_frames(self, frames: slice | Ints) -> LegProblem:
        """Take some frames of the problem."""
        rows = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "plane"}
        parts = {name: value[frames] for name, value in rows.items() if isinstance(value, np.ndarray)}
        feet = replace(self.feet, **{f.name: getattr(self.feet, f.name)[frames] for f in fields(self.feet)})
        return replace(self, **parts, feet=feet)

    def take_runs(self, frames: Ints, inner: Bools) -> LegProblem:
        """Take runs of frames (n,). The inner ones (n,) may change.

        Others are around each run, since a change of step is one of three frames.
        """
        part = self.take_frames(frames)
        seams = np.diff(frames) > 1
        has_change = part.has_change.copy()
        has_change[1:][seams] = False
        has_change[:-1][seams] = False
        return replace(part, free=part.free & inner[:, None], has_change=has_change)

    @cached_property
    def drawn_out(self) -> Floats:
        """(F, L) largest distances of ankles from hips [m]."""
        return 2.0 * self.longest

    @cached_property
    def point_weights(self) -> Floats:
        """(F, 5 L) weights of squared changes of step [1/s^4]."""
        toes = _TOE_WEIGHT
        joints = np.tile([1.0, 1.0, 1.0, toes, toes], self.longest.shape[1])
        return self.has_change[:, None] * self.emphasis * joints / self.step**4

    @cached_property
    def value_weights(self) -> Floats:
        """(F, K) weights of squared unknowns [1/s^4]."""
        weights = np.full(self.free.shape, FOOT_TAU_S**-4)
        weights[:, 0] = self.pelvis_tau**-4
        return weights

    @property
    def columns(self) -> Ints:
        """(L, 6) unknowns of each leg: the pelvis and its own."""
        own = (self.free.shape[1] - 1) // self.longest.shape[1]
        return np.array([[0, *range(1 + own * j, 1 + own * (j + 1))] for j in range(self.longest.shape[1])])

    def apply(self, values: Floats) -> tuple[Floats, Floats, Floats]:
        """Move the figure by unknowns (F, K).

        Returns the height of the pelvis (F,), balls (F, L, 3) and angles of heels and toes (F, L, 2).
        """
        own = values[:, 1:].reshape(*self.longest.shape, -1)
        return self.up + values[:, 0], self.feet.balls + own[..., :3], own[..., 3:] / kernels.ground.leg_moves.ARM_M
