"""Legs of bipeds, quadrupeds and multi-legged creatures, from structure.

For bipeds it also finds arms, and checks left against right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from poise.maths.arrays import Floats
from poise.maths.vectors import normalise, remove_component
from poise.model.numpy_kinematics import compute_world_transforms
from poise.model.roles import limb_structure
from poise.model.roles.bone_names import SIDES, tokenize_name
from poise.model.roles.character_tree import ARM_PARTS, LEG_PARTS, SIDECAR_REASON, CharacterTree, Role

_ARM_PARTS = ARM_PARTS[1:]
# confidence in sides observed in the character, and in sides by the convention of the file format
OBSERVED_CONFIDENCE, FORMAT_CONFIDENCE = 0.5, 0.3
# confidence factor of a named side contradicted by the feet
_CONFLICT_FACTOR = 0.7
# ratios of distances between partners and of bone lengths: they separate a long clavicle from an upper arm
_COLLAR_SPACING_RATIO, _COLLAR_LENGTH_RATIO = 0.5, 0.8
# cosines of 2 degrees and of 0.25 degrees
_STRAIGHT_COSINE, _COLLINEAR_COSINE = 0.9993, 0.99999
# length ratios: a bone in line above the first may be a part of its neighbour, above the second an equal bone
_PART_LENGTH_RATIO, _EQUAL_LENGTH_RATIO = 0.3, 0.6
# cosine: two limbs lie clearly to the left and right
_SIDE_COSINE = 0.5

_PAIR_REASONS = {"legs": "two legs of equal bones", "arms": "two arms of equal bones"}


def find_biped_limbs(
    tree: CharacterTree, structure: limb_structure.LimbStructure, named_roles: Mapping[str, Role]
) -> tuple[dict[str, Role], dict[str, str]]:
    """Find the limb segments not given by names. Also return the reasons for rejected ones.

    A limb is rejected where named joints lie elsewhere in the tree, and where it has too many bones in line.
    """
    roles, rejection_reasons = dict[str, Role](), dict[str, str]()
    if structure.legs is None or structure.arms is None:
        return roles, rejection_reasons
    legs = [list(_assign_leg(tree, rows).values()) for rows in structure.legs.limb_rows]
    facing = limb_structure.find_facing(tree, legs)
    named_left = _find_named_left(tree, structure, facing)
    pair_parts = ([_assign_leg(tree, rows) for rows in structure.legs.limb_rows], _assign_arms(tree, structure.arms))
    for limb_kind, pair, limb_parts in zip(_PAIR_REASONS, (structure.legs, structure.arms), pair_parts, strict=True):
        sides, reason, is_clear = _find_sides(tree, pair, facing, named_left)
        confidence = FORMAT_CONFIDENCE if reason == facing.source and not facing.is_observed else OBSERVED_CONFIDENCE
        for side, row_by_part, rows in zip(sides, limb_parts, pair.limb_rows, strict=True):
            row_by_role = {f"{side}{role}": row for role, row in row_by_part.items()}
            if not all(named_roles[role].row == row for role, row in row_by_role.items() if role in named_roles):
                continue
            if set(row_by_role) <= set(named_roles):
                continue
            if _has_ambiguous_bend(tree, facing.points, rows, row_by_part):
                rejection_reasons |= dict.fromkeys(row_by_role, "several bones in line: the bending joint is ambiguous")
            elif reason == facing.source and facing.is_ambiguous:
                rejection_reasons |= dict.fromkeys(
                    row_by_role, "left and right are ambiguous: the rest pose shows no facing direction"
                )
            elif not is_clear:
                rejection_reasons |= dict.fromkeys(
                    row_by_role, f"left and right are ambiguous: by {reason} the {limb_kind} are not side by side"
                )
            else:
                roles |= {
                    role: Role(row, confidence, f"{_PAIR_REASONS[limb_kind]}; side by {reason}")
                    for role, row in row_by_role.items()
                }
    unnamed = {role: role_joint for role, role_joint in roles.items() if role not in named_roles}
    return unnamed, {role: reason for role, reason in rejection_reasons.items() if role not in named_roles}


def _has_ambiguous_bend(tree: CharacterTree, points: Floats, rows: list[int], row_of_part: Mapping[str, int]) -> bool:
    """Return whether a twist bone may hide the bending joint. Such a bone is in line with the limb's bones.

    This needs a long neighbouring bone in the same direction, or two exactly collinear bones and another one of equal
    length. A hinge shows by its axis whether it bends or twists.
    """
    upper_index, lower_index, end_index = (
        rows.index(row) for row in [*row_of_part.values()]["Shoulder" in row_of_part :][:3]
    )
    if tree.hinge_mask[rows[lower_index]] and tree.adds_bend(rows[lower_index], rows[end_index], ()):
        return False
    bones = np.diff(points[rows], axis=0)
    lengths = np.linalg.norm(bones, axis=1)
    has_clavicle = "Shoulder" in row_of_part and upper_index == 1  # a clavicle recognized before an upper arm

    def cosine(a: int, b: int) -> float:
        return float(normalise(bones[a]) @ normalise(bones[b]))

    neighbour_pairs = [(upper_index - 1, upper_index)] if upper_index > 0 and not has_clavicle else []
    neighbour_pairs += [(end_index, lower_index)] if end_index < len(bones) else []
    is_in_line = any(
        lengths[a] > _PART_LENGTH_RATIO * lengths[b] and cosine(a, b) > _STRAIGHT_COSINE for a, b in neighbour_pairs
    )
    is_as_long = any(lengths[a] > _EQUAL_LENGTH_RATIO * lengths[b] for a, b in neighbour_pairs)
    return is_in_line or (is_as_long and cosine(upper_index, lower_index) > _COLLINEAR_COSINE)


def _assign_leg(tree: CharacterTree, rows: list[int]) -> dict[str, int]:
    return dict(zip(LEG_PARTS, rows[limb_structure.find_upper_bone(tree, rows) :], strict=False))


def _assign_arms(tree: CharacterTree, pair: limb_structure.LimbPair) -> list[dict[str, int]]:
    """Assign the joints of both arms. A first bone leading outwards from the middle of the body is the clavicle."""
    arms: list[dict[str, int]] = []
    for rows, other_rows in (pair.limb_rows, pair.limb_rows[::-1]):
        upper_index = limb_structure.find_upper_bone(tree, rows)
        if upper_index == 0 and _has_collar_bone(tree, rows, other_rows):
            upper_index = 1
        shoulder = {"Shoulder": rows[upper_index - 1]} if upper_index > 0 else {}
        bones = _drop_twists(tree, rows[upper_index:])
        arms.append(shoulder | dict(zip(_ARM_PARTS, bones, strict=False)))
    return arms


def _drop_twists(tree: CharacterTree, rows: list[int]) -> list[int]:
    """Drop the twist hinges of a forearm. Those without another hinge below them stay."""
    last = max((row for row in rows if tree.hinge_mask[row]), default=-1)
    return [
        row
        for row in rows
        if row in (*rows[:2], last) or not (tree.hinge_mask[row] and tree.is_twist(row, rows[1], rows[-1]))
    ]


def _has_collar_bone(tree: CharacterTree, rows: list[int], other_rows: list[int]) -> bool:
    """Return whether a limb begins with a clavicle.

    Its first joint is much nearer to its partner than the second, and the next two bones are long.
    """
    lengths = limb_structure.measure_bones(tree, rows)
    if len(lengths) < len(_ARM_PARTS):
        return False
    is_near_middle = tree.measure_distance(rows[0], other_rows[0]) < _COLLAR_SPACING_RATIO * tree.measure_distance(
        rows[1], other_rows[1]
    )
    return is_near_middle and lengths[1] + lengths[2] > _COLLAR_LENGTH_RATIO * (lengths[0] + lengths[1])


def _find_sides(
    tree: CharacterTree,
    pair: limb_structure.LimbPair,
    facing: limb_structure.FacingDirection,
    named_left: Floats | None,
) -> tuple[tuple[str, ...], str, bool]:
    """Find the sides of two limbs. Also return the reason and its clarity.

    The last is whether the limbs lie clearly on these sides. Sides come from their names, from the names of the other
    pair (`named_left`), else from positions.
    """
    side_votes = _count_side_votes(tree, pair)
    if side_votes[0] != side_votes[1]:
        return (SIDES if side_votes[0] > side_votes[1] else SIDES[::-1]), "the names", True
    left, reason = (
        (facing.left, facing.source)
        if facing.is_observed or named_left is None
        else (named_left, "the names of the other limbs")
    )
    centres = [facing.points[rows[:3]].mean(axis=0) for rows in pair.limb_rows]
    lateral = normalise(centres[0] - centres[1])
    is_clear = facing.is_observed or abs(float(lateral @ left)) > _SIDE_COSINE
    return (SIDES if float(lateral @ left) >= 0.0 else SIDES[::-1]), reason, is_clear


def _count_side_votes(tree: CharacterTree, pair: limb_structure.LimbPair) -> list[int]:
    """Count names saying left minus names saying right, per limb."""
    named_sides = [[tree.tokens[row].side for row in rows] for rows in pair.limb_rows]
    return [sides.count("left") - sides.count("right") for sides in named_sides]


def _find_named_left(
    tree: CharacterTree, structure: limb_structure.LimbStructure, facing: limb_structure.FacingDirection
) -> Floats | None:
    """Find the direction to the left implied by names.

    A unit vector (3,) from one pair of limbs; None where no name has a side.
    """
    for pair in (structure.legs, structure.arms):
        side_votes = [0, 0] if pair is None else _count_side_votes(tree, pair)
        if pair is not None and side_votes[0] != side_votes[1]:
            first_centre, second_centre = (facing.points[rows[:3]].mean(axis=0) for rows in pair.limb_rows)
            return (
                normalise(first_centre - second_centre)
                if side_votes[0] > side_votes[1]
                else normalise(second_centre - first_centre)
            )
    return None


def check_sides(tree: CharacterTree, roles: dict[str, Role], declared_roles: Mapping[str, Role]) -> dict[str, Role]:
    """Lower the confidence of sides contradicted by feet or knees. The reason says so.

    In a mirrored body they are the other sides: what is named the left arm is the right one there. A sidecar that names
    limbs of a side has the last word.
    """
    if any(f"{side}{role}" not in roles for side in SIDES for role in LEG_PARTS[:3]):
        return roles
    legs = [[roles[f"{side}{role}"].row for role in LEG_PARTS if f"{side}{role}" in roles] for side in SIDES]
    facing = limb_structure.find_facing(tree, legs)
    lateral = np.mean(
        [facing.points[a] - facing.points[b] for a, b in zip(*(rows[:3] for rows in legs), strict=True)], axis=0
    )
    if not facing.is_observed or float(lateral @ facing.left) >= -_SIDE_COSINE * float(np.linalg.norm(lateral)):
        return roles
    is_by_sidecar = any(
        role.startswith(SIDES) and found.reason == SIDECAR_REASON for role, found in declared_roles.items()
    )
    if _is_mirrored(tree, legs[0][0]) and not is_by_sidecar:
        note = f"; mirrored, and by {facing.source} the other side"
        return {_swap_side(role): found._replace(reason=found.reason + note) if role.startswith(SIDES) else found
                for role, found in roles.items()}  # fmt: skip
    note = f"; but by {facing.source} this is the other side"
    doubtful_roles = [role for role in roles if role.startswith(SIDES) and role not in declared_roles]
    return roles | {
        role: Role(roles[role].row, roles[role].confidence * _CONFLICT_FACTOR, roles[role].reason + note)
        for role in doubtful_roles
    }


def _is_mirrored(tree: CharacterTree, row: int) -> bool:
    """Return whether a joint's frame at rest is mirrored."""
    skeleton = tree.skeleton
    return bool(np.linalg.det(compute_world_transforms(skeleton, skeleton.rest_q)[row, :3, :3]) < 0.0)


def _swap_side(role: str) -> str:
    """Return the role of the other side. A role without a side stays."""
    side = next((side for side in SIDES if role.startswith(side)), None)
    return role if side is None else SIDES[side == SIDES[0]] + role[len(side) :]


# --- Thigh, shin and foot of a leg -----------------------------------------------------------------------------------


_UPPER_TOKENS, _LOWER_TOKENS = frozenset({"thigh", "upperarm"}), frozenset({"shin", "forearm"})
_FOOT_TOKENS = frozenset({"ankle", "foot", "wrist", "hand", "palm"})
# fraction of both bones' length: a smaller offset may be a straight joint
_MIN_BEND_FRACTION = 0.02


def find_leg_segments(
    tree: CharacterTree, rows: Sequence[int], limb_direction: Floats | None = None, bend_direction: Floats | None = None
) -> list[int]:
    """Find the rows of upper, lower, foot and, if any, toes.

    rows            the limb from the trunk out, one joint per position
    limb_direction  direction of measurement of the limb's bones; None: the limb's own
    bend_direction  bending direction of its knee or elbow, if known
    """
    rows = list(rows)
    named_rows = _find_named_segments(tree, rows)
    if named_rows:
        return named_rows
    bend_index = _find_bend(tree, rows, bend_direction) if bend_direction is not None and not tree.is_robot else -1
    upper_index = bend_index - 1 if bend_index > 0 else limb_structure.find_upper_bone(tree, rows, limb_direction)
    return rows[upper_index : upper_index + 4]


def _find_named_segments(tree: CharacterTree, rows: list[int]) -> list[int]:
    """Find the segments by the tokens for the two long bones.

    The joint after them is the foot, unless another one is named so; [] without names.
    """
    parts = [tree.tokens[row].part for row in rows]
    upper_index = next((index for index, part in enumerate(parts) if part in _UPPER_TOKENS), None)
    if upper_index is None:
        return []
    lower_index = next(
        (index for index, part in enumerate(parts) if part in _LOWER_TOKENS and index > upper_index), None
    )
    if lower_index is None or lower_index + 1 >= len(rows):
        return []
    foot_index = next(
        (index for index, part in enumerate(parts) if part in _FOOT_TOKENS and index > lower_index), lower_index + 1
    )
    return [rows[upper_index], rows[lower_index], *rows[foot_index : foot_index + 2]]


def _find_bend(tree: CharacterTree, rows: list[int], bend_direction: Floats) -> int:
    """Find the first joint bent in the knee's direction, or -1. A foot must follow it."""
    points = tree.positions[rows]
    for index in range(1, len(rows) - 1):
        previous_point, joint_point, next_point = points[index - 1 : index + 2]
        bone_lengths = (
            tree.measure_distance(rows[index - 1], rows[index]),
            tree.measure_distance(rows[index], rows[index + 1]),
        )
        if min(bone_lengths) <= 0.0:
            continue
        straight_point = previous_point + (next_point - previous_point) * (bone_lengths[0] / sum(bone_lengths))
        if float((joint_point - straight_point) @ bend_direction) > _MIN_BEND_FRACTION * sum(bone_lengths):
            return index
    return -1


# --- Legs of a quadruped: four limbs standing on the ground ----------------------------------------------------------
#
# A leg of an animal walking on its toes has three long bones: thigh, shin and the upright bones of the foot. `upper`
# turns at the hip, `lower` at the knee, `foot` at the hock, far above the ground, and `toes` is the next joint. Knees
# bend forward and elbows backward: without names this separates them from hocks, wrists and shoulders. A two-bone
# solver places the hock; foot and toes follow. In a front leg they are upper arm, forearm and wrist; the shoulder blade
# is left out.


# confidence in four limbs standing like legs
STANDING_CONFIDENCE = 0.8
_LEG_ORDER = ("front left", "front right", "hind left", "hind right")
FRONT_WORDS, HIND_WORDS = (
    frozenset({"front", "fore", "fl", "fr", "f"}),  # "LF" is split into l and f
    frozenset({"hind", "rear", "back", "hl", "hr", "rl", "rr", "lh", "rh", "h"}),
)


def find_quadruped_legs(tree: CharacterTree, structure: limb_structure.LimbStructure) -> dict[str, list[int]]:
    """Find the four legs, "front left" first. Each has the rows of upper, lower, foot and, if there are any, toes."""
    assert structure.legs is not None
    assert structure.arms is not None
    limbs = [*structure.arms.limb_rows, *structure.legs.limb_rows]
    down = normalise(np.mean([tree.positions[rows[-1]] - tree.positions[rows[0]] for rows in limbs], axis=0))
    up = tree.up if tree.up is not None else -down
    named_sides = limb_structure.read_sides(tree, limbs)
    forward = _find_quadruped_forward(tree, structure.arms, structure.legs, named_sides, up)
    left = np.cross(up, forward)
    centre = np.mean([tree.positions[rows[0]] for rows in limbs], axis=0)
    segments_by_name: dict[str, list[int]] = {}
    for rows, named_side in zip(limbs, named_sides, strict=True):
        offset = np.mean(tree.positions[rows], axis=0) - centre
        body_end = "front" if float((tree.positions[rows[0]] - centre) @ forward) > 0.0 else "hind"
        side = named_side or ("left" if float(offset @ left) > 0.0 else "right")
        segments_by_name[f"{body_end} {side}"] = find_leg_segments(
            tree, rows, down, forward if body_end == "hind" else -forward
        )
    return {name: segments_by_name[name] for name in _LEG_ORDER if name in segments_by_name}


def map_to_biped(legs: Mapping[str, list[int]]) -> dict[str, Role]:
    """Map the four legs to the limb roles of a biped.

    Hind legs become legs and front legs become arms; the trunk search needs these.
    """
    parts = {"front": ("UpperArm", "LowerArm", "Hand"), "hind": ("UpperLeg", "LowerLeg", "Foot", "Toes")}
    return {
        f"{side}{role}": Role(row, STANDING_CONFIDENCE, "one of four legs")
        for name, rows in legs.items()
        for body_end, side in [name.split()]
        for role, row in zip(parts[body_end], rows, strict=False)
    }


def _find_quadruped_forward(
    tree: CharacterTree,
    front: limb_structure.LimbPair,
    hind: limb_structure.LimbPair,
    named_sides: list[str],
    up: Floats,
) -> Floats:
    """Find the forward direction (3,) of a quadruped.

    It comes from the words front and hind, the head's end, left and right, or the format.
    """
    limbs = [*front.limb_rows, *hind.limb_rows]
    limb_words = [{word for row in rows for word in tokenize_name(tree.skeleton.names[row])} for rows in limbs]
    start_points = [tree.positions[rows[0]] for rows in limbs]
    front_points = [point for point, words in zip(start_points, limb_words, strict=True) if words & FRONT_WORDS]
    hind_points = [point for point, words in zip(start_points, limb_words, strict=True) if words & HIND_WORDS]
    if front_points and hind_points:
        direction = np.mean(front_points, axis=0) - np.mean(hind_points, axis=0)
    elif front.attachment_row != hind.attachment_row:
        direction = limb_structure.compute_attachment(tree, front) - limb_structure.compute_attachment(tree, hind)
    elif all(named_sides):
        left_points, right_points = (
            [point for point, named_side in zip(start_points, named_sides, strict=True) if named_side == side]
            for side in SIDES
        )
        direction = np.cross(np.mean(left_points, axis=0) - np.mean(right_points, axis=0), up)
    else:
        direction = limb_structure.find_default_forward(tree, up)
    return normalise(remove_component(direction, up))


# --- Legs of insects, spiders and centipedes -------------------------------------------------------------------------
#
# They are six or more limbs standing on the ground, on both sides of a body.
#
# Sides come from names, or from the mirror plane of the body. Along the body legs are counted from the front: front,
# mid, hind; with four pairs or more front, mid 1, mid 2, ..., hind.


_TAIL_WORDS = frozenset({"tail", "abdomen", "opisthosoma", "gaster", "stinger", "telson", "metasoma"})
_HEAD_WORDS = frozenset({"head", "eye", "eyes", "jaw", "mandible", "antenna", "antennae", "chelicera", "neck", "skull"})
# fraction of the body's size: nearer planes mirror it equally well
_MIRROR_TIE_FRACTION = 1e-6
# points of a body compared for its mirror plane; the time grows with the square
_MAX_MIRROR_POINTS = 1_000
UNEQUAL_SIDES_MESSAGE = "the numbers of legs on the two sides differ"


def find_multiped_legs(tree: CharacterTree, limbs: Sequence[list[int]], up: Floats) -> dict[str, list[int]]:
    """Find the legs, "front left" first.

    Each has the rows of upper, lower, foot and, if there are any, toes; the result is empty for unequal sides.
    """
    named_sides = limb_structure.read_sides(tree, limbs)
    forward = _find_multiped_forward(tree, limbs, named_sides, up)
    left = np.cross(up, forward)
    centre = np.mean([_get_end_points(tree, rows).mean(axis=0) for rows in limbs], axis=0)
    limbs_by_side: dict[str, list[list[int]]] = {side: [] for side in SIDES}
    for rows, named_side in zip(limbs, named_sides, strict=True):
        offset = _get_end_points(tree, rows).mean(axis=0) - centre
        limbs_by_side[named_side or ("left" if float(offset @ left) > 0.0 else "right")].append(rows)
    if len(limbs_by_side["left"]) != len(limbs_by_side["right"]):
        return {}
    for side in SIDES:
        limbs_by_side[side].sort(key=lambda rows: -float(_get_end_points(tree, rows).mean(axis=0) @ forward))
    return {
        f"{position} {side}": find_leg_segments(tree, limbs_by_side[side][pair_index])
        for pair_index, position in enumerate(name_leg_pairs(len(limbs) // 2))
        for side in SIDES
    }


def name_leg_pairs(pair_count: int) -> list[str]:
    """Name the pairs of legs from the front. Examples: front, mid, hind; front, mid 1, mid 2, hind."""
    middle_count = pair_count - 2
    return [
        "front",
        *(["mid"] if middle_count == 1 else [f"mid {number}" for number in range(1, middle_count + 1)]),
        "hind",
    ]


def find_multiped_trunk(tree: CharacterTree, limbs: Sequence[list[int]], confidence: float) -> dict[str, Role]:
    """Find the joint carrying the legs, and a head by name. Animals of this kind have no spine like ours."""
    hips_row = tree.find_common_ancestor([rows[0] for rows in limbs])
    roles: dict[str, Role] = {}
    if hips_row >= 0 and tree.usable_mask[hips_row]:
        roles["hips"] = Role(hips_row, STANDING_CONFIDENCE, "carries the legs")
    limb_numbers = {preorder_number for rows in limbs for preorder_number in range(*tree.preorder_spans[rows[0]])}
    head_rows = [
        row for row in tree.find_named("head") if tree.preorder_spans[row][0] not in limb_numbers and row != hips_row
    ]
    if head_rows:
        row = min(head_rows, key=lambda row: (tree.depths[row], row))
        roles["head"] = Role(row, confidence, f"named {tree.skeleton.names[row]!r}")
    return roles


def _get_end_points(tree: CharacterTree, rows: Sequence[int]) -> Floats:
    """Return the two end points (2, 3) of a limb. The joints between them move sideways."""
    return tree.positions[[rows[0], rows[-1]]]


def _find_multiped_forward(
    tree: CharacterTree, limbs: Sequence[list[int]], named_sides: Sequence[str], up: Floats
) -> Floats:
    """Find the level forward direction (3,).

    It comes from left and right, the words front and hind, or the mirror plane with head or tail.
    """
    limb_centres = np.array([_get_end_points(tree, rows).mean(axis=0) for rows in limbs])
    if all(named_sides):
        left_centre, right_centre = (
            limb_centres[[named_side == side for named_side in named_sides]].mean(axis=0) for side in SIDES
        )
        return normalise(np.cross(remove_component(left_centre - right_centre, up), up))
    limb_words = [{word for row in rows for word in tokenize_name(tree.skeleton.names[row])} for rows in limbs]
    front_centres, hind_centres = (
        [limb_centre for limb_centre, words in zip(limb_centres, limb_words, strict=True) if words & end_words]
        for end_words in (FRONT_WORDS, HIND_WORDS)
    )
    mirror_direction = _find_mirror_direction(tree, limbs, up)
    if front_centres and hind_centres:
        forward_hint = np.mean(front_centres, axis=0) - np.mean(hind_centres, axis=0)
    else:
        forward_hint = _find_head_direction(tree, limbs, limb_centres.mean(axis=0))
    forward_hint = (
        forward_hint
        if abs(float(forward_hint @ mirror_direction)) > _MIRROR_TIE_FRACTION
        else limb_structure.find_default_forward(tree, up)
    )
    return mirror_direction if float(mirror_direction @ forward_hint) >= 0.0 else -mirror_direction


def _find_head_direction(tree: CharacterTree, limbs: Sequence[list[int]], centre: Floats) -> Floats:
    """Find the direction from the tail to the head, by names."""
    direction = np.zeros(3)
    limb_rows = {row for rows in limbs for row in rows}
    for row, name in enumerate(tree.skeleton.names):
        words = set(tokenize_name(name))
        if row not in limb_rows and words & (_TAIL_WORDS | _HEAD_WORDS):
            direction += (tree.positions[row] - centre) * (1.0 if words & _HEAD_WORDS else -1.0)
    return direction


def _find_mirror_direction(tree: CharacterTree, limbs: Sequence[list[int]], up: Floats) -> Floats:
    """Find the level direction in the body's mirror plane. Of equally good planes the longest one counts."""
    end_points = np.concatenate([_get_end_points(tree, rows) for rows in limbs])
    leg_rows = {row for rows in limbs for row in rows}
    trunk_rows = [row for row in range(len(tree.parents)) if row not in leg_rows and tree.usable_mask[row]]
    centre, trunk_points = end_points.mean(axis=0), tree.positions[trunk_rows]
    level_points = np.array([remove_component(point - centre, up) for point in end_points])
    candidate_axes = [
        axis
        for axis in (remove_component(axis, up) for axis in np.eye(3))
        if float(np.linalg.norm(axis)) > 0.5  # noqa: PLR2004
    ]
    candidate_axes += [normalise(remove_component(direction, up)) for direction in np.linalg.svd(level_points)[2][:2]]
    body_size = max(float(np.ptp(end_points, axis=0).max()), 1e-300)

    def rank_axis(axis: Floats) -> tuple[float, float]:
        lateral = np.cross(up, axis)
        asymmetry = _measure_asymmetry(end_points - centre, lateral) + _measure_asymmetry(
            trunk_points - centre, lateral
        )
        return round(asymmetry / body_size / 0.01), -round(float(np.abs(level_points @ axis).sum()) / body_size, 6)

    return min(map(normalise, candidate_axes), key=rank_axis)


def _measure_asymmetry(points: Floats, lateral: Floats) -> float:
    """Measure the mean distance of mirrored points. Each is measured to the nearest point.

    The result is 0 for too many points to compare.
    """
    if not 0 < len(points) <= _MAX_MIRROR_POINTS:
        return 0.0
    mirrored_points = points - 2.0 * np.outer(points @ lateral, lateral)
    return float(np.linalg.norm(points[:, None] - mirrored_points[None], axis=-1).min(axis=1).mean())
