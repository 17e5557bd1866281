"""Limbs, trunk and facing direction from the tree and its bone lengths.

A limb is a branch with at least two bones; its partner is a sibling with bones of the same lengths. Lengths do not
depend on the pose: rest poses of motion capture are often meaningless. Positions are used only where the tree is
ambiguous.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import NamedTuple

import numpy as np

from poise.maths.arrays import Floats
from poise.maths.vectors import normalise, remove_component, snap_to_axis
from poise.model.roles.character_tree import CharacterTree
from poise.runtime.result_cache import get_or_compute

# fraction of their lengths: largest mean difference of partners' bones (2 to 6 % in captured rigs)
_MAX_DIFFERENCE_FRACTION = 0.12
# fraction of the longest limb: shorter pairs are ears, coat tails, controls
_MIN_LENGTH_FRACTION = 0.35
# largest number of limb pairs; a centipede has 177 at most
_MAX_PAIRS = 200
# largest number of branches at one joint; more are the spokes of a wheel, or fur
_MAX_BRANCHES = 32
# joints of a limb: two that turn, and its end
_MIN_LIMB_JOINTS = 3
# fraction of a limb's length: nearer joints count as one position
_COLOCATED_FRACTION = 0.01
# the same for hinges, whose drives are side by side: 3 % at the ankle of the Unitree G1
_COLOCATED_HINGE_FRACTION = 0.05
_MIN_LENGTH_SUM = 1e-300
# pairs of limbs of four legs, or of arms and legs
_TWO_PAIRS = 2
# minimum drop of a leg, as a fraction of the mean leg; maximum horizontal sum of all legs, as a fraction of their total
_MIN_DROP_FRACTION, _MAX_IMBALANCE_FRACTION = 0.05, 0.5
# cosine: a down direction this near to an axis is that axis
_DOWN_SNAP_COSINE = 0.9
# cosine between legs and straight down: people sit and stride, fins point to the sides
_HANGING_COSINE = 0.5
# fraction of the distance from hips to shoulders: legs are longer, and so is a third pair that counts
_MIN_LEG_FRACTION = 0.5
# cosine between legs and trunk: below it the legs do not continue the trunk
_TRUNK_COSINE = 0.3
# length ratio of front and hind legs; fins differ by more
_MIN_LEG_RATIO = 0.5
# fraction of a leg's length: legs with nearer hips are one leg and its control bones
_COPY_DISTANCE_FRACTION = 0.05
_LEG_TOKENS = frozenset({"thigh", "leg", "shin", "ankle", "foot", "toe"})
# conditions on four legs: two cosines, and a fraction of a limb's length
_PARALLEL_COSINE, _ACROSS_COSINE, _LEVEL_FRACTION = 0.6, 0.7, 0.35


class LimbPair(NamedTuple):
    """Two mirrored limbs. Fields: the joint carrying both, each limb's rows from there out, and their length."""

    attachment_row: int
    limb_rows: tuple[list[int], list[int]]
    mean_length: float


@dataclass(frozen=True, eq=False)
class LimbStructure:
    """Limbs of a character. `legs` carry it, or are its hind legs; `arms` are its arms or front legs.

    many_legs         the limbs of a creature standing on six or more; `up` is then the up direction, a unit vector (3,)
    rejection_reason  reason against taking two pairs of limbs as arms and legs; empty without one
    """

    legs: LimbPair | None
    arms: LimbPair | None
    is_quadruped: bool = False
    many_legs: tuple[list[int], ...] = ()
    up: Floats | None = None
    rejection_reason: str = ""


def find_limb_structure(tree: CharacterTree) -> LimbStructure:
    """Find the two longest pairs of limbs and identify them. With more pairs, return all that stand."""
    candidate_pairs = sorted(find_limb_pairs(tree), key=lambda pair: -pair.mean_length)
    if len(candidate_pairs) > _MAX_PAIRS:
        return LimbStructure(
            None,
            None,
            rejection_reason=f"it has {len(candidate_pairs)} pairs of limbs; legs are searched in up to {_MAX_PAIRS}",
        )
    chosen_pairs = [
        pair for pair in candidate_pairs if pair.mean_length >= _MIN_LENGTH_FRACTION * candidate_pairs[0].mean_length
    ]
    if len(chosen_pairs) > _TWO_PAIRS:
        chosen_pairs, up = find_standing_pairs(tree, candidate_pairs)
        if len(chosen_pairs) > _TWO_PAIRS:
            return LimbStructure(
                None, None, many_legs=tuple(limb for pair in chosen_pairs for limb in pair.limb_rows), up=up
            )
        chosen_pairs = chosen_pairs if len(chosen_pairs) == _TWO_PAIRS and _is_four_legged(tree, chosen_pairs) else []
    return _identify_pairs(tree, chosen_pairs, candidate_pairs) if chosen_pairs else LimbStructure(None, None)


def _identify_pairs(tree: CharacterTree, limb_pairs: list[LimbPair], candidate_pairs: list[LimbPair]) -> LimbStructure:
    """Identify one or two pairs of limbs.

    All `candidate_pairs` count for the rejection.
    """
    if len(limb_pairs) == 1:
        return (
            LimbStructure(limb_pairs[0], None)
            if _is_hanging(tree, limb_pairs[0])
            else LimbStructure(None, limb_pairs[0])
        )
    if _is_four_legged(tree, limb_pairs):
        legs, arms = _order_pairs(tree, limb_pairs)
        return LimbStructure(legs, arms, is_quadruped=True)
    legs, arms = _order_pairs(tree, limb_pairs)
    if legs.attachment_row == arms.attachment_row and not _has_rigid_trunk(tree, legs, arms):  # fingers of a hand
        return LimbStructure(None, None)
    rejection_reason = _explain_rejection(tree, legs, arms, candidate_pairs)
    return (
        LimbStructure(None, None, rejection_reason=rejection_reason) if rejection_reason else LimbStructure(legs, arms)
    )


def _explain_rejection(tree: CharacterTree, legs: LimbPair, arms: LimbPair, candidate_pairs: list[LimbPair]) -> str:
    """Explain why two pairs are not legs and arms, or "".

    They may be fins, sprawling legs or some of many limbs.
    """
    names = tree.skeleton.names
    leg_label = f"the limbs starting at {names[legs.limb_rows[0][0]]!r} and {names[legs.limb_rows[1][0]]!r}"
    leg_direction = _compute_direction(tree, legs)
    if tree.up is not None and float(leg_direction @ tree.up) > -_HANGING_COSINE:
        return f"{leg_label} do not hang down like legs"
    if float(np.linalg.norm(leg_direction)) < _PARALLEL_COSINE:
        return f"{leg_label} point apart, unlike legs"
    trunk_length = _measure_length(tree, tree.find_path_between(legs.attachment_row, arms.attachment_row))
    if legs.mean_length < _MIN_LEG_FRACTION * trunk_length:
        return f"{leg_label} are short compared to the trunk: they may be fins"
    trunk_direction = normalise(tree.positions[arms.attachment_row] - tree.positions[legs.attachment_row])
    if (
        legs.mean_length < trunk_length and abs(float(trunk_direction @ normalise(leg_direction))) < _TRUNK_COSINE
    ):  # the legs of a bowing person are longer
        return f"{leg_label} are across the trunk, like those of a fish or an animal"
    other_pairs = [pair for pair in candidate_pairs if pair is not legs and pair is not arms]
    if any(pair.mean_length >= _MIN_LEG_FRACTION * min(legs.mean_length, arms.mean_length) for pair in other_pairs):
        return "there are more than two pairs of limbs, and any may be the legs"
    return ""


def find_leg_pairs(tree: CharacterTree) -> list[LimbPair]:
    """Find up to three pairs of limbs named as legs.

    Of pairs at the same position one is taken, and all belong to one body.
    """
    leg_pairs: list[LimbPair] = []
    for pair in find_limb_pairs(tree)[:_MAX_PAIRS]:
        if not all(any(tree.tokens[row].part in _LEG_TOKENS for row in rows) for rows in pair.limb_rows):
            continue
        if all(_is_separate_pair(tree, pair, leg_pair) for leg_pair in leg_pairs):
            leg_pairs.append(pair)
        if len(leg_pairs) > _TWO_PAIRS:
            break
    return leg_pairs


def _is_separate_pair(tree: CharacterTree, pair: LimbPair, other_pair: LimbPair) -> bool:
    """Return whether two leg pairs are separate legs. They must belong to one body.

    A copy for controls is at the same position; legs of another body are far away.
    """
    hip_positions = [tree.positions[rows[0]] for rows in other_pair.limb_rows]
    distance = min(
        float(np.linalg.norm(tree.positions[rows[0]] - hip)) for rows in pair.limb_rows for hip in hip_positions
    )
    path = tree.find_path_between(pair.attachment_row, other_pair.attachment_row)
    return (
        distance > _COPY_DISTANCE_FRACTION * pair.mean_length
        and bool(path)
        and _measure_length(tree, path) < other_pair.mean_length
    )


def find_standing_pairs(tree: CharacterTree, candidate_pairs: list[LimbPair]) -> tuple[list[LimbPair], Floats]:
    """Find the standing pairs of limbs, and the up direction (3,).

    They end at the lowest level, unlike antennae, wings and pincers. Legs lead down, and to all sides or to none: the
    fingers of a hand lead to one side together.
    """
    standing_pairs = candidate_pairs
    up = np.zeros(3)
    for _ in range(2):  # without a file's up, down is the mean direction of the standing limbs
        limb_vectors = np.array(
            [tree.positions[rows[-1]] - tree.positions[rows[0]] for pair in standing_pairs for rows in pair.limb_rows]
        )
        up = tree.up if tree.up is not None else -snap_to_axis(normalise(limb_vectors.mean(axis=0)), _DOWN_SNAP_COSINE)
        end_heights = [max(float(tree.positions[rows[-1]] @ up) for rows in pair.limb_rows) for pair in candidate_pairs]
        lowest_pairs = [
            pair
            for pair, end_height in zip(candidate_pairs, end_heights, strict=True)
            if end_height - min(end_heights) < _LEVEL_FRACTION * candidate_pairs[0].mean_length
        ]
        standing_pairs = [
            pair
            for pair in lowest_pairs
            if pair.mean_length >= _MIN_LENGTH_FRACTION * max(pair.mean_length for pair in lowest_pairs)
        ]
    limb_vectors = np.array(
        [tree.positions[rows[-1]] - tree.positions[rows[0]] for pair in standing_pairs for rows in pair.limb_rows]
    )
    total_length = float(np.linalg.norm(limb_vectors, axis=1).sum())
    level_imbalance = remove_component(limb_vectors.sum(axis=0), up)
    if tree.up is None and abs(up[0]) > _DOWN_SNAP_COSINE:  # along X: no upright rest pose
        return [], up
    if (
        float((limb_vectors @ up).max()) > -_MIN_DROP_FRACTION * total_length / len(limb_vectors)
        or float(np.linalg.norm(level_imbalance)) > _MAX_IMBALANCE_FRACTION * total_length
    ):
        return [], up
    return standing_pairs, up


def read_sides(tree: CharacterTree, limbs: Sequence[list[int]]) -> list[str]:
    """Read the sides of limbs from names. Without as many left as right, every entry is ""."""
    side_lists = [[tree.tokens[row].side for row in rows] for rows in limbs]
    named_sides = ["left" if sides.count("left") > sides.count("right") else "right" for sides in side_lists]
    is_clear = all(sides.count("left") != sides.count("right") for sides in side_lists)
    return named_sides if is_clear and 2 * named_sides.count("left") == len(limbs) else [""] * len(limbs)


def find_limb_pairs(tree: CharacterTree) -> list[LimbPair]:
    """Find every pair of limbs outside other limbs."""
    return get_or_compute(tree, "limb pairs", None, lambda: _search_limb_pairs(tree))


def _search_limb_pairs(tree: CharacterTree) -> list[LimbPair]:
    limb_rows: set[int] = set()
    limb_pairs: list[LimbPair] = []
    for attachment_row, children in enumerate(tree.children):
        if attachment_row in limb_rows:
            limb_rows.update(children)
            continue
        branches = [child for child in children if tree.path_counts[child] >= _MIN_LIMB_JOINTS]
        if not 1 < len(branches) <= _MAX_BRANCHES:
            continue
        paths = [_drop_helpers(tree, tree.find_longest_path(child)) for child in branches]
        paths = [
            path for path in paths if 2 * sum(tree.tokens[row].is_other_limb for row in path) <= len(path)
        ]  # no fins, no wings
        limbs = [limb for limb in (_merge_colocated(tree, path) for path in paths) if len(limb) >= _MIN_LIMB_JOINTS]
        for a, b in _match_partners(tree, limbs):
            length = (_measure_length(tree, a) + _measure_length(tree, b)) / 2.0
            limb_pairs.append(LimbPair(attachment_row, (a, b), length))
            limb_rows.update(child for child in children for row in (a[0], b[0]) if tree.is_above(child, row))
    return limb_pairs


def _drop_helpers(tree: CharacterTree, rows: list[int]) -> list[int]:
    """Drop the twist and roll bones from a path."""
    return [row for row in rows if not tree.tokens[row].is_helper]


def _match_partners(tree: CharacterTree, limbs: list[list[int]]) -> list[tuple[list[int], list[int]]]:
    """Match sibling limbs with equal bones, the most alike first.

    Equally alike ones are matched where they are nearest.
    """
    ranked_matches = sorted(
        (_compare_limbs(tree, a, b), tree.measure_distance(a[0], b[0]), i, j)
        for i, a in enumerate(limbs)
        for j, b in enumerate(limbs[:i])
    )
    partners: list[tuple[list[int], list[int]]] = []
    used_indices: set[int] = set()
    for difference, _, i, j in ranked_matches:
        if difference < _MAX_DIFFERENCE_FRACTION and not used_indices & {i, j}:
            used_indices |= {i, j}
            partners.append((limbs[j], limbs[i]))
    return partners


def measure_bones(tree: CharacterTree, rows: list[int]) -> list[float]:
    """Measure the distances between consecutive joints of a limb."""
    return [tree.measure_distance(a, b) for a, b in pairwise(rows)]


def _measure_length(tree: CharacterTree, rows: list[int]) -> float:
    return sum(measure_bones(tree, rows))


def _compare_limbs(tree: CharacterTree, a: list[int], b: list[int]) -> float:
    """Compute the mean difference of two limbs' bone lengths. 0 is alike, 1 the largest."""
    length_pairs = list(zip_longest(measure_bones(tree, a), measure_bones(tree, b), fillvalue=0.0))
    total_length = sum(first + second for first, second in length_pairs)
    return (
        round(sum(abs(first - second) for first, second in length_pairs) / total_length, 4)
        if total_length > 0.0
        else 1.0
    )


def _compute_direction(tree: CharacterTree, pair: LimbPair) -> Floats:
    """Compute the mean unit vector of a pair's limbs. It is short where they point apart."""
    limb_vectors = [tree.positions[rows[-1]] - tree.positions[rows[0]] for rows in pair.limb_rows]
    return np.mean([normalise(limb_vector) for limb_vector in limb_vectors], axis=0)


def compute_attachment(tree: CharacterTree, pair: LimbPair) -> Floats:
    """Compute the midpoint (3,) of a pair's first joints."""
    return tree.positions[[rows[0] for rows in pair.limb_rows]].mean(axis=0)


def _has_rigid_trunk(tree: CharacterTree, legs: LimbPair, arms: LimbPair) -> bool:
    """Return whether one link of a robot carries both limbs. Arms are far above the legs."""
    first_rows = [rows[0] for pair in (legs, arms) for rows in pair.limb_rows]
    trunk = compute_attachment(tree, arms) - compute_attachment(tree, legs)
    height = -float(trunk @ _compute_direction(tree, legs))
    return all(tree.hinge_mask[row] for row in first_rows) and height > _MIN_LEG_FRACTION * legs.mean_length


def _is_hanging(tree: CharacterTree, pair: LimbPair) -> bool:
    """Return whether a pair points down. Without a known up direction, return whether both limbs are parallel."""
    direction = _compute_direction(tree, pair)
    if tree.up is not None:
        return float(direction @ tree.up) < -_PARALLEL_COSINE
    return float(np.linalg.norm(direction)) > _PARALLEL_COSINE


def _is_four_legged(tree: CharacterTree, limb_pairs: list[LimbPair]) -> bool:
    """Return whether two pairs are the legs of a quadruped.

    Four legs are parallel, across the trunk, and end at one level.
    """
    first_direction, second_direction = (_compute_direction(tree, pair) for pair in limb_pairs)
    down = normalise(first_direction + second_direction)
    end_depths = [tree.positions[rows[-1]] @ down for pair in limb_pairs for rows in pair.limb_rows]
    if (
        limb_pairs[0].attachment_row == limb_pairs[1].attachment_row
    ):  # legs at four corners of one body are all alike, fingers are not
        long_branches = [
            child
            for child in tree.children[limb_pairs[0].attachment_row]
            if tree.path_counts[child] >= _MIN_LIMB_JOINTS
        ]
        is_across_trunk = (
            len(long_branches) == 4  # noqa: PLR2004
            and _compare_limbs(tree, limb_pairs[0].limb_rows[0], limb_pairs[1].limb_rows[0]) < _MAX_DIFFERENCE_FRACTION
        )
    else:
        trunk = normalise(compute_attachment(tree, limb_pairs[1]) - compute_attachment(tree, limb_pairs[0]))
        is_across_trunk = abs(float(trunk @ down)) < _ACROSS_COSINE
    lengths = sorted(pair.mean_length for pair in limb_pairs)
    return bool(
        is_across_trunk
        and lengths[0] > _MIN_LEG_RATIO * lengths[1]
        and min(float(first_direction @ down), float(second_direction @ down)) > _PARALLEL_COSINE
        and np.ptp(end_depths) < _LEVEL_FRACTION * limb_pairs[0].mean_length
        and (tree.up is None or float(down @ tree.up) < -_PARALLEL_COSINE)
    )


def _order_pairs(tree: CharacterTree, limb_pairs: list[LimbPair]) -> tuple[LimbPair, LimbPair]:
    """Order two pairs: legs before arms, hind before front legs.

    Legs end lower than arms, if the file's up is known. Else the arms are at the joint that also carries a neck and a
    head; else at the one further from the root.
    """
    a, b = limb_pairs
    if tree.up is not None and not _is_four_legged(tree, limb_pairs):
        end_positions = [np.mean([tree.positions[rows[-1]] for rows in pair.limb_rows], axis=0) for pair in limb_pairs]
        rise = float((end_positions[1] - end_positions[0]) @ tree.up)
        if abs(rise) > _LEVEL_FRACTION * a.mean_length / 2.0:
            return (a, b) if rise > 0.0 else (b, a)
    fork = tree.find_common_ancestor([a.attachment_row, b.attachment_row])
    if a.attachment_row != b.attachment_row and fork in {a.attachment_row, b.attachment_row}:
        return (a, b) if a.attachment_row == fork else (b, a)
    child_counts = [
        sum(1 for child in tree.children[pair.attachment_row] if tree.path_counts[child]) for pair in limb_pairs
    ]
    return (
        (a, b)
        if (child_counts[0], tree.depths[a.attachment_row]) <= (child_counts[1], tree.depths[b.attachment_row])
        else (b, a)
    )


def _merge_colocated(tree: CharacterTree, rows: list[int]) -> list[int]:
    """Merge joints at one position. Of hinges the last one counts, which carries the bone; of others the first."""
    limb_length = _measure_length(tree, rows)
    groups: list[list[int]] = []
    for row in rows:
        tolerance = limb_length * (_COLOCATED_HINGE_FRACTION if tree.hinge_mask[row] else _COLOCATED_FRACTION)
        if groups and tree.measure_distance(groups[-1][-1], row) <= tolerance:
            groups[-1].append(row)
        else:
            groups.append([row])
    return [group[-1] if tree.hinge_mask[group[-1]] else group[0] for group in groups]


def find_upper_bone(tree: CharacterTree, rows: list[int], limb_direction: Floats | None = None) -> int:
    """Find the index of a limb's upper bone. It begins the two consecutive bones that take the limb furthest.

    Lengths are measured along a direction (3,), by default the limb's own: a clavicle, a shoulder blade or a long foot,
    pointing elsewhere, count little.
    """
    points = tree.positions[rows]
    limb_direction = normalise(points[-1] - points[0]) if limb_direction is None else limb_direction
    bone_lengths = np.abs(np.diff(points, axis=0) @ limb_direction)
    two_bone_lengths = bone_lengths[:-1] + bone_lengths[1:]
    return int(np.argmax(np.round(two_bone_lengths / max(float(two_bone_lengths.max()), _MIN_LENGTH_SUM), 6)))


# --- Facing direction of a character ---------------------------------------------------------------------------------


# fraction of the longest foot's length: minimum level length of the feet as a forward cue
_MIN_FOOT_FRACTION = 0.25
# fraction of the longest leg: minimum offset of the knees as a forward cue
_MIN_KNEE_FRACTION = 0.01
# cosine: an up direction this near to an axis is that axis
_UP_SNAP_COSINE = 0.9


class FacingDirection(NamedTuple):
    """Facing of a character: up, forward and left (3,).

    `points` (n, 3) and `source` say where they come from.
    """

    up: Floats
    forward: Floats
    left: Floats
    points: Floats
    source: str

    @property
    def is_observed(self) -> bool:
        """Whether the character itself shows it. Otherwise it is the format's convention."""
        return self.source != _FORMAT_SOURCE

    @property
    def is_ambiguous(self) -> bool:
        """Whether nothing shows it. With legs along X the format's convention says nothing either."""
        return not self.is_observed and abs(float(self.up[0])) > _UP_SNAP_COSINE


_FORMAT_SOURCE = "the file's axes"


def find_facing(tree: CharacterTree, leg_rows: list[list[int]]) -> FacingDirection:
    """Find the facing direction of a biped from its legs. `leg_rows` are the rows of each from the thigh out.

    Toes lie ahead of ankles, and knees ahead of the line from hip to ankle. Without these cues at rest, the first frame
    of a clip is examined; else, and for every robot, the convention of the format holds: `find_default_forward`.
    """
    for points, source_suffix in ((tree.positions, ""), (tree.moved_positions, " in the first frame")):
        if points is None or not leg_rows or tree.is_robot:
            continue
        up = _find_up(tree, points, leg_rows)
        for source, forward, min_length in _list_cues(tree, points, leg_rows):
            level_forward = remove_component(forward, up)
            if float(np.linalg.norm(level_forward)) > min_length:
                return FacingDirection(
                    up,
                    normalise(level_forward),
                    _compute_left(up, normalise(level_forward)),
                    points,
                    source + source_suffix,
                )
    up = tree.up if tree.up is not None else _find_up(tree, tree.positions, leg_rows) if leg_rows else np.eye(3)[1]
    default_forward = find_default_forward(tree, up)
    return FacingDirection(up, default_forward, _compute_left(up, default_forward), tree.positions, _FORMAT_SOURCE)


def find_default_forward(tree: CharacterTree, up: Floats) -> Floats:
    """Return the format's default forward direction (3,).

    It is +Z with Y up (glTF, BVH), and with Z up +X of robots (REP 103) and -Y of characters.
    """
    x, y, z = np.eye(3)
    return z if abs(up[2]) < _UP_SNAP_COSINE else x if tree.is_robot else -y


def _compute_left(up: Floats, forward: Floats) -> Floats:
    """Compute the direction to the left (3,)."""
    return np.asarray(np.cross(up, forward), dtype=np.float64)


def _find_up(tree: CharacterTree, points: Floats, leg_rows: list[list[int]]) -> Floats:
    """Find the up direction.

    It is the file's, else from the ankles to the hips, snapped to an axis where it is near one.
    """
    if tree.up is not None:
        return tree.up
    up = normalise(np.mean([points[rows[0]] - points[rows[2]] for rows in leg_rows], axis=0))
    return snap_to_axis(up, _UP_SNAP_COSINE)


def _list_cues(tree: CharacterTree, points: Floats, leg_rows: list[list[int]]) -> list[tuple[str, Floats, float]]:
    """List the cues for forward, feet before knees. Each has the minimum length that counts."""
    foot_vectors = [points[_find_foot_end(tree, points, rows)] - points[rows[2]] for rows in leg_rows]
    knee_offsets = [_compute_knee_offset(points[rows[0]], points[rows[1]], points[rows[2]]) for rows in leg_rows]
    leg_lengths = [float(np.linalg.norm(points[rows[2]] - points[rows[0]])) for rows in leg_rows]
    max_foot_length = max(float(np.linalg.norm(foot_vector)) for foot_vector in foot_vectors)
    return [
        ("the feet", np.mean(foot_vectors, axis=0), max(_MIN_FOOT_FRACTION * max_foot_length, 1e-9 * max(leg_lengths))),
        ("the knees", np.mean(knee_offsets, axis=0), _MIN_KNEE_FRACTION * max(leg_lengths)),
    ]


def _find_foot_end(tree: CharacterTree, points: Floats, rows: list[int]) -> int:
    """Find the toes, or else the end of the foot. At rest the end sites of a BVH file count."""
    if len(rows) > 3:  # noqa: PLR2004  (upper, lower, foot, toes)
        return rows[3]
    if points is not tree.positions:
        return rows[2]  # an end site straight below the ankle shows nothing for a swinging leg
    end_rows = tree.skeleton.children[rows[2]]
    return max(end_rows, key=lambda row: tree.bone_lengths[row], default=rows[2])


def _compute_knee_offset(hip: Floats, knee: Floats, ankle: Floats) -> Floats:
    """Compute the offset of the knee from the hip-ankle line."""
    leg_direction = normalise(ankle - hip)
    return (knee - hip) - leg_direction * float((knee - hip) @ leg_direction)
