"""Tasks of a robot: where its links turn and point."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from poise.ground.robot.clip_solve import LinkTask, join_tasks
from poise.ground.robot.foot_path import FootPath, LegBend, RobotSole
from poise.ground.robot.tree import RobotTree, has_full_freedom
from poise.kernels.clip_least_squares import DIRECTION, PLACE, ROTATION, Tasks
from poise.kernels.robot_feet import NEAR_HEIGHT_LEGS
from poise.maths import rotations
from poise.maths.arrays import Floats
from poise.maths.vectors import normalise
from poise.model.anatomy.rest_geometry import compute_rest_rotations
from poise.model.clip import Clip
from poise.model.roles.bone_names import SIDES
from poise.model.roles.character_tree import SAME_AXIS
from poise.retargeting.added_joints import extend_poses
from poise.retargeting.body import NEXT_PARTS, Body, Segment
from poise.retargeting.match import Match
from poise.retargeting.robot_body import find_axis, turn_to_body
from poise.retargeting.robot_match import FULL_TURN, POINTING_PARTS, find_row, list_held_rows, list_idle_turns
from poise.retargeting.robot_weights import RobotWeights

# weights of rotations and directions [1/rad]
_TRUNK_WEIGHT, _THIGH_WEIGHT, _UPPER_ARM_WEIGHT, _LOWER_WEIGHT = 1.0, 1.0, 0.7, 1.0
_FREE_FOOT_WEIGHT = 0.5
_HAND_WEIGHT, _HEAD_WEIGHT, _SWING_FOOT_WEIGHT, _STANDING_FOOT_WEIGHT = 0.15, 0.3, 1.0, 30.0
# weights of places, in the lengths of `clip_solve`
_HIPS_WEIGHT, _SWING_WEIGHT, _STANDING_WEIGHT = 8.0, 10.0, 1500.0
# of a swinging foot at the ground; it falls to that in the air
_NEAR_GROUND_WEIGHT = 120.0
# of hips that stay as at rest
_HELD_HIPS_WEIGHT = 30.0
_BONE = np.array([1.0, 0.0, 0.0])  # the first axis of a limb's segment
_ACROSS_SOLE = np.array([0.0, 1.0, 0.0])  # the second axis of a foot
_UP = np.array([0.0, 0.0, 1.0])  # of a trunk joint's segment


class SourceTurn(NamedTuple):
    """A rotation by one of the source.

    row      joint of the source; -1: it is the same in all frames
    factors  rotations (4,) by which that of the joint is multiplied from the right
    """

    row: int
    factors: tuple[Floats, ...]


class SourceDirection(NamedTuple):
    """A direction from joint to joint of the source."""

    start: int
    end: int


def measure_nearness(heights: Floats, leg_length: float) -> Floats:
    """Measure how near heights are to the ground, 0 to 1."""
    return np.minimum(np.maximum(1.0 - heights / (NEAR_HEIGHT_LEGS * leg_length), 0.0), 1.0)


class TaskBuilder:
    """Builds the tasks of a clip. Everything is in axes ahead, left, up.

    turns, places  (F, n, 4) and (F, n, 3) of the source
    rest           (n, 3) places of the target at rest, and
    rest_turns     (n, 4) its rotations, both in the axes of its body
    held           joints that stay as at rest
    weights        factors on the weights of the tasks
    sources        what each task follows in the source; None for places, and for feet on paths of their own
    """

    def __init__(
        self,
        clip: Clip,
        bodies: tuple[Body, Body],
        tree: RobotTree,
        match: Match,
        weights: RobotWeights,
        freedoms: Mapping[str, int],
    ) -> None:
        source, target = bodies
        world = extend_poses(clip.poses, source.skeleton).world
        self.source, self.target, self.tree, self.match, self.weights = source, target, tree, match, weights
        self.held = list_held_rows(target, match)
        self._freedoms = freedoms
        self._used = {row.role for row in match.joints if row.is_used and self._freedoms.get(row.role, 1)}
        self._idle_turns = list_idle_turns(target, match, self._freedoms)
        self.turns = rotations.multiply(source.world_turn, world.rotations)
        self.places = rotations.rotate(source.world_turn, world.positions)
        to_body = turn_to_body(target.reference.body)
        self.rest = rotations.rotate(to_body, target.reference.body.points)
        rest_turns = rotations.from_matrix(compute_rest_rotations(target.reference.skeleton))
        self.rest_turns = rotations.multiply(to_body, rest_turns)
        self.sources: list[SourceTurn | SourceDirection | None] = []
        self._count = len(clip)
        self._tasks: list[LinkTask] = []

    # --- The source ------------------------------------------------------------------------------

    def compute_turn(self, turn: SourceTurn) -> Floats:
        """Compute a rotation (F, 4)."""
        factors = turn.factors
        if turn.row < 0:
            turned, factors = np.tile(factors[0], (self._count, 1)), factors[1:]
        else:
            turned = self.turns[:, turn.row]
        for factor in factors:
            turned = rotations.multiply(turned, factor)
        return turned

    def find_segment_turn(self, role: str) -> SourceTurn:
        """Find the rotation of a segment of the source. The match may turn it about its bone."""
        segment = self.source.segments[role]
        turn = rotations.about(_BONE, np.radians(self.match[role].turn))
        return SourceTurn(segment.carrier, (segment.carrier_frame, turn))

    def _find_trunk_turn(self, row: int, source_row: int) -> SourceTurn:
        """Find the rotation of a joint of trunk or neck."""
        pair = find_row(self.target, self.match, row)
        factors = (self.source.segments[f"joint {source_row}"].row_frame,)
        if pair is not None and pair.is_used and pair.role not in self._idle_turns:
            factors = *factors, rotations.about(_UP, np.radians(pair.turn))
        return SourceTurn(source_row, factors)

    def find_hips_turn(self) -> SourceTurn:
        """Find the rotation of the hips. They are as at rest where the match skips them."""
        row = self.target.spine.rows[0]
        if row not in self.held:
            return self._find_trunk_turn(row, self.source.spine.rows[0])
        at_rest = rotations.from_matrix(compute_rest_rotations(self.target.reference.skeleton))[row]
        turn = rotations.multiply(at_rest, self.target.segments[f"joint {row}"].row_frame)
        return SourceTurn(-1, (rotations.multiply(self.target.world_turn, turn),))

    def turn_hips(self) -> Floats:
        """Compute the rotation (F, 4) of the hips."""
        return self.compute_turn(self.find_hips_turn())

    def find_bone(self, role: str) -> SourceDirection:
        """Find both ends of a segment of the source."""
        side = next(side for side in SIDES if role.startswith(side))
        rows = self.source.rows
        return SourceDirection(rows[role], rows[f"{side}{NEXT_PARTS[role[len(side) :]]}"])

    def find_direction(self, role: str) -> Floats:
        """Find the direction (F, 3) of a segment of the source."""
        bone = self.find_bone(role)
        return normalise(self.places[:, bone.end] - self.places[:, bone.start])

    # --- The target ------------------------------------------------------------------------------

    def find_rest(self, role: str) -> Floats:
        """Find the place (3,) of a role of the target at rest."""
        return self.rest[self.target.rows[role]]

    def find_hip_middle(self) -> Floats:
        """Find the middle (3,) of the target's hip joints at rest."""
        return 0.5 * (self.find_rest("leftUpperLeg") + self.find_rest("rightUpperLeg"))

    def find_hip(self, side: str, path: Floats) -> Floats:
        """Find a hip joint (F, 3) from the hips' path."""
        return path + rotations.rotate(self.turn_hips(), self.find_rest(f"{side}UpperLeg") - self.find_hip_middle())

    def measure_leg(self, side: str) -> tuple[float, float]:
        """Measure thigh and shin of the target."""
        hip, knee, ankle = (self.find_rest(f"{side}{part}") for part in ("UpperLeg", "LowerLeg", "Foot"))
        return float(np.linalg.norm(knee - hip)), float(np.linalg.norm(ankle - knee))

    def find_ankles(self, side: str, path: Floats) -> Floats:
        """Find the ankle (F, 3) by the directions of a leg."""
        thigh, shin = self.measure_leg(side)
        ways = thigh * self.find_direction(f"{side}UpperLeg") + shin * self.find_direction(f"{side}LowerLeg")
        return self.find_hip(side, path) + ways

    def find_bend(self, side: str) -> LegBend | None:
        """Find the bend of the source's leg over the target's ankle. None where the ankle turns about the shin."""
        axes = self._list_ankle_axes(side)
        if any(abs(float(axis @ _ACROSS_SOLE)) > SAME_AXIS for axis, _ in axes):
            return None
        rolls = [range_rad for axis, range_rad in axes if abs(float(axis @ _BONE)) > SAME_AXIS]
        thigh, shin = (self.find_direction(f"{side}{part}") for part in ("UpperLeg", "LowerLeg"))
        lengths, across = self.measure_leg(side), np.cross(thigh, shin)
        lean = -normalise(lengths[0] * thigh + lengths[1] * shin)
        most_roll = max(rolls, default=np.inf)
        return LegBend(np.stack([across[:, 1], -across[:, 0]], axis=1), lean[:, :2], most_roll)

    def measure_roll_range(self, side: str) -> float:
        """Measure how far [rad] hinges behind the knee roll the foot.

        0 where none does, infinite where that is as far as any leg leans.
        """
        rolls = [range_rad for axis, range_rad in self._list_ankle_axes(side) if abs(float(axis @ _BONE)) > SAME_AXIS]
        most_roll = max(rolls, default=0.0)
        return most_roll if most_roll < 0.5 * np.pi else np.inf

    def _list_ankle_axes(self, side: str) -> list[tuple[Floats, float]]:
        """List axes of hinges behind the knee in those of the foot.

        With each goes how far [rad] it turns to both sides. A ball is three hinges.
        """
        segment, skeleton = self.target.segments[f"{side}Foot"], self.tree.skeleton
        path = skeleton.list_path(segment.row)
        behind_knee = path[path.index(self.target.rows[f"{side}LowerLeg"]) + 1 :]
        to_foot = rotations.inverse(rotations.multiply(self.rest_turns[segment.row], segment.row_frame))
        axes: list[tuple[Floats, float]] = []
        for unknown in self.tree.unknowns:
            if unknown.row in behind_knee:
                own = find_axis(self.tree, unknown.row, unknown)
                turned = rotations.rotate(rotations.inverse(self.tree.turns[unknown.row]), own)
                axis = rotations.rotate(to_foot, rotations.rotate(self.rest_turns[unknown.row], turned))
                axes.append((axis, max(min(-unknown.low, unknown.high), 0.0)))
        return axes

    def find_foot_turns(self, side: str) -> Floats:
        """Find the axes (F, 3, 3) of a foot of the source.

        Columns are heading, up, right.
        """
        return rotations.as_matrix(self.compute_turn(self.find_segment_turn(f"{side}Foot")))

    # --- Tasks -----------------------------------------------------------------------------------

    def add_segments(self) -> None:
        """Add the rotations and directions of trunk, limbs, hands and head."""
        spine, neck = self.target.spine.rows, self.target.neck.rows
        trunk, limbs = self.weights.trunk * _TRUNK_WEIGHT, self.weights.limbs
        weight = _HELD_HIPS_WEIGHT if spine[0] in self.held else trunk
        self._add_turn(self.target.segments[f"joint {spine[0]}"], self.find_hips_turn(), weight)
        self._add_end(spine[1:], self.source.spine.rows, trunk)
        if self.source.neck.rows:
            self._add_end(neck[1:] or neck, self.source.neck.rows, self.weights.head * _HEAD_WEIGHT)
        for side in SIDES:
            turned = {  # their rotation about the bone counts, too
                "UpperLeg": limbs * _THIGH_WEIGHT,
                "UpperArm": limbs * _UPPER_ARM_WEIGHT,
                "Hand": self.weights.hands * _HAND_WEIGHT,
            }
            for part, weight in turned.items():
                role = f"{side}{part}"
                if role in self._used and part in POINTING_PARTS and self._freedoms[role] < FULL_TURN:
                    self._add_direction(role, limbs * _LOWER_WEIGHT)
                elif role in self._used:
                    self._add_turn(self.target.segments[role], self.find_segment_turn(role), weight)
            for role in (f"{side}LowerLeg", f"{side}LowerArm"):
                if role in self._used:
                    self._add_direction(role, limbs * _LOWER_WEIGHT)

    def _add_end(self, rows: Sequence[int], source_rows: Sequence[int], weight: float) -> None:
        """Add the rotation of the end of trunk or neck. A skipped end leaves it to the joint before."""
        row = next((row for row in reversed(rows) if row not in self.held), None)
        if row is not None:
            turn = self._find_trunk_turn(row, source_rows[-1])
            self._add_turn(self.target.segments[f"joint {row}"], turn, weight)

    def _add_turn(self, segment: Segment, turn: SourceTurn, weight: float) -> None:
        """Add the rotation of a segment, if the robot can turn it."""
        turn = SourceTurn(turn.row, (*turn.factors, *self.list_factors_to_node(segment)))
        self._add_matrices(segment, self.compute_turn(turn), weight, turn)

    def list_factors_to_node(self, segment: Segment) -> tuple[Floats, Floats]:
        """List the rotations (4,) from a segment's axes to its node."""
        return rotations.inverse(segment.carrier_frame), rotations.inverse(self.tree.turns[segment.carrier])

    def _add_matrices(
        self, segment: Segment, turned: Floats, weight: Floats | float, source: SourceTurn | None = None
    ) -> None:
        """Add the rotation (F, 4) of a segment's node."""
        matrices = rotations.as_matrix(turned).reshape(self._count, 9)
        self._add(ROTATION, int(self.tree.nodes[segment.carrier]), np.zeros(3), matrices, weight, source)

    def _add_direction(self, role: str, weight: float) -> None:
        segment = self.target.segments[role]
        local = rotations.rotate(rotations.multiply(self.tree.turns[segment.row], segment.row_frame), _BONE)
        bone = self.find_bone(role)
        self._add(DIRECTION, int(self.tree.nodes[segment.row]), local, self.find_direction(role), weight, bone)

    def add_hips(self, path: Floats) -> None:
        """Add the path (F, 3) of the middle of the hip joints."""
        row = self.target.spine.rows[0]
        local = self._turn_into_node(row, self.find_hip_middle() - self.rest[row]) + self.tree.centres[row]
        self._add(PLACE, int(self.tree.nodes[row]), local, path, self.weights.root * _HIPS_WEIGHT)

    def add_foot_turn(self, side: str) -> None:
        """Add the rotation of a foot as in the source. It may go where the leg leads it."""
        if f"{side}Foot" in self._used:
            self._add_turn(
                self.target.segments[f"{side}Foot"],
                self.find_segment_turn(f"{side}Foot"),
                self.weights.feet * _FREE_FOOT_WEIGHT,
            )

    def add_foot(
        self, side: str, path: FootPath, stands: Floats, heights: Floats, sole: RobotSole, edges: Floats | None = None
    ) -> None:
        """Add the path of a foot: heel, ball and rotation.

        `stands` (F,) is 1 where it stands, 0 where it swings, by `heights` (F, 2) over the ground. `edges` (F, 2) are
        the shares of its left and right edge in its hold; without them its middle is held.
        """
        segment = self.target.segments[f"{side}Foot"]
        turned = rotations.from_matrix(path.turns)
        for factor in self.list_factors_to_node(segment):
            turned = rotations.multiply(turned, factor)
        turn_weights, weights = self.weigh_foot(side, stands, measure_nearness(heights, self.target.leg_length))
        self._add_matrices(segment, turned, turn_weights)
        row, node = segment.row, int(self.tree.nodes[segment.row])
        corners = sole.list_corners().reshape(2, 2, 3)
        points, shares = corners.mean(axis=1, keepdims=True), np.ones((1, 1))
        if edges is not None:
            points, shares = corners, np.sqrt(edges).T
        for end, edge in product(range(2), range(len(shares))):
            point, held = points[end, edge], shares[edge] * weights[:, end]
            local = rotations.rotate(rotations.multiply(self.tree.turns[row], segment.row_frame), point)
            self._add(PLACE, node, local + self.tree.centres[row], path.places + path.turns @ point, held)

    def weigh_foot(self, side: str, stands: Floats, near: Floats) -> tuple[Floats, Floats]:
        """Weigh rotation (F,) and places (F, 2) of a foot.

        stands  (F,) how much it stands, 0 to 1
        near    (F, 2) how near heel and ball are to the ground, 0 to 1
        """
        firm = _STANDING_FOOT_WEIGHT if self._has_full_leg(side) else _FREE_FOOT_WEIGHT
        turn_weights = _SWING_FOOT_WEIGHT + stands * (firm - _SWING_FOOT_WEIGHT)
        swings = _SWING_WEIGHT + near * (_NEAR_GROUND_WEIGHT - _SWING_WEIGHT)
        places = swings + stands[:, None] * (_STANDING_WEIGHT - swings)
        return self.weights.feet * turn_weights, self.weights.feet * places

    def _has_full_leg(self, side: str) -> bool:
        """Return whether a leg can turn its foot in any way."""
        skeleton, rows = self.target.skeleton, self.target.rows
        path = skeleton.list_path(rows[f"{side}Foot"])
        hips = self.target.spine.rows[0]
        below = path[path.index(hips) + 1 :] if hips in path else path
        return has_full_freedom(skeleton, below)

    def _turn_into_node(self, row: int, vector: Floats) -> Floats:
        """Turn a vector (3,) at rest into the node of a row."""
        local = rotations.rotate(rotations.inverse(self.rest_turns[row]), vector)
        return rotations.rotate(self.tree.turns[row], local)

    def _add(
        self, kind: int, node: int, point: Floats, targets: Floats, weights: Floats | float,
        source: SourceTurn | SourceDirection | None = None,
    ) -> None:  # fmt: skip
        self._tasks.append(LinkTask(kind, node, point, targets, np.broadcast_to(weights, self._count)))
        self.sources.append(source)

    def build(self) -> Tasks:
        """Build the tasks as arrays."""
        return join_tasks(self._tasks)
