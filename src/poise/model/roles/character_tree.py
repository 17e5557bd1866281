"""Joint tree for the role search."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np

from poise.maths.arrays import Floats
from poise.maths.rotations import rotation_part
from poise.model.joint_tree import JointTree, is_robot
from poise.model.joints import Kind
from poise.model.numpy_kinematics import compute_world_transforms
from poise.model.roles.bone_names import SIDES, NameTokens, parse_joint_name, tokenize_name

# fraction of all names: a token in more of them carries no meaning (an actor's name, "Bip01", "Skeleton")
_MAX_TOKEN_SHARE = 0.4

# cosine of the angle between a hinge and another axis, such as that of a bone: from this one on they count as one
SAME_AXIS = 0.7

# joints in a line; a limb has ten
_MAX_PATH_JOINTS = 48


SIDECAR_REASON = "the sidecar"  # reason of a role that a sidecar declares


class Role(NamedTuple):
    """Joint found for a role: row, confidence, reason."""

    row: int
    confidence: float
    reason: str


@dataclass(frozen=True, eq=False)
class CharacterTree:
    """Skeleton in one pose, prepared for the role search.

    positions        (n, 3) joint positions at rest, in a unit of the character's own size
    moved_positions  (n, 3) positions in the first frame of a clip, for unreliable rest poses; or None
    skinned_rows     rows of the joints that deform a mesh; empty where the file has none
    """

    skeleton: JointTree
    positions: Floats
    moved_positions: Floats | None = None
    skinned_rows: frozenset[int] = frozenset()

    @cached_property
    def parents(self) -> list[int]:
        """Parent row of each row, -1 for a root."""
        return self.skeleton.parents.tolist()

    @cached_property
    def up(self) -> Floats | None:
        """The file's up direction (3,), or None."""
        return None if self.skeleton.up is None else np.eye(3)["xyz".index(self.skeleton.up)]

    @cached_property
    def depths(self) -> list[int]:
        """Number of ancestors of each joint."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(depths[parent] + 1 if parent >= 0 else 0)
        return depths

    @cached_property
    def hinge_mask(self) -> list[bool]:
        """Mask of the hinge joints."""
        return (self.skeleton.kinds == Kind.HINGE).tolist()

    @cached_property
    def is_robot(self) -> bool:
        """Whether its joints are those of a robot; see `is_robot`."""
        return is_robot(self.skeleton.kinds, self.skeleton.parents)

    @cached_property
    def usable_mask(self) -> list[bool]:
        """Mask of the joints allowed to have a role.

        These are moving joints; in robots and physics bodies also fixed ones. Fixed nodes of a character are meshes,
        props and ends of bones. With hinges besides balls, fixed rows are bodies, as in a robot: a fixed base, a hand
        welded to its forearm.
        """
        counts_fixed_joints = self.is_robot or any(self.hinge_mask)
        return [counts_fixed_joints or is_moving for is_moving in (self.skeleton.kinds != Kind.FIXED).tolist()]

    @cached_property
    def tokens(self) -> list[NameTokens]:
        """Tokens of each name, without tokens shared by most names."""
        names = self.skeleton.names
        all_tokens = set[str]().union(*(tokenize_name(name) for name in names))
        has_axis_names, has_leg_letters = (
            bool({"pitch", "yaw"} & all_tokens),
            {"ll", "rl"} <= all_tokens and not {"fl", "fr", "rr"} & all_tokens,
        )
        name_tokens = [
            parse_joint_name(name, roll_is_axis=has_axis_names, rl_is_right=has_leg_letters) for name in names
        ]
        counts = Counter(word for tokens in name_tokens for word in set(tokens.unknown_words))
        shared_words = {word for word, count in counts.items() if count > _MAX_TOKEN_SHARE * len(names)}
        return [
            tokens._replace(unknown_words=tuple(word for word in tokens.unknown_words if word not in shared_words))
            for tokens in name_tokens
        ]

    @cached_property
    def children(self) -> list[list[int]]:
        """Child rows of each row in the filtered tree.

        Only usable joints count, and helpers only where they carry a joint that is none.
        """
        child_rows: list[list[int]] = [[] for _ in self.parents]
        for row in reversed(range(len(child_rows))):
            child_rows[row].reverse()
            is_counted = self.usable_mask[row] and (child_rows[row] or not self.tokens[row].is_helper)
            if is_counted and self.parents[row] >= 0:
                child_rows[self.parents[row]].append(row)
        return child_rows

    @cached_property
    def _reach_lengths(self) -> list[float]:
        """Length of the longest path below each joint."""
        reach_lengths = [0.0] * len(self.parents)
        for row in reversed(range(len(reach_lengths))):
            reach_lengths[row] = max(
                (reach_lengths[child] + self.bone_lengths[child] for child in self.children[row]), default=0.0
            )
        return reach_lengths

    def measure_reach(self, row: int) -> float:
        """Measure the longest path below a joint."""
        return self._reach_lengths[row]

    @cached_property
    def bone_lengths(self) -> list[float]:
        """Distance of each joint from its parent; 0 for a root."""
        parents = np.array(self.parents, dtype=np.int64)
        return (np.linalg.norm(self.positions - self.positions[parents], axis=1) * (parents >= 0)).tolist()

    @cached_property
    def path_counts(self) -> list[int]:
        """Joint count of the longest path from each joint. The joint itself counts."""
        path_counts = [1] * len(self.parents)
        for row in reversed(range(len(path_counts))):
            child = self._find_next(row)
            path_counts[row] += path_counts[child] if child >= 0 else 0
        return path_counts

    def _find_next(self, row: int) -> int:
        """Find the child on the longest path, or -1."""
        return max(
            self.children[row], key=lambda child: self._reach_lengths[child] + self.bone_lengths[child], default=-1
        )

    def find_longest_path(self, row: int) -> list[int]:
        """Find the longest path down from a joint, itself included. It has no more joints than a limb can have."""
        rows: list[int] = []
        while row >= 0 and len(rows) < _MAX_PATH_JOINTS:
            rows.append(row)
            row = self._find_next(row)
        return rows

    def find_named(self, part: str, side: str = "") -> list[int]:
        """Find the rows named for a part and side. Loose matches count only without strict ones."""
        rows = self.find_matches(part, side)
        return [row for row in rows if not self.tokens[row].unknown_words] or rows

    def find_matches(self, part: str, side: str = "") -> list[int]:
        """Find all rows named for a part and side. Strict and loose matches count."""
        return self._rows_by_part.get((part, side), [])

    @cached_property
    def _rows_by_part(self) -> dict[tuple[str, str], list[int]]:
        """Collect the rows of each named part and side."""
        rows_by_part: dict[tuple[str, str], list[int]] = {}
        for row, tokens in enumerate(self.tokens):
            if tokens.part and not (tokens.is_helper or tokens.is_other_limb) and self.usable_mask[row]:
                rows_by_part.setdefault((tokens.part, tokens.side), []).append(row)
        return rows_by_part

    def is_dead_end(self, row: int) -> bool:
        """Return whether a joint is a leaf beside a longer sibling.

        Such a joint is a helper next to the limb; its name does not matter.
        """
        parent = self.parents[row]
        return parent >= 0 and not self.children[row] and self._grandparent_mask[parent]

    @cached_property
    def _grandparent_mask(self) -> list[bool]:
        """Whether a joint has grandchildren, for each joint."""
        return [any(self.children[child] for child in child_rows) for child_rows in self.children]

    @cached_property
    def preorder_spans(self) -> list[tuple[int, int]]:
        """Number the joints in depth-first order.

        For each joint: its own number, and the number after the last joint below it.
        """
        subtree_sizes = [1] * len(self.parents)
        for row in reversed(range(len(subtree_sizes))):
            if self.parents[row] >= 0:
                subtree_sizes[self.parents[row]] += subtree_sizes[row]
        next_numbers, spans = (
            [0] * (len(subtree_sizes) + 1),
            list[tuple[int, int]](),
        )  # where the next child begins; the last is for roots
        for row, parent in enumerate(self.parents):
            first_number = next_numbers[parent]
            next_numbers[parent] += subtree_sizes[row]
            next_numbers[row] = first_number + 1
            spans.append((first_number, first_number + subtree_sizes[row]))
        return spans

    def find_preorder_numbers(self, rows: Iterable[int]) -> list[int]:
        """Find the sorted depth-first numbers of joints, for `is_above_any`."""
        return sorted(self.preorder_spans[row][0] for row in rows)

    def is_above_any(self, row: int, preorder_numbers: Sequence[int]) -> bool:
        """Return whether a joint is above one of these numbers.

        A joint is above itself; `find_preorder_numbers` makes the numbers.
        """
        span_start, span_end = self.preorder_spans[row]
        return bisect_left(preorder_numbers, span_start) < bisect_left(preorder_numbers, span_end)

    def is_above(self, upper: int, lower: int) -> bool:
        """Return whether `upper` is `lower` or one of its ancestors."""
        span_start, span_end = self.preorder_spans[upper]
        return span_start <= self.preorder_spans[lower][0] < span_end

    def find_common_ancestor(self, rows: list[int]) -> int:
        """Find the lowest common ancestor of joints, or -1."""
        if not rows:
            return -1
        row, preorder_numbers = rows[0], self.find_preorder_numbers(rows)
        while (
            row >= 0
            and not self.preorder_spans[row][0]
            <= preorder_numbers[0]
            <= preorder_numbers[-1]
            < self.preorder_spans[row][1]
        ):
            row = self.parents[row]
        return row

    def find_path(self, top: int, bottom: int) -> list[int]:
        """Find the path from `top` down to `bottom`, both included. It is [] where `top` is not above it."""
        rows: list[int] = []
        while bottom > top:
            rows.append(bottom)
            bottom = self.parents[bottom]
        return [top, *reversed(rows)] if bottom == top else []

    def find_path_between(self, start: int, end: int) -> list[int]:
        """Find the path between two joints, both included. It leads up to their common ancestor, then down."""
        fork = self.find_common_ancestor([start, end])
        return [*reversed(self.find_path(fork, start)), *self.find_path(fork, end)[1:]] if fork >= 0 else []

    def measure_distance(self, a: int, b: int) -> float:
        """Measure the distance of two joints."""
        return math.dist(self._position_lists[a], self._position_lists[b])

    def adds_bend(self, row: int, next_row: int, others: Iterable[int]) -> bool:
        """Return whether a hinge bends a bone about a new axis.

        Its axis is compared with those of other hinges, and with the way from it to the next joint, which it would
        twist. One at the next joint itself bends none.
        """
        axes = self._hinge_axes
        return not self.is_twist(row, row, next_row) and all(
            abs(float(axes[row] @ axes[other])) < SAME_AXIS for other in others
        )

    def is_twist(self, row: int, start: int, end: int) -> bool:
        """Return whether a hinge turns about the line between two joints."""
        way = self.positions[end] - self.positions[start]
        return abs(float(self._hinge_axes[row] @ way)) >= SAME_AXIS * float(np.linalg.norm(way))

    @cached_property
    def _hinge_axes(self) -> Floats:
        """Axes (n, 3) of hinges at rest."""
        turns = compute_world_transforms(self.skeleton, self.skeleton.rest_q)[:, :3, :3]
        behind = rotation_part(self.skeleton.B[:, :, :3])  # frames behind hinges turn with them, their axes do not
        return (turns @ behind.transpose(0, 2, 1) @ self.skeleton.axes[:, :, None])[:, :, 0]

    @cached_property
    def _position_lists(self) -> list[list[float]]:
        return self.positions.tolist()


# --- Chain validation of limbs ---------------------------------------------------------------------------------------
#
# Each joint of a limb hangs below the one before.


LEG_PARTS = ("UpperLeg", "LowerLeg", "Foot", "Toes")
ARM_PARTS = ("Shoulder", "UpperArm", "LowerArm", "Hand")


def is_limb_role(role: str) -> bool:
    """Return whether a role belongs to an arm, hand or leg."""
    return role.startswith(SIDES) and not role.endswith("Eye")


def drop_detached_joints(
    tree: CharacterTree, roles_found: Mapping[str, Role]
) -> tuple[dict[str, Role], dict[str, str]]:
    """Drop the roles of joints detached from their limb. Also return the reason for each."""
    remaining_roles, reasons = dict(roles_found), dict[str, str]()
    for side in SIDES:
        for limb_parts in (LEG_PARTS, ARM_PARTS):
            roles = [f"{side}{part}" for part in limb_parts if f"{side}{part}" in roles_found]
            chain = _find_best_chain(tree, roles_found, roles)
            for role in roles:
                if role not in chain:
                    reasons[role] = explain_detached(
                        tree,
                        roles_found[role].row,
                        role,
                        {chain_role: roles_found[chain_role].row for chain_role in chain},
                    )
                    del remaining_roles[role]
    return remaining_roles, reasons


def _find_best_chain(tree: CharacterTree, candidates: Mapping[str, Role], roles: Sequence[str]) -> tuple[str, ...]:
    """Find the most confident chain of a limb's roles."""
    for role_count in range(len(roles), 1, -1):
        chains = [
            role_chain
            for role_chain in combinations(roles, role_count)
            if _is_chain(tree, [candidates[role].row for role in role_chain])
        ]
        if chains:
            return max(chains, key=lambda some: sum(candidates[role].confidence for role in some))
    return tuple(roles[:1])


def _is_chain(tree: CharacterTree, rows: Sequence[int]) -> bool:
    return all(a != b and tree.is_above(a, b) for a, b in pairwise(rows))


def explain_detached(tree: CharacterTree, row: int, role: str, limb_rows: Mapping[str, int]) -> str:
    """Explain why a limb joint is left out. `limb_rows` holds the rows of the limb."""
    role_order = [f"{side}{part}" for side in SIDES for parts in (LEG_PARTS, ARM_PARTS) for part in parts]
    names = tree.skeleton.names
    for limb_role, limb_row in limb_rows.items():
        upper_row, lower_row = (
            (row, limb_row) if role_order.index(role) < role_order.index(limb_role) else (limb_row, row)
        )
        if upper_row == lower_row or not tree.is_above(upper_row, lower_row):
            relation = "above" if upper_row == row else "below"
            return f"{names[row]!r} is not {relation} {names[limb_row]!r}, the {limb_role}"
    return f"{names[row]!r} is above no other joint of the limb"
