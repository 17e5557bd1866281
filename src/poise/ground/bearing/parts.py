"""Detect ground contact of hands, elbows, knees and hips.

A part touches the ground where it is low and slow. It bears where its limb stands on it, and is then held in its place.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from poise.ground.contact.soles import Soles
from poise.ground.figure.figure import Figure, find_arms, movers
from poise.ground.figure.motion import ANKLE, HIP, KNEE, Motion, rest_motion
from poise.ground.figure.speeds import Shots, lone_frames, shots_of, velocities
from poise.ground.figure.steps import runs
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats
from poise.maths.frame_masks import compute_fade, measure_time_from
from poise.maths.smoothing import smoothstep
from poise.maths.vectors import normalise
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.roles import Leg
from poise.model.roles.role_search import find_joint_roles

_NEAR = {"hand": 0.16, "elbow": 0.11, "knee": 0.11, "hips": 0.2}  # [m] a joint that bears is no higher over the floor
_SPEED = 0.35  # [m/s] nor does it move faster
_ROLLING, _LOWEST = 0.8, 0.03  # [m/s], [m] a hand that is so near to its lowest may roll so fast
_LANDED = 0.01  # [m] over its median height while it bears a part begins and ends to bear
_ABOVE = 0.4  # of the way from it to its shoulder or hip goes up from a part that bears
_DOWN = 0.55  # of their height at rest: hips that are lower are those of a body that lies, if its torso is level
_BENT, _LEVEL = np.radians(40.0), np.radians(70.0)  # from upright: so far a torso is no, and from there on a level one
FALLS = 0.2  # [s] before and after a body lies, in which it falls, gets up, sinks for its arms, and feet come to lie
_BRIEF = 0.1  # [s] shorter gaps are closed, shorter contacts are dropped, and speeds are taken over it
FADE = 0.25  # [s] before and after a contact in which a part comes to bear


class BearingArm(NamedTuple):
    """An arm for support: names of its parts, and its joints. The joints are those of a leg, from the shoulder down."""

    hand: str
    elbow: str
    joints: Leg


@dataclass(frozen=True, eq=False)
class Bearing:
    """Support contacts of P parts of a character other than its feet.

    Parameters
    ----------
    parts
        Names: "left hand", "left elbow", "left knee", ..., "hips".
    times
        (F,) [s].
    shots
        The shots of the clip.
    hip_share
        (F,) how high the hips are over the floor, as a share of their height in the rest pose.
    torso_level
        (F,) how level the torso is: 0 up to 40 degrees from upright, 1 from 70 on, and without arms, which say that.
    lies
        (F,) whether the body is down on the ground: its torso level, its hips low and slow.
    touches
        (F, P) whether the part is on the ground.
    on
        (F, P) whether it bears there, and so has to stay: its limb stands on it.
    clearance
        (P,) how high its joint is over the ground while it bears [m], where that is lowest; 0 if it never touches.
    places
        (F, P, 3) where the joints are in the clip [m], z up.
    shoulders
        (F, A, 3) where the arms begin [m], z up.
    floor
        The height of the clip's own floor [m].
    arms
        The arms, from the shoulder down.
    """

    parts: tuple[str, ...]
    times: Floats
    shots: Shots
    hip_share: Floats
    torso_level: Floats
    lies: Bools
    touches: Bools
    on: Bools
    clearance: Floats
    places: Floats
    shoulders: Floats
    floor: float
    arms: tuple[BearingArm, ...]

    @cached_property
    def weights(self) -> Floats:
        """Return weights (F, P) of the contacts of parts.

        They are 1 in contact, and fade within a quarter of a second around it.
        """
        return 1.0 - compute_fade(self.times, self.touches, FADE)

    @cached_property
    def heights(self) -> Floats:
        """(F, P) of the joints over the clip's floor [m]."""
        return self.places[..., 2] - self.floor

    @cached_property
    def least(self) -> Floats:
        """Return the height (F, P) of joints over the ground [m].

        In support it is the joint's mean height in the clip. Else it comes no lower than that: its clearance, or its
        height in the clip where that is less.
        """
        least = np.minimum(self.heights, self.clearance)
        for part in range(len(self.parts)):
            for rows in runs(self.on[:, part], self.times):
                least[rows, part] = self.heights[rows, part].mean()
        return least

    @property
    def off_feet(self) -> Bools:
        """Return where (F, L) a leg is supported without its foot.

        Then it kneels, or the body lies, falls or gets up.
        """
        lies = compute_fade(self.times, self.lies[:, None], FALLS) < 1.0
        return self.on[:, [part.endswith("knee") for part in self.parts]] | lies

    def columns(self, *names: str) -> list[int]:
        """Where parts stand among all."""
        return [self.parts.index(name) for name in names]


def bearing_of(clip: Clip, motion: Motion, held: Bools, floor: float) -> Bearing | None:
    """Find the support contacts of a clip.

    Return None without contacts and a prone body, and for front legs. A joint is in contact where it is low over the
    clip's floor and slow: a hand below 0.16 m, an elbow or a knee below 0.11, hips below 0.2, slower than 0.35 m/s, for
    a tenth of a second at least. A wrist rolls over a hand that turns: within 0.03 m of its lowest height it may be as
    fast as 0.8 m/s. Metres are those of a figure 1.7 m tall.

    It bears there if it is below its shoulder or hip by at least 0.4 of its limb: arms of who lies only rest. A knee
    does not while its foot is `held` (F, L), nor an elbow while its hand bears: both would fix hip or shoulder.
    """
    figure = motion.figure
    if any(leg.name.startswith(("front", "hind", "mid")) for leg in figure.legs):
        return None
    arms = arms_of(figure)
    parts, places = part_places(clip, motion, arms)
    moving = ~lone_frames(motion)
    low = (places[..., 2] - floor <= [_NEAR[part.split()[-1]] for part in parts]) & moving[:, None]
    shoulders = places_in(clip.poses, figure, tuple(arm.joints.upper for arm in arms))
    share, torso_level = (places[:, -1, 2] - floor) / _standing_height(motion), _torso_level(motion, shoulders)
    down = (share < _DOWN) & (torso_level >= 1.0) & moving & bool(arms)  # without shoulders, who squats looks the same
    if not (low.any() or down.any()):
        return None
    shots = shots_of(motion)
    speed = np.linalg.norm(velocities(motion.times, places, shots, _BRIEF), axis=-1)
    hands = np.array([part.endswith("hand") for part in parts])
    lowest = np.where(moving[:, None], places[..., 2], np.inf).min(axis=0)
    rolling = hands & (places[..., 2] <= lowest + _LOWEST) & (speed <= _ROLLING)
    touches = _lasting(motion.times, shots, low & ((speed <= _SPEED) | rolling))
    lies = _lasting(motion.times, shots, (down & (speed[:, -1] <= _SPEED))[:, None])[:, 0]
    if not (touches.any() or lies.any()):
        return None
    heights = places[..., 2] - floor
    on = _lasting(motion.times, shots, _standing_on(touches, places, motion, shoulders, held))
    on = _lasting(motion.times, shots, _trim_ends(motion.times, on, heights))  # none comes out too short
    clearance = _clearance(motion.times, heights, touches, on)
    return Bearing(
        parts, motion.times, shots, share, torso_level, lies, touches, on, clearance, places, shoulders, floor, arms
    )


def carry_bearing(bearing: Bearing, clip: Clip, motion: Motion, floor: float) -> Bearing | None:
    """Give a character the support contacts of another one.

    Their times are the same. None where both do not have the same limbs.
    """
    arms = arms_of(motion.figure)
    parts, places = part_places(clip, motion, arms)
    if parts != bearing.parts:
        return None
    shoulders = places_in(clip.poses, motion.figure, tuple(arm.joints.upper for arm in arms))
    heights = places[..., 2] - floor
    return dataclasses.replace(
        bearing,
        hip_share=heights[:, -1] / _standing_height(motion),
        torso_level=_torso_level(motion, shoulders),
        clearance=_clearance(motion.times, heights, bearing.touches, bearing.on),
        places=places, shoulders=shoulders, floor=floor, arms=arms,
    )  # fmt: skip


def _standing_height(motion: Motion) -> float:
    """Return the height of the hips over the feet at rest [m]. It is at least the length of the legs."""
    rest = rest_motion(motion.figure).places[0]
    legs = np.linalg.norm(np.diff(rest[:, : ANKLE + 1], axis=1), axis=-1).sum(axis=1).mean()
    return max(float(legs), float((rest[:, HIP, 2] - rest[:, ANKLE:, 2].min(axis=1)).mean()), 1e-9)


def _torso_level(motion: Motion, shoulders: Floats) -> Floats:
    """Compute how level (F,) the torso is, from 0 to 1.

    It is 0 up to 40 degrees from upright, 1 from 70 on, and 1 for a character without arms.
    """
    if not shoulders.shape[1]:
        return np.ones(len(motion))
    torso = normalise(shoulders.mean(axis=1) - motion.places[:, :, HIP].mean(axis=1))
    return smoothstep((np.arccos(np.clip(torso[:, 2], -1.0, 1.0)) - _BENT) / (_LEVEL - _BENT))


def _clearance(times: Floats, heights: Floats, touches: Bools, on: Bools) -> Floats:
    """Compute the clearance (P,) of parts over the ground.

    It is the lowest mean of a run of support, or else of contact.
    """
    found = np.zeros(heights.shape[1])
    for part, column in enumerate(heights.T):
        stretches = runs((on if on[:, part].any() else touches)[:, part], times)
        found[part] = min((float(column[rows].mean()) for rows in stretches), default=0.0)
    return found


def _standing_on(touches: Bools, places: Floats, motion: Motion, shoulders: Floats, held: Bools) -> Bools:
    """Return where (F, P) touching parts have their limb above them."""
    arms = shoulders.shape[1]
    roots = np.concatenate([np.repeat(shoulders, 2, axis=1), motion.places[:, :, HIP]], axis=1)
    ways = roots - places[:, :-1]
    on = touches.copy()
    on[:, :-1] &= ways[..., 2] >= _ABOVE * np.linalg.norm(ways, axis=-1)
    on[:, 1 : 2 * arms : 2] &= ~on[:, : 2 * arms : 2]
    on[:, 2 * arms : -1] &= ~held
    return on


def _trim_ends(times: Floats, on: Bools, heights: Floats) -> Bools:
    """Trim both ends of a mask's runs (F, P).

    There a part is higher than usual: it still falls, or rises already. Each half of a run is compared with its own
    median height, so that none is lost on higher ground.
    """
    trimmed = np.zeros_like(on)
    for part, column in enumerate(heights.T):
        for rows in runs(on[:, part], times):
            halves = rows[: (len(rows) + 1) // 2], rows[len(rows) // 2 :]
            first, last = (half[column[half] <= np.median(column[half]) + _LANDED] for half in halves)
            trimmed[first[0] : last[-1] + 1, part] = True
    return trimmed


def arms_of(figure: Figure) -> tuple[BearingArm, ...]:
    """Return the arms of a figure."""
    skeleton = figure.skeleton
    arms = find_arms(skeleton, find_joint_roles(skeleton)) if figure.arms is None else figure.arms
    return tuple(BearingArm(f"{side} hand", f"{side} elbow", arm) for arm in arms for side in [arm.name.split()[0]])


def leaning(figure: Figure, arms: tuple[BearingArm, ...]) -> Figure:
    """Return the character with a trunk above arms and legs. A body tilt is written to it."""
    legs = [leg.upper for leg in figure.legs]
    both = movers(figure.skeleton, [*legs, *(arm.joints.upper for arm in arms)])
    return dataclasses.replace(figure, trunk=both[-1] if both else figure.mover)


def lowest_of(clip: Clip, motion: Motion, soles: Soles) -> float:
    """Return the lowest height [m] of all parts in a clip. Parts are soles, hands, elbows, knees and hips.

    Reference poses take no part, but where there is nothing else.
    """
    _, places = part_places(clip, motion, arms_of(motion.figure))
    lone = lone_frames(motion)
    moving = ~lone if not lone.all() else lone
    return float(min(soles.points(motion)[moving][..., 2].min(), places[moving][..., 2].min()))


def places_in(poses: Pose, figure: Figure, joints: tuple[str, ...]) -> Floats:
    """Places (F, P, 3) of joints [m], z up."""
    rows = [figure.skeleton.index(joint) for joint in joints]
    return rotations.rotate(figure.turn, poses.world.positions[:, rows] / figure.metre)


def part_places(clip: Clip, motion: Motion, arms: tuple[BearingArm, ...]) -> tuple[tuple[str, ...], Floats]:
    """Return names (P) and positions (F, P, 3) of the character's parts."""
    names = [name for arm in arms for name in (arm.hand, arm.elbow)]
    joints = tuple(joint for arm in arms for joint in (arm.joints.foot, arm.joints.lower))
    found = places_in(clip.poses, motion.figure, joints)
    knees, hips = motion.places[:, :, KNEE], motion.places[:, :, HIP].mean(axis=1, keepdims=True)
    legs = [f"{leg.name} knee" for leg in motion.figure.legs]
    return (*names, *legs, "hips"), np.concatenate([found, knees, hips], axis=1)


def _lasting(times: Floats, shots: Shots, on: Bools) -> Bools:
    """Remove short gaps, then short runs, from a mask (F, P). No run goes over a cut."""
    on = on | (np.add(*measure_time_from(times, on)) <= _BRIEF)
    on = on & (np.add(*measure_time_from(times, ~on)) > _BRIEF)
    cut = np.flatnonzero(np.diff(shots.first)) + 1
    on[cut] = False
    return on
