"""Report of a retargeted clip: directions of limbs, feet, jumps. Measured by forward kinematics of both characters."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from poise.errors import FileError
from poise.formatting import format_count, format_fields
from poise.ground.contact.contacts import Contacts
from poise.ground.plant import Planted
from poise.ground.report.report import Report
from poise.io.files import as_path, encode_text, write_atomically
from poise.maths import rotations
from poise.maths.arrays import Bools, Floats
from poise.maths.vectors import cross, dot, normalise
from poise.model.clip import Clip
from poise.model.pose import Transforms
from poise.model.roles.bone_names import SIDES
from poise.retargeting.added_joints import extend_poses, list_known_arms
from poise.retargeting.arm_clearance import ArmClearance, measure_arm_clearance
from poise.retargeting.body import NEXT_PARTS, Body, split_role
from poise.retargeting.hand_contact import measure_hand_distances
from poise.retargeting.match import Match
from poise.retargeting.report_page import MotionContents, PageTable, format_motion_page
from poise.retargeting.robot import RobotMotion
from poise.retargeting.robot_body import list_movers
from poise.retargeting.robot_report import (
    MAX_ROBOT_DEPTH_MM,
    MAX_ROBOT_ERROR_DEG,
    MAX_ROBOT_FLOATING_MM,
    MAX_ROBOT_SKATE_CM_S,
    RobotMeasures,
    measure_robot_clip,
)
from poise.retargeting.transfer import is_limb

# Bounds of `ok`. Arms follow the source exactly unless hands are brought together or bear on the ground; legs unless
# their feet are planted.
MAX_ARM_ERROR_DEG, MAX_MOVED_ARM_ERROR_DEG = 0.1, 15.0
MAX_LEG_ERROR_DEG, MAX_PLANTED_LEG_ERROR_DEG = 0.1, 20.0
MAX_SKATE_CM_S, MAX_DEPTH_MM, MAX_FLOATING_MM = 0.1, 1.0, 1.0
# The same on ground that is not level: steps lift knees, and depth is that of planting on hills and steps.
MAX_CLIMBING_LEG_ERROR_DEG, MAX_CLIMBING_DEPTH_MM = 75.0, 5.0
MAX_JUMP_RATIO = 2.0
MAX_HAND_ERROR = 0.03  # arm lengths
# [arm lengths] how much deeper than in the source hands and forearms are in trunk and thighs; surfaces are estimated
MAX_HAND_DEPTH, MAX_FOREARM_DEPTH = 0.03, 0.1
# share of frames at a limit above which a joint is named
_LONG_AT_LIMIT = 0.2
# of the limb's length: smaller changes of step are no jump
_MIN_JUMP = 0.01
# of the leg: ground under the feet whose heights differ by less is level
_LEVEL = 1e-6
# weight of the distance of hands from which it counts in full: the mean of ones is rounded
_FULL_TOUCH = 0.999
# words of the report that the page has, too
LIMBS_HEADING, STANDING_HEADING = "direction of limbs [deg]", "while their feet stand"
OK_SENTENCE = "ok: nothing exceeds its bound"
REPORT_SUFFIXES = (".html", ".json", ".txt")
_PERCENTILES = (50.0, 95.0, 99.0)
_JUMP_PERCENTILE = 99.9
# frames without which a step has no change
_MIN_JUMP_FRAMES = 4


class LimbError(NamedTuple):
    """Angles between a segment's directions in target and source [degrees].

    role         the segment
    p50, p95, p99
                 percentiles of the angle between both directions
    most         the largest angle, and its frame
    worst_frame
    twist_p95    angle about the bone, 95 % of frames
    """

    role: str
    p50: float
    p95: float
    p99: float
    most: float
    worst_frame: int
    twist_p95: float


class Jump(NamedTuple):
    """Change of step of a hand or an ankle.

    It is that of 99.9 % of frames, as a fraction of the limb's length.
    """

    role: str
    source: float
    target: float

    @property
    def is_worse(self) -> bool:
        """Whether the target's is more than twice the source's."""
        return self.target > max(MAX_JUMP_RATIO * self.source, _MIN_JUMP)


@dataclass(frozen=True, eq=False)
class RetargetReport:
    """Measures of a retargeted clip. `str()` is a table, `to_json()` the same numbers, `to_html(path)` a page.

    Parameters
    ----------
    name
        Name of the clip.
    frames
        How many it has.
    limbs
        Errors of direction of arms and legs, in all frames.
    standing
        The same of the legs while their feet stand; empty where none were planted.
    feet
        skate [cm/s], depth [mm] and floating [mm] of standing feet; None where none were planted, and in
        place.
    step_width
        Level distance of both ankles across the way while both stand, in hip widths, of source and target; None where
        they never do.
    hands
        Difference of the distance of both hands from the source's where it counts in full, in arm lengths: median and
        95 % of frames; None where hands are never so near.
    clearance
        Hands and forearms that are deepest in trunk or thighs as against the source, or nearest to them, deepest first;
        empty for robots, whose parts `robot` has.
    jumps
        Changes of step of hands and ankles.
    unmatched
        Roles that one of both characters has and the other one has not.
    robot
        Limits and speeds of a robot's joints; None for characters.
    worse
        What exceeds its bound, a sentence each; empty where `ok`.
    notes
        What was assumed or given up.
    times
        (F,) of the frames [s].
    angles
        (F,) errors of direction of each segment of `limbs` [degrees].
    bounds
        What they may be in 95 % of frames [degrees].
    contacts
        When the feet of the source stand; None where that is unknown.
    planting
        The report of planting; None where no feet were planted.
    """

    __repr__ = format_fields

    name: str
    frames: int
    limbs: tuple[LimbError, ...]
    standing: tuple[LimbError, ...]
    feet: Mapping[str, float] | None
    step_width: tuple[float, float] | None
    hands: tuple[float, float] | None
    clearance: tuple[ArmClearance, ...]
    jumps: tuple[Jump, ...]
    unmatched: tuple[str, ...]
    robot: RobotMeasures | None
    worse: tuple[str, ...]
    notes: tuple[str, ...]
    times: Floats
    angles: Mapping[str, Floats]
    bounds: Mapping[str, float]
    contacts: Contacts | None
    planting: Report | None

    @property
    def ok(self) -> bool:
        """Whether nothing exceeds its bound."""
        return not self.worse

    @property
    def title(self) -> str:
        """Name and length of the clip in words."""
        return f"clip {self.name!r}, {format_count(self.frames, 'frame')}"

    @property
    def facts(self) -> tuple[str, ...]:
        """Sentences below the table: feet, hands, jumps, what has no partner."""
        facts: list[str] = []
        if self.feet is not None:
            skate, depth, floating = (self.feet[name] for name in ("skate", "depth", "floating"))
            facts.append(f"feet: skate {skate:.2f} cm/s, {depth:.2f} mm in the ground, floating {floating:.2f} mm")
        if self.step_width is not None:
            facts.append("step width in hip widths: {:.2f} in the source, {:.2f} here".format(*self.step_width))
        if self.hands is not None:
            facts.append("distance of hands, off by (arm lengths): {:.3f} median, {:.3f} p95".format(*self.hands))
        facts += [f"nearest to the body: {self.clearance[0]}"] if self.clearance else []
        jumps = ", ".join(f"{jump.role} {jump.source:.4f} -> {jump.target:.4f}" for jump in self.jumps)
        facts.append(f"change of step in limb lengths: {jumps}")
        facts += [] if self.robot is None else str(self.robot).split("\n")
        facts += [f"without a partner: {', '.join(self.unmatched)}"] * bool(self.unmatched)
        return tuple(facts)

    def __str__(self) -> str:
        lines = [self.title]
        lines.append(f"{LIMBS_HEADING:<28}{'p50':>8}{'p95':>8}{'p99':>8}{'most':>8}  frame   twist p95")
        lines += [_format_limb(limb) for limb in self.limbs]
        if self.standing:
            lines += [STANDING_HEADING, *(_format_limb(limb) for limb in self.standing)]
        lines += self.facts
        lines += [f"worse: {sentence}" for sentence in self.worse] or [OK_SENTENCE]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def as_object(self) -> dict[str, Any]:
        """Return every number as a JSON object. Degrees, cm/s, mm; fractions of limb lengths."""
        return {
            "name": self.name, "frames": self.frames,
            "limbs": [limb._asdict() for limb in self.limbs], "standing": [limb._asdict() for limb in self.standing],
            "feet": None if self.feet is None else dict(self.feet),
            "step_width": None if self.step_width is None else list(self.step_width),
            "hands": None if self.hands is None else list(self.hands),
            "clearance": [one._asdict() for one in self.clearance],
            "jumps": [jump._asdict() for jump in self.jumps], "unmatched": list(self.unmatched),
            "robot": None if self.robot is None else self.robot.as_object(),
            "ok": self.ok, "worse": list(self.worse), "notes": list(self.notes),
        }  # fmt: skip

    def to_json(self) -> str:
        """Every number as JSON text."""
        return json.dumps(self.as_object(), indent=1, allow_nan=False)

    def to_html(self, path: str | PathLike[str]) -> None:
        """Write a self-contained page. Tables, and curves of limbs and feet over time."""
        tables = [PageTable(LIMBS_HEADING, tuple(_list_numbers(limb) for limb in self.limbs))]
        if self.standing:
            tables.append(PageTable(STANDING_HEADING, tuple(_list_numbers(limb) for limb in self.standing)))
        contents = MotionContents(
            self.name, self.title, self.worse or (OK_SENTENCE,), self.ok, tuple(tables), self.facts,
            self.times, self.angles, self.bounds, self.contacts, self.planting, self.notes,
        )  # fmt: skip
        write_atomically(as_path(path), encode_text(format_motion_page(contents)))

    def save(self, path: str | PathLike[str]) -> None:
        """Write the report by suffix.

        It is a page with curves (.html), numbers (.json) or the table (.txt).
        """
        path = as_path(path)
        suffix = path.suffix.lower()
        if suffix not in REPORT_SUFFIXES:
            raise FileError(path, f"a report is written as {', '.join(REPORT_SUFFIXES[:-1])} or {REPORT_SUFFIXES[-1]}")
        if suffix == ".html":
            self.to_html(path)
            return
        write_atomically(path, encode_text(f"{self.to_json() if suffix == '.json' else self}\n"))


def _list_numbers(limb: LimbError) -> tuple[str, tuple[float, ...]]:
    return limb.role, limb[1:]


def _format_limb(limb: LimbError) -> str:
    angles = "".join(f"{angle:8.2f}" for angle in (limb.p50, limb.p95, limb.p99, limb.most))
    return f"  {limb.role:<26}{angles}{limb.worst_frame:7d}{limb.twist_p95:12.2f}"


class Measured(NamedTuple):
    """What a report is made of. Both clips have the same times.

    moved_arms  (F,) frames in which hands were brought together, or bear
    touching    (F,) how much the distance of hands counts
    is_in_place whether the way over the ground was taken out after planting
    robot       how a robot moves; None for characters
    """

    source: Clip
    target: Clip
    bodies: tuple[Body, Body]
    match: Match
    contacts: Contacts | None
    planted: Planted | None
    moved_arms: Bools
    touching: Floats
    is_in_place: bool
    robot: RobotMotion | None
    notes: tuple[str, ...]


def build_report(measured: Measured) -> RetargetReport:
    """Measure a retargeted clip."""
    source, target = (
        extend_poses(clip.poses, body.skeleton).world
        for clip, body in zip((measured.source, measured.target), measured.bodies, strict=True)
    )
    errors = _measure_limbs(measured, source, target)
    everywhere, is_level = np.ones(len(measured.source), dtype=np.bool_), _is_ground_level(measured, target)
    limbs = tuple(_summarise_limb(role, *angles, everywhere) for role, angles in errors.items())
    planted, contacts, motion = measured.planted, measured.contacts, measured.robot
    robot = None
    if motion is not None:
        robot = measure_robot_clip(measured.target, motion, is_in_place=measured.is_in_place)
        contacts = motion.contacts
    standing: tuple[LimbError, ...] = ()
    feet = None if robot is None else robot.feet
    if (planted is not None or robot is not None) and contacts is not None:
        stands = {leg: contacts.any[:, column] for column, leg in enumerate(contacts.legs)}
        standing = tuple(
            _summarise_limb(role, *errors[role], stands[side])
            for side in SIDES
            for role in errors
            if role.startswith(side) and role.endswith("Leg") and side in stands and stands[side].any()
        )
    if planted is not None and contacts is not None and not measured.is_in_place:
        after = planted.report.after  # of feet on still ground, before the way was taken out
        feet = {"skate": after.skate, "depth": after.penetration, "floating": after.floating}
    hands = _measure_hands(measured, source, target)
    clearance = ()
    if robot is None:
        clearance = measure_arm_clearance((measured.source.poses, measured.target.poses), measured.bodies)
    jumps = _measure_jumps(source, target, measured) if len(everywhere) >= _MIN_JUMP_FRAMES else ()
    return RetargetReport(
        name=measured.target.name,
        frames=len(everywhere),
        limbs=limbs,
        standing=standing,
        feet=feet,
        step_width=_measure_step_widths(measured, source, target),
        hands=hands,
        clearance=clearance,
        jumps=jumps,
        unmatched=tuple(row.role for row in measured.match.joints if not row.is_used),
        robot=robot,
        worse=(
            *_list_losses((limbs, standing), (feet, hands), jumps, measured, robot, is_level=is_level),
            *(() if robot is None else robot.list_losses()),
        ),
        notes=(*measured.notes, *_list_deep_arms(clearance)),
        times=measured.target.times,
        angles={role: angles for role, (angles, _) in errors.items()},
        bounds={role: find_bound(role, measured, is_level=is_level) for role in errors},
        contacts=contacts,
        planting=None if planted is None else planted.report,
    )


def _is_ground_level(measured: Measured, target: Transforms) -> bool:
    """Return whether feet go over ground of one height. Also where they are on none."""
    body = measured.bodies[1]
    ankles = target.positions[:, [body.rows[f"{side}Foot"] for side in SIDES]]
    if measured.planted is not None:
        heights = measured.planted.terrain.heights(ankles)
    elif measured.robot is not None and measured.robot.contacts is not None:
        heights = measured.robot.sample(rotations.rotate(body.world_turn, ankles).reshape(-1, 3)[:, :2])[0]
    else:
        return True
    return float(np.ptp(heights)) <= _LEVEL * body.leg_length


def find_bound(role: str, measured: Measured, *, is_level: bool) -> float:
    """Find the bound of a segment's error of direction [degrees].

    It is larger where hands were moved, of legs whose feet were planted, and of robots.
    """
    if role.endswith("Leg") and not is_level:
        return MAX_CLIMBING_LEG_ERROR_DEG
    if measured.robot is not None:
        return MAX_ROBOT_ERROR_DEG
    if role.endswith("Arm"):
        return MAX_MOVED_ARM_ERROR_DEG if measured.moved_arms.any() else MAX_ARM_ERROR_DEG
    return MAX_LEG_ERROR_DEG if measured.planted is None else MAX_PLANTED_LEG_ERROR_DEG


def _measure_limbs(measured: Measured, source: Transforms, target: Transforms) -> dict[str, tuple[Floats, Floats]]:
    """Measure direction errors and twists (F,) of segments [degrees]."""
    body, target_body = measured.bodies
    errors: dict[str, tuple[Floats, Floats]] = {}
    fixed = () if measured.robot is None else measured.robot.robot.fixed
    for row in measured.match.joints:
        if row.role in fixed or not row.is_used or not is_limb(row.role):
            continue
        if not all(_has_next(body, row.role) for body in measured.bodies):
            continue
        directions = [
            rotations.rotate(one.world_turn, _find_directions(one, row.role, world.positions))
            for one, world in zip(measured.bodies, (source, target), strict=True)
        ]
        sine, cosine = np.linalg.norm(cross(*directions), axis=-1), dot(*directions)
        turns = [
            rotations.multiply(
                rotations.multiply(one.world_turn, world.rotations[:, one.segments[row.role].carrier]),
                one.segments[row.role].carrier_frame,
            )
            for one, world in zip((body, target_body), (source, target), strict=True)
        ]
        between = rotations.multiply(rotations.inverse(turns[0]), turns[1])
        twist = rotations.twist_angle(between, np.array([1.0, 0.0, 0.0])) - np.radians(row.turn)
        twist = np.abs(np.arctan2(np.sin(twist), np.cos(twist)))
        errors[row.role] = np.degrees(np.arctan2(sine, cosine)), np.degrees(twist)
    return errors


def _has_next(body: Body, role: str) -> bool:
    """Return whether a segment's end is known. Robots without hands have forearms without one."""
    side, part = split_role(role)
    return f"{side}{NEXT_PARTS[part]}" in body.rows


def _find_directions(body: Body, role: str, positions: Floats) -> Floats:
    """Find the directions (F, 3) of a segment in the file's axes."""
    side, part = split_role(role)
    return normalise(positions[:, body.rows[f"{side}{NEXT_PARTS[part]}"]] - positions[:, body.rows[role]])


def _summarise_limb(role: str, angles: Floats, twists: Floats, frames: Bools) -> LimbError:
    chosen = angles[frames]
    worst = int(np.flatnonzero(frames)[chosen.argmax()])
    p50, p95, p99 = (float(value) for value in np.percentile(chosen, _PERCENTILES))
    return LimbError(role, p50, p95, p99, float(angles[worst]), worst, float(np.percentile(twists[frames], 95.0)))


def _measure_jumps(source: Transforms, target: Transforms, measured: Measured) -> tuple[Jump, ...]:
    """Measure changes of step of hands and ankles. Fixed ones are left out."""
    bodies, fixed = measured.bodies, () if measured.robot is None else measured.robot.robot.fixed
    jumps: list[Jump] = []
    for side in SIDES:
        for end in ("Hand", "Foot"):
            if f"{side}{end}" in fixed or not all(f"{side}{end}" in body.rows for body in bodies):
                continue
            if end == "Hand" and side not in list_known_arms(*bodies):
                continue
            changes = [
                np.linalg.norm(np.diff(world.positions[:, body.rows[f"{side}{end}"]], 2, axis=0), axis=-1)
                / (body.arm_length if end == "Hand" else body.leg_length)
                for body, world in zip(bodies, (source, target), strict=True)
            ]
            jumps.append(Jump(f"{side}{end}", *(float(np.percentile(change, _JUMP_PERCENTILE)) for change in changes)))
    return tuple(jumps)


def _measure_hands(measured: Measured, source: Transforms, target: Transforms) -> tuple[float, float] | None:
    """Measure how far the distance of hands is off, in arm lengths."""
    near = measured.touching > _FULL_TOUCH
    if not near.any():
        return None
    distances = [
        measure_hand_distances(world.positions[near], body)
        for body, world in zip(measured.bodies, (source, target), strict=True)
    ]
    off = np.abs(distances[1] - distances[0])
    return float(np.median(off)), float(np.percentile(off, 95.0))


def _measure_step_widths(measured: Measured, source: Transforms, target: Transforms) -> tuple[float, float] | None:
    """Measure the step width of both characters in hip widths."""
    contacts = measured.contacts
    if contacts is None or len(contacts.legs) != len(SIDES):
        return None
    both = contacts.any.all(axis=1)
    if not both.any():
        return None
    widths = [
        _measure_step_width(body, world.positions[both])
        for body, world in zip(measured.bodies, (source, target), strict=True)
    ]
    return (widths[0], widths[1]) if np.isfinite(widths).all() else None


def _measure_step_width(body: Body, positions: Floats) -> float:
    hips, ankles = (
        rotations.rotate(
            body.world_turn, positions[:, body.rows[f"left{part}"]] - positions[:, body.rows[f"right{part}"]]
        )
        for part in ("UpperLeg", "Foot")
    )
    level = hips[:, :2] / np.maximum(np.linalg.norm(hips[:, :2], axis=-1, keepdims=True), 1e-300)
    width = float(np.median(np.linalg.norm(hips, axis=-1)))
    return float(np.median((ankles[:, :2] * level).sum(axis=-1))) / width if width > 0.0 else np.inf


def _list_losses(
    limbs_and_standing: tuple[tuple[LimbError, ...], tuple[LimbError, ...]],
    feet_and_hands: tuple[Mapping[str, float] | None, tuple[float, float] | None],
    jumps: tuple[Jump, ...],
    measured: Measured,
    robot: RobotMeasures | None,
    *,
    is_level: bool,
) -> list[str]:
    """List what exceeds its bound, a sentence each."""
    feet, hands = feet_and_hands
    limbs, standing = limbs_and_standing
    losses: list[str] = []
    legs = limbs if measured.planted is None and measured.robot is None else standing
    for limb in (
        *(limb for limb in limbs if limb.role.endswith("Arm")),
        *(limb for limb in legs if limb.role.endswith("Leg")),
    ):
        bound = find_bound(limb.role, measured, is_level=is_level)
        if limb.p95 > bound:
            losses.append(
                f"{limb.role} is {limb.p95:.1f} deg off the source's direction (95 % of frames), more than {bound:g}; "
                f"most at frame {limb.worst_frame}{_name_limits(limb.role, measured, robot)}"
            )
    most_deep = MAX_DEPTH_MM if is_level else MAX_CLIMBING_DEPTH_MM
    for name, unit, bound in (
        ("skate", "cm/s", MAX_SKATE_CM_S if measured.robot is None else MAX_ROBOT_SKATE_CM_S),
        ("depth", "mm", most_deep if measured.robot is None else MAX_ROBOT_DEPTH_MM),
        ("floating", "mm", MAX_FLOATING_MM if measured.robot is None else MAX_ROBOT_FLOATING_MM),
    ):
        if feet is not None and feet[name] > bound:
            losses.append(f"{name} of standing feet is {feet[name]:.2f} {unit}, more than {bound:g}")
    if hands is not None and hands[1] > MAX_HAND_ERROR:
        losses.append(f"the distance of hands is off by {hands[1]:.3f} arm lengths, more than {MAX_HAND_ERROR:g}")
    losses += [
        f"{jump.role} jumps: its change of step is {jump.target:.3f} of its limb's length (99.9 % of frames), "
        f"{jump.source:.3f} in the source"
        for jump in jumps
        if jump.is_worse
    ]
    return losses


def _name_limits(role: str, measured: Measured, robot: RobotMeasures | None) -> str:
    """Name the joints of a segment's limb at their limits for long.

    Those of a foot count for its leg: a sole that stands takes it along.
    """
    if robot is None or measured.robot is None:
        return ""
    side, own = split_role(role)[0], measured.robot.robot
    movers = list_movers(own.body, own.tree, f"{side}Foot" if role.endswith("Leg") else role)
    columns = sorted(set[int]().union(*movers.values()))
    often = [use for use in map(robot.joints.__getitem__, columns) if use.at_limit > _LONG_AT_LIMIT]
    uses = ", ".join(f"{use.joint} ({100.0 * use.at_limit:.0f} %)" for use in often)
    return f"; at a limit: {uses}" if uses else ""


def _list_deep_arms(clearance: tuple[ArmClearance, ...]) -> list[str]:
    """List hands and forearms in the body."""
    return [
        f"{one.arm} is {-one.over:.2f} arm lengths in the {one.part} at frame {one.frame}, {one.describe_source()}"
        for one in clearance
        if one.deeper > (MAX_HAND_DEPTH if one.arm.endswith("Hand") else MAX_FOREARM_DEPTH)
    ]
