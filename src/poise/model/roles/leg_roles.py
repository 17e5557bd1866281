"""Legs of bipeds, quadrupeds and multi-legged creatures, from structure.

For bipeds it also finds arms, and checks left against right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from poise.maths.arrays import Floats
from poise.maths.vectors import normalise, remove_component
from poise.model.roles import limb_structure
from poise.model.roles.bone_names import SIDES, tokenize_name
from poise.model.roles.character_tree import ARM_PARTS, LEG_PARTS, CharacterTree, Role

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

_REASONS = {"legs": "two legs of equal bones", "arms": "two arms of equal bones"}


def find_biped_limbs(
    tree: CharacterTree, body: limb_structure.LimbStructure, named: Mapping[str, Role]
) -> tuple[dict[str, Role], dict[str, str]]:
    """Find the limb segments not given by names. Also return the reasons for rejected ones.

    A limb is rejected where named joints lie elsewhere in the tree, and where it has too many bones in line.
    """
    roles, rejected = dict[str, Role](), dict[str, str]()
    if body.legs is None or body.arms is None:
        return roles, rejected
    legs = [list(_assign_leg(tree, rows).values()) for rows in body.legs.limb_rows]
    facing = limb_structure.find_facing(tree, legs)
    named_left = _find_named_left(tree, body, facing)
    parsed = ([_assign_leg(tree, rows) for rows in body.legs.limb_rows], _assign_arms(tree, body.arms))
    for limb_kind, pair, parts in zip(_REASONS, (body.legs, body.arms), parsed, strict=True):
        sides, reason, is_clear = _find_sides(tree, pair, facing, named_left)
        confidence = FORMAT_CONFIDENCE if reason == facing.source and not facing.is_observed else OBSERVED_CONFIDENCE
        for side, part, rows in zip(sides, parts, pair.limb_rows, strict=True):
            limb = {f"{side}{role}": row for role, row in part.items()}
            if not all(named[role].row == row for role, row in limb.items() if role in named):
                continue
            if set(limb) <= set(named):
                continue
            if _has_ambiguous_bend(facing.points, rows, part):
                rejected |= dict.fromkeys(limb, "several bones in line: the bending joint is ambiguous")
            elif reason == facing.source and facing.is_ambiguous:
                rejected |= dict.fromkeys(limb, "left and right are ambiguous: the rest pose shows no facing direction")
            elif not is_clear:
                rejected |= dict.fromkeys(
                    limb, f"left and right are ambiguous: by {reason} the {limb_kind} are not side by side"
                )
            else:
                roles |= {
                    role: Role(row, confidence, f"{_REASONS[limb_kind]}; side by {reason}")
                    for role, row in limb.items()
                }
    unnamed = {role: one for role, one in roles.items() if role not in named}
    return unnamed, {role: reason for role, reason in rejected.items() if role not in named}


def _has_ambiguous_bend(points: Floats, rows: list[int], row_of_part: Mapping[str, int]) -> bool:
    """Return whether a twist bone may hide the bending joint. Such a bone is in line with the limb's bones.

    This needs a long neighbouring bone in the same direction, or two exactly collinear bones and another one of equal
    length.
    """
    upper, lower, end = (rows.index(row) for row in [*row_of_part.values()]["Shoulder" in row_of_part :][:3])
    steps = np.diff(points[rows], axis=0)
    lengths = np.linalg.norm(steps, axis=1)
    has_clavicle = "Shoulder" in row_of_part and upper == 1  # a clavicle recognized before an upper arm

    def cosine(a: int, b: int) -> float:
        return float(normalise(steps[a]) @ normalise(steps[b]))

    neighbour_pairs = [(upper - 1, upper)] if upper > 0 and not has_clavicle else []
    neighbour_pairs += [(end, lower)] if end < len(steps) else []
    is_in_line = any(
        lengths[a] > _PART_LENGTH_RATIO * lengths[b] and cosine(a, b) > _STRAIGHT_COSINE for a, b in neighbour_pairs
    )
    is_as_long = any(lengths[a] > _EQUAL_LENGTH_RATIO * lengths[b] for a, b in neighbour_pairs)
    return is_in_line or (is_as_long and cosine(upper, lower) > _COLLINEAR_COSINE)


def _assign_leg(tree: CharacterTree, rows: list[int]) -> dict[str, int]:
    return dict(zip(LEG_PARTS, rows[limb_structure.find_upper_bone(tree, rows) :], strict=False))


def _assign_arms(tree: CharacterTree, pair: limb_structure.LimbPair) -> list[dict[str, int]]:
    """Assign the joints of both arms. A first bone leading outwards from the middle of the body is the clavicle."""
    arms: list[dict[str, int]] = []
    for rows, other in (pair.limb_rows, pair.limb_rows[::-1]):
        first = limb_structure.find_upper_bone(tree, rows)
        if first == 0 and _has_collar_bone(tree, rows, other):
            first = 1
        shoulder = {"Shoulder": rows[first - 1]} if first > 0 else {}
        arms.append(shoulder | dict(zip(_ARM_PARTS, rows[first:], strict=False)))
    return arms


def _has_collar_bone(tree: CharacterTree, rows: list[int], other_rows: list[int]) -> bool:
    """Return whether a limb begins with a clavicle.

    Its first joint is much nearer to its partner than the second, and the next two bones are long.
    """
    lengths = limb_structure.measure_bones(tree, rows)
    if len(lengths) < len(_ARM_PARTS):
        return False
    inside = tree.measure_distance(rows[0], other_rows[0]) < _COLLAR_SPACING_RATIO * tree.measure_distance(
        rows[1], other_rows[1]
    )
    return inside and lengths[1] + lengths[2] > _COLLAR_LENGTH_RATIO * (lengths[0] + lengths[1])


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
    votes = _count_side_votes(tree, pair)
    if votes[0] != votes[1]:
        return (SIDES if votes[0] > votes[1] else SIDES[::-1]), "the names", True
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
    says = [[tree.tokens[row].side for row in rows] for rows in pair.limb_rows]
    return [sides.count("left") - sides.count("right") for sides in says]


def _find_named_left(
    tree: CharacterTree, body: limb_structure.LimbStructure, facing: limb_structure.FacingDirection
) -> Floats | None:
    """Find the direction to the left implied by names.

    A unit vector (3,) from one pair of limbs; None where no name has a side.
    """
    for pair in (body.legs, body.arms):
        votes = [0, 0] if pair is None else _count_side_votes(tree, pair)
        if pair is not None and votes[0] != votes[1]:
            a, b = (facing.points[rows[:3]].mean(axis=0) for rows in pair.limb_rows)
            return normalise(a - b) if votes[0] > votes[1] else normalise(b - a)
    return None


def check_sides(tree: CharacterTree, roles: dict[str, Role], declared: Mapping[str, Role]) -> dict[str, Role]:
    """Lower the confidence of sides contradicted by feet or knees. The reason says so."""
    if any(f"{side}{role}" not in roles for side in SIDES for role in LEG_PARTS[:3]):
        return roles
    legs = [[roles[f"{side}{role}"].row for role in LEG_PARTS if f"{side}{role}" in roles] for side in SIDES]
    facing = limb_structure.find_facing(tree, legs)
    offset = np.mean(
        [facing.points[a] - facing.points[b] for a, b in zip(*(rows[:3] for rows in legs), strict=True)], axis=0
    )
    if not facing.is_observed or float(offset @ facing.left) >= -_SIDE_COSINE * float(np.linalg.norm(offset)):
        return roles
    note = f"; but by {facing.source} this is the other side"
    doubtful_roles = [role for role in roles if role.startswith(SIDES) and role not in declared]
    return roles | {
        role: Role(roles[role].row, roles[role].confidence * _CONFLICT_FACTOR, roles[role].reason + note)
        for role in doubtful_roles
    }


# --- Thigh, shin and foot of a leg -----------------------------------------------------------------------------------


_UPPER_TOKENS, _LOWER_TOKENS = frozenset({"thigh", "upperarm"}), frozenset({"shin", "forearm"})
_FOOT_TOKENS = frozenset({"ankle", "foot", "wrist", "hand", "palm"})
# fraction of both bones' length: a smaller offset may be a straight joint
_MIN_BEND_FRACTION = 0.02


def find_leg_segments(
    tree: CharacterTree, rows: Sequence[int], limb_direction: Floats | None = None, bend_direction: Floats | None = None
) -> list[int]:
    """Find the rows of upper, lower, foot and, if any, toes.

    rows   the limb from the trunk out, one joint per position
    along  direction of measurement of the limb's bones; None: the limb's own
    knee   bending direction of its knee or elbow, if known
    """
    rows = list(rows)
    named_rows = _find_named_segments(tree, rows)
    if named_rows:
        return named_rows
    bend_index = _find_bend(tree, rows, bend_direction) if bend_direction is not None and not tree.is_robot else -1
    first = bend_index - 1 if bend_index > 0 else limb_structure.find_upper_bone(tree, rows, limb_direction)
    return rows[first : first + 4]


def _find_named_segments(tree: CharacterTree, rows: list[int]) -> list[int]:
    """Find the segments by the tokens for the two long bones.

    The joint after them is the foot, unless another one is named so; [] without names.
    """
    parts = [tree.tokens[row].part for row in rows]
    upper = next((place for place, part in enumerate(parts) if part in _UPPER_TOKENS), None)
    if upper is None:
        return []
    lower = next((place for place, part in enumerate(parts) if part in _LOWER_TOKENS and place > upper), None)
    if lower is None or lower + 1 >= len(rows):
        return []
    foot = next((place for place, part in enumerate(parts) if part in _FOOT_TOKENS and place > lower), lower + 1)
    return [rows[upper], rows[lower], *rows[foot : foot + 2]]


def _find_bend(tree: CharacterTree, rows: list[int], bend_direction: Floats) -> int:
    """Find the first joint bent in the knee's direction, or -1. A foot must follow it."""
    points = tree.positions[rows]
    for place in range(1, len(rows) - 1):
        before, joint, after = points[place - 1 : place + 2]
        bones = tree.measure_distance(rows[place - 1], rows[place]), tree.measure_distance(rows[place], rows[place + 1])
        if min(bones) <= 0.0:
            continue
        straight = before + (after - before) * (bones[0] / sum(bones))
        if float((joint - straight) @ bend_direction) > _MIN_BEND_FRACTION * sum(bones):
            return place
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


def find_quadruped_legs(tree: CharacterTree, body: limb_structure.LimbStructure) -> dict[str, list[int]]:
    """Find the four legs, "front left" first. Each has the rows of upper, lower, foot and, if there are any, toes."""
    assert body.legs is not None
    assert body.arms is not None
    limbs = [*body.arms.limb_rows, *body.legs.limb_rows]
    down = normalise(np.mean([tree.positions[rows[-1]] - tree.positions[rows[0]] for rows in limbs], axis=0))
    up = tree.up if tree.up is not None else -down
    named_sides = limb_structure.read_sides(tree, limbs)
    forward = _find_quadruped_forward(tree, body.arms, body.legs, named_sides, up)
    left = np.cross(up, forward)
    centre = np.mean([tree.positions[rows[0]] for rows in limbs], axis=0)
    segments_by_name: dict[str, list[int]] = {}
    for rows, named_side in zip(limbs, named_sides, strict=True):
        offset = np.mean(tree.positions[rows], axis=0) - centre
        end = "front" if float((tree.positions[rows[0]] - centre) @ forward) > 0.0 else "hind"
        side = named_side or ("left" if float(offset @ left) > 0.0 else "right")
        segments_by_name[f"{end} {side}"] = find_leg_segments(tree, rows, down, forward if end == "hind" else -forward)
    return {name: segments_by_name[name] for name in _LEG_ORDER if name in segments_by_name}


def map_to_biped(legs: Mapping[str, list[int]]) -> dict[str, Role]:
    """Map the four legs to the limb roles of a biped.

    Hind legs become legs and front legs become arms; the trunk search needs these.
    """
    parts = {"front": ("UpperArm", "LowerArm", "Hand"), "hind": ("UpperLeg", "LowerLeg", "Foot", "Toes")}
    return {
        f"{side}{role}": Role(row, STANDING_CONFIDENCE, "one of four legs")
        for name, rows in legs.items()
        for end, side in [name.split()]
        for role, row in zip(parts[end], rows, strict=False)
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
    starts = [tree.positions[rows[0]] for rows in limbs]
    front_points = [point for point, one in zip(starts, limb_words, strict=True) if one & FRONT_WORDS]
    hind_points = [point for point, one in zip(starts, limb_words, strict=True) if one & HIND_WORDS]
    if front_points and hind_points:
        direction = np.mean(front_points, axis=0) - np.mean(hind_points, axis=0)
    elif front.attachment_row != hind.attachment_row:
        direction = limb_structure.compute_attachment(tree, front) - limb_structure.compute_attachment(tree, hind)
    elif all(named_sides):
        lefts, rights = (
            [point for point, one in zip(starts, named_sides, strict=True) if one == side] for side in SIDES
        )
        direction = np.cross(np.mean(lefts, axis=0) - np.mean(rights, axis=0), up)
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
_TIE_FRACTION = 1e-6
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
        place = _get_end_points(tree, rows).mean(axis=0) - centre
        limbs_by_side[named_side or ("left" if float(place @ left) > 0.0 else "right")].append(rows)
    if len(limbs_by_side["left"]) != len(limbs_by_side["right"]):
        return {}
    for side in SIDES:
        limbs_by_side[side].sort(key=lambda rows: -float(_get_end_points(tree, rows).mean(axis=0) @ forward))
    return {
        f"{position} {side}": find_leg_segments(tree, limbs_by_side[side][place])
        for place, position in enumerate(name_leg_pairs(len(limbs) // 2))
        for side in SIDES
    }


def name_leg_pairs(pairs: int) -> list[str]:
    """Name the pairs of legs from the front. Examples: front, mid, hind; front, mid 1, mid 2, hind."""
    between = pairs - 2
    return ["front", *(["mid"] if between == 1 else [f"mid {number}" for number in range(1, between + 1)]), "hind"]


def find_multiped_trunk(tree: CharacterTree, limbs: Sequence[list[int]], confidence: float) -> dict[str, Role]:
    """Find the joint carrying the legs, and a head by name. Animals of this kind have no spine like ours."""
    carries = tree.find_common_ancestor([rows[0] for rows in limbs])
    roles: dict[str, Role] = {}
    if carries >= 0 and tree.usable_mask[carries]:
        roles["hips"] = Role(carries, STANDING_CONFIDENCE, "carries the legs")
    inside = {place for rows in limbs for place in range(*tree.preorder_spans[rows[0]])}
    heads = [row for row in tree.find_named("head") if tree.preorder_spans[row][0] not in inside and row != carries]
    if heads:
        row = min(heads, key=lambda row: (tree.depth[row], row))
        roles["head"] = Role(row, confidence, f"named {tree.skeleton.names[row]!r}")
    return roles


def _get_end_points(tree: CharacterTree, rows: Sequence[int]) -> Floats:
    """Return the two end points (2, 3) of a limb. The joints between them swing about."""
    return tree.positions[[rows[0], rows[-1]]]


def _find_multiped_forward(
    tree: CharacterTree, limbs: Sequence[list[int]], named_sides: Sequence[str], up: Floats
) -> Floats:
    """Find the level forward direction (3,).

    It comes from left and right, the words front and hind, or the mirror plane with head or tail.
    """
    limb_centres = np.array([_get_end_points(tree, rows).mean(axis=0) for rows in limbs])
    if all(named_sides):
        lefts, rights = (limb_centres[[word == side for word in named_sides]].mean(axis=0) for side in SIDES)
        return normalise(np.cross(remove_component(lefts - rights, up), up))
    words = [{word for row in rows for word in tokenize_name(tree.skeleton.names[row])} for rows in limbs]
    fronts, hinds = (
        [end for end, one in zip(limb_centres, words, strict=True) if one & end_words]
        for end_words in (FRONT_WORDS, HIND_WORDS)
    )
    mirror_direction = _find_mirror_direction(tree, limbs, up)
    if fronts and hinds:
        forward_hint = np.mean(fronts, axis=0) - np.mean(hinds, axis=0)
    else:
        forward_hint = _find_head_direction(tree, limbs, limb_centres.mean(axis=0))
    forward_hint = (
        forward_hint
        if abs(float(forward_hint @ mirror_direction)) > _TIE_FRACTION
        else limb_structure.find_default_forward(tree, up)
    )
    return mirror_direction if float(mirror_direction @ forward_hint) >= 0.0 else -mirror_direction


def _find_head_direction(tree: CharacterTree, limbs: Sequence[list[int]], centre: Floats) -> Floats:
    """Find the direction from the tail to the head, by names."""
    direction = np.zeros(3)
    inside = {row for rows in limbs for row in rows}
    for row, name in enumerate(tree.skeleton.names):
        words = set(tokenize_name(name))
        if row not in inside and words & (_TAIL_WORDS | _HEAD_WORDS):
            direction += (tree.positions[row] - centre) * (1.0 if words & _HEAD_WORDS else -1.0)
    return direction


def _find_mirror_direction(tree: CharacterTree, limbs: Sequence[list[int]], up: Floats) -> Floats:
    """Find the level direction in the body's mirror plane. Of equally good planes the longest one counts."""
    points = np.concatenate([_get_end_points(tree, rows) for rows in limbs])
    leg_rows = {row for rows in limbs for row in rows}
    trunk_rows = [row for row in range(len(tree.parents)) if row not in leg_rows and tree.usable_mask[row]]
    centre, trunk_points = points.mean(axis=0), tree.positions[trunk_rows]
    level_points = np.array([remove_component(point - centre, up) for point in points])
    axes = [axis for axis in (remove_component(axis, up) for axis in np.eye(3)) if float(np.linalg.norm(axis)) > 0.5]  # noqa: PLR2004
    axes += [normalise(remove_component(direction, up)) for direction in np.linalg.svd(level_points)[2][:2]]
    size = max(float(np.ptp(points, axis=0).max()), 1e-300)

    def rank_axis(axis: Floats) -> tuple[float, float]:
        across = np.cross(up, axis)
        missed = _measure_asymmetry(points - centre, across) + _measure_asymmetry(trunk_points - centre, across)
        return round(missed / size / 0.01), -round(float(np.abs(level_points @ axis).sum()) / size, 6)

    return min(map(normalise, axes), key=rank_axis)


def _measure_asymmetry(points: Floats, lateral: Floats) -> float:
    """Measure the mean distance of mirrored points. Each is measured to the nearest point.

    The result is 0 for too many points to compare.
    """
    if not 0 < len(points) <= _MAX_MIRROR_POINTS:
        return 0.0
    other = points - 2.0 * np.outer(points @ lateral, lateral)
    return float(np.linalg.norm(points[:, None] - other[None], axis=-1).min(axis=1).mean())
