"""Roles from joint names: limbs, fingers, eyes and jaw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, TypeAlias

from poise.model.joints import Kind
from poise.model.roles.bone_names import FINGERS, SIDES, find_convention
from poise.model.roles.character_tree import CharacterTree, Role

# --- Arms and legs by joint names ------------------------------------------------------------------------------------
#
# "Leg" is a thigh in one rig and a shin in the next, "shoulder" a clavicle or an upper arm: each word is read together
# with the other words of the same limb. A limb is a chain: each joint hangs below the one before. Of the named joints
# the chain with the most of its three main joints is chosen; joints outside it are left out.


# candidate rows for each segment of a limb, from the trunk out
SegmentSlots = list[list[int]]

# fraction of the longest distance to the next joint: nearer hinges are further down the bone
_HINGE_DISTANCE_RATIO = 0.8
# fraction of a limb's whole length: bones of a robot's limb are longer
_MIN_BONE_FRACTION = 0.1
# the shorter bone of a leg by the longer one; a hip's drives are nearer to each other
_MIN_BONE_RATIO = 0.4
# hinges of most shoulders
_SHOULDER_HINGES = 3
# rows examined per segment; more rows have the name by mistake
_MAX_SLOT_ROWS = 8
_LEG_ROLES, _ARM_ROLES = ("UpperLeg", "LowerLeg", "Foot", "Toes"), ("Shoulder", "UpperArm", "LowerArm", "Hand")
_MAIN_ROLES = {"UpperLeg", "LowerLeg", "Foot", "UpperArm", "LowerArm", "Hand"}
# parts that lead on to a foot or a hand
_BONE_PARTS = {"thigh", "leg", "shin", "upperarm", "arm", "forearm"}


class NamedLimb(NamedTuple):
    """Limb found by names.

    segment_rows    rows of its segments
    detached_rows   named rows outside the chain
    contradictions  one sentence for each segment of a reading contradicted by bone lengths
    """

    segment_rows: dict[str, int]
    detached_rows: dict[str, int]
    contradictions: dict[str, str]

    @property
    def main_count(self) -> int:
        """Number of the three main joints found."""
        return len(_MAIN_ROLES & set(self.segment_rows))


_SlotReader: TypeAlias = "Callable[[_NamedParts], Iterator[SegmentSlots]]"


def find_leg(tree: CharacterTree, side: str) -> NamedLimb:
    """Find the leg of a side by names. Result: UpperLeg, LowerLeg, Foot, Toes -> row, as far as found."""
    return _read_limb(tree, side, _LEG_ROLES, _read_leg_slots)


def find_arm(tree: CharacterTree, side: str) -> NamedLimb:
    """Find the arm of a side by names. Result: Shoulder, UpperArm, LowerArm, Hand -> row, as far as found."""
    return _read_limb(tree, side, _ARM_ROLES, _read_arm_slots)


class _NamedParts(NamedTuple):
    """Named parts of one side. `allows_unknown` adds names with unknown tokens."""

    tree: CharacterTree
    side: str
    allows_unknown: bool

    def __call__(self, part: str) -> list[int]:
        rows = self.tree.find_matches(part, self.side)
        if part in _BONE_PARTS:
            rows = [row for row in rows if not self.tree.is_dead_end(row)]
        strict_rows = [row for row in rows if not self.tree.tokens[row].unknown_words]
        return rows if self.allows_unknown else strict_rows or rows


def _read_limb(tree: CharacterTree, side: str, roles: tuple[str, ...], read_slots: _SlotReader) -> NamedLimb:
    """Read a limb from names. The first reading with a whole limb counts, else the most complete one."""
    best_limb, contradictions = NamedLimb({}, {}, {}), dict[str, str]()
    for allows_unknown in (False, True):
        for slots in read_slots(_NamedParts(tree, side, allows_unknown)):
            limb = _choose_chain(tree, roles, slots)
            reason = _explain_misreading(tree, side, limb)
            if reason:
                contradictions |= dict.fromkeys(limb.segment_rows, reason)
                continue
            if limb.main_count > best_limb.main_count or not (best_limb.segment_rows or best_limb.detached_rows):
                best_limb = limb
            if best_limb.main_count == 3:  # noqa: PLR2004  (all there are)
                return best_limb
    return best_limb._replace(contradictions=contradictions)


def _explain_misreading(tree: CharacterTree, side: str, limb: NamedLimb) -> str:
    """Explain why named hinges are no limb, or return "".

    One of the two bones is much too short: robots number or letter the hinges of one anatomical joint, and these are
    at one position.
    """
    bone_rows = [limb.segment_rows[role] for role in (*_LEG_ROLES[:3], *_ARM_ROLES[1:]) if role in limb.segment_rows]
    if len(bone_rows) < len(_LEG_ROLES[:3]) or not all(tree.hinge_mask[row] for row in bone_rows[:2]):
        return ""
    limb_length = tree.measure_reach(bone_rows[0])
    for upper, lower in pairwise(bone_rows):
        if tree.measure_distance(upper, lower) < _MIN_BONE_FRACTION * limb_length:
            names = tree.skeleton.names
            return f"{names[upper]!r} and {names[lower]!r} are at one position, with no bone of the {side} limb"
    return ""


def _read_leg_slots(find_rows: _NamedParts) -> Iterator[SegmentSlots]:
    """List the readings of a leg. An ankle is the foot, unless it hangs elsewhere."""
    thigh, leg_bones, shin = find_rows("thigh"), find_rows("leg"), find_rows("shin")
    hip, ankle, foot, toes = find_rows("hips"), find_rows("ankle"), find_rows("foot"), find_rows("toe")
    tree = find_rows.tree
    if not (thigh or shin) and len(leg_bones) > 1:
        # leg 1, leg 2, leg 3 are bones; in a robot they are hinges, several of them in one hip or ankle
        is_robot = any(tree.hinge_mask[row] for row in leg_bones)
        thigh, shin, *others = _split_leg(tree, leg_bones) if is_robot else [[row] for row in leg_bones]
        foot, toes = (foot or [*others, []][0]), (toes or [*others, [], []][1])
    elif not thigh:
        thigh, shin = (leg_bones, shin) if shin and leg_bones else (hip, shin or leg_bones)
    elif not shin:
        shin = leg_bones
    if thigh and thigh != hip and _are_hinges(tree, [*hip, *thigh]):  # hinges of one joint
        thigh = [*hip, *thigh]
    if ankle:
        yield [thigh, shin, ankle, toes or foot]
    if len(foot) > 1 and not toes and not find_rows.tree.hinge_mask[foot[0]]:  # foot 1, foot 2
        yield [thigh, shin, [foot[0]], [row for row in foot[1:] if find_rows.tree.is_above(foot[0], row)]]
    yield [thigh, shin, foot, toes]


def _read_arm_slots(find_rows: _NamedParts) -> Iterator[SegmentSlots]:
    """List the readings of an arm. A wrist is the hand, unless it hangs elsewhere."""
    clavicle, shoulder = find_rows("clavicle"), find_rows("shoulder")
    upper, arm_bones, lower = find_rows("upperarm"), find_rows("arm"), find_rows("forearm")
    if shoulder and _are_hinges(find_rows.tree, shoulder):  # links that hang below hinges are no upper arm
        arm_bones = [row for row in arm_bones if find_rows.tree.skeleton.kinds[row] != Kind.FIXED]
    hand_slots = [rows for rows in (find_rows("wrist"), find_rows("hand"), _find_palm(find_rows)) if rows]
    if sum(_is_numbered_hinge(find_rows.tree, row) for row in arm_bones) > len(_ARM_ROLES):
        # arm 1 to arm 7 of a robot: hinges, several of them in one shoulder, elbow or wrist
        numbered, arm_bones = arm_bones, []
        if not (upper or lower or shoulder or clavicle):
            upper, lower, end = _split_hinges(find_rows.tree, numbered)
            hand_slots = hand_slots or [end]
    if not (upper or lower or shoulder) and len(arm_bones) > 1:  # arm 1, arm 2, arm 3
        bone_slots = [[row] for row in arm_bones]
        if len(bone_slots) > 3 and not (hand_slots or clavicle):  # noqa: PLR2004  (all of an arm's bones)
            clavicle, bone_slots = bone_slots[0], bone_slots[1:]
        upper, lower, *other_slots = bone_slots
        hand_slots = hand_slots or [[*other_slots, []][0]]
    elif not upper:
        upper, shoulder = (arm_bones, shoulder) if arm_bones else (shoulder, [])
    if shoulder and upper and _are_hinges(find_rows.tree, [*shoulder, *upper]):  # hinges of one joint
        upper, shoulder = [*shoulder, *upper], []
    for hand in hand_slots or [[]]:
        yield [clavicle or shoulder, upper, lower, hand]


def _are_hinges(tree: CharacterTree, rows: Sequence[int]) -> bool:
    """Return whether all of these joints are hinges."""
    return all(tree.hinge_mask[row] for row in rows)


def _is_numbered_hinge(tree: CharacterTree, row: int) -> bool:
    """Return whether a joint is a hinge, locked or not.

    Locked ones are fixed joints with a number.
    """
    is_locked = any(tree.hinge_mask) and tree.skeleton.kinds[row] == Kind.FIXED and bool(tree.tokens[row].numbers)
    return tree.hinge_mask[row] or is_locked


def _split_hinges(tree: CharacterTree, rows: list[int]) -> SegmentSlots:
    """Split the numbered hinges of a limb. Some of them may be locked.

    They are upper bone, elbow or knee, and the end; the elbow is far from both ends.
    """
    nothing: SegmentSlots = [[], [], []]
    if not all(_is_numbered_hinge(tree, row) for row in rows) or not all(
        tree.is_above(*pair) for pair in pairwise(rows)
    ):
        return nothing
    ends = rows[0], rows[-1]
    if len(rows) < len(nothing):
        return nothing
    spans = {
        index: min(tree.measure_distance(end, row) for end in ends) for index, row in enumerate(rows[1:-1], start=1)
    }
    farthest = [index for index, span in spans.items() if span >= _HINGE_DISTANCE_RATIO * max(spans.values())]
    elbow = min(farthest, key=lambda index: abs(index - _SHOULDER_HINGES))  # twists may be at the elbow, too
    return [rows[:elbow], [rows[elbow]], [rows[-1]]]


def _split_leg(tree: CharacterTree, rows: list[int]) -> SegmentSlots:
    """Split the numbered hinges of a leg. Nothing where the last one may be a knee: feet are fixed in some robots."""
    thigh, shin, end = _split_hinges(tree, rows)
    if not shin:
        return [[], [], []]
    lengths = [tree.measure_distance(thigh[0], shin[0]), tree.measure_distance(shin[0], end[0])]
    return [thigh, shin, end] if min(lengths) > _MIN_BONE_RATIO * max(lengths) else [[], [], []]


def _find_palm(find_rows: _NamedParts) -> list[int]:
    """Find the palm bone carrying the middle finger."""
    palm_rows, middle_rows = find_rows("palm"), find_rows("middle")
    finger_numbers = find_rows.tree.find_preorder_numbers(middle_rows)
    return [row for row in palm_rows if find_rows.tree.is_above_any(row, finger_numbers)] or palm_rows


def _choose_chain(tree: CharacterTree, roles: tuple[str, ...], slots: SegmentSlots) -> NamedLimb:
    """Choose the best chain of these rows. Also keep the first row of each segment outside it."""
    later_numbers = [
        tree.find_preorder_numbers(row for slot in slots[segment_index + 1 :] for row in slot)
        for segment_index in range(len(slots))
    ]
    ranks = [{row: _rank_row(tree, row, numbers) for row in {*slot, -1}}
             for slot, numbers in zip(slots, later_numbers, strict=True)]  # fmt: skip
    candidates = [sorted(set(slot), key=ranked.__getitem__)[:_MAX_SLOT_ROWS]
                  for slot, ranked in zip(slots, ranks, strict=True)]  # fmt: skip
    best_chain = min(_list_chains(tree, candidates), key=lambda chain: _rank_chain(tree, roles, chain, ranks))
    rows = {role: row for role, row in zip(roles, best_chain, strict=True) if row >= 0}
    rows = _choose_hinges(tree, roles, slots, rows)
    detached_rows = {role: slot[0] for role, slot in zip(roles, candidates, strict=True) if role not in rows and slot}
    return NamedLimb(rows, {role: row for role, row in detached_rows.items() if row not in rows.values()}, {})


def _list_chains(tree: CharacterTree, slots: SegmentSlots, upper_row: int = -1) -> Iterator[tuple[int, ...]]:
    """List every chain with at most one row per slot. Each row hangs below the one before; -1 stands for none."""
    if not slots:
        yield ()
        return
    for row in (*slots[0], -1):
        if row < 0 or upper_row < 0 or (row != upper_row and tree.is_above(upper_row, row)):
            for lower_chain in _list_chains(tree, slots[1:], upper_row if row < 0 else row):
                yield (row, *lower_chain)


def _rank_chain(
    tree: CharacterTree,
    roles: tuple[str, ...],
    chain: tuple[int, ...],
    ranks: Sequence[Mapping[int, tuple[object, ...]]],
) -> tuple[object, ...]:
    """Rank a chain; the best has the smallest key. The key counts its joints, then their qualities.

    ranks  those of rows for each segment, see `_rank_row`
    """
    main_rows = [row for role, row in zip(roles, chain, strict=True) if row >= 0 and role in _MAIN_ROLES]
    return (
        -len(main_rows),
        sum(not tree.tokens[row].is_deform for row in main_rows),
        sum(row not in tree.skinned_rows for row in main_rows),
        -sum(row >= 0 for row in chain),
        [ranked[row] for ranked, row in zip(ranks, chain, strict=True)],
    )


def _rank_row(tree: CharacterTree, row: int, later_numbers: Sequence[int]) -> tuple[object, ...]:
    """Rank a row; the best row has the smallest key.

    `later_numbers` are the preorder numbers of later segments. Frames that are fixed to a robot, such as those of the
    motors in its shins, come after joints.
    """
    if row < 0:
        return (2, 0, 0, 0, 0, 0, 0)  # after every row
    return (
        not tree.tokens[row].is_deform,
        row not in tree.skinned_rows,
        not tree.is_above_any(row, later_numbers),
        tree.skeleton.kinds[row] == Kind.FIXED,
        tree.depths[row],
        len(tree.skeleton.names[row]) if tree.skeleton.kinds[row] == Kind.FIXED else 0,  # l_toe before lr_toe
        row,
    )


def _choose_hinges(
    tree: CharacterTree, roles: tuple[str, ...], slots: SegmentSlots, rows: dict[str, int]
) -> dict[str, int]:
    """Choose one hinge for each anatomical joint made of several.

    For an upper or lower bone it is the last hinge at the bone's start, or one further down that bends it about another
    axis: twist hinges are anywhere along the bone, and the bone's length and direction must be right. For the others it
    is the last hinge.
    """
    chosen_rows = dict(rows)
    for segment_index, role in reversed(list(enumerate(roles))):
        if role not in rows or not tree.hinge_mask[rows[role]]:
            continue
        hinge_rows = [row for row in slots[segment_index] if tree.hinge_mask[row] and tree.is_above(rows[role], row)]
        next_row = next((chosen_rows[later] for later in roles[segment_index + 1 :] if later in rows), None)
        if next_row is not None:
            hinge_rows = [row for row in hinge_rows if row != next_row and tree.is_above(row, next_row)] or [rows[role]]
        if next_row is not None and role.startswith(("Upper", "Lower")):
            max_distance = max(tree.measure_distance(row, next_row) for row in hinge_rows)
            first_rows = [
                row
                for row in hinge_rows
                if tree.measure_distance(row, next_row) >= _HINGE_DISTANCE_RATIO * max_distance
            ]
            later_rows = [row for row in hinge_rows if row not in first_rows]
            hinge_rows = first_rows + [row for row in later_rows if tree.adds_bend(row, next_row, first_rows)]
        elif next_row is None and role == "LowerArm" and "UpperArm" in rows:  # its twist is further down
            reach = (1.0 - _HINGE_DISTANCE_RATIO) * tree.measure_distance(rows["UpperArm"], rows[role])
            hinge_rows = [row for row in hinge_rows if tree.measure_distance(rows[role], row) <= reach]
        chosen_rows[role] = max(hinge_rows)
    return chosen_rows


# --- Fingers, eyes and the jaw by name -------------------------------------------------------------------------------


_FINGER_SEGMENTS = ("Proximal", "Intermediate", "Distal")
_THUMB_SEGMENTS = ("Metacarpal", "Proximal", "Distal")


def find_fingers(tree: CharacterTree, side: str, upper_row: int = -1) -> dict[str, int]:
    """Find the finger joints of a side, such as IndexProximal -> row.

    Each finger has its first three joints; the bones of the palm are left out. Each joint hangs below the one before,
    and all hang below `upper_row`, if that is a row.
    """
    rows_by_role: dict[str, int] = {}
    for finger_number, finger in enumerate(FINGERS):
        rows = tree.find_named(finger, side) or _find_numbered_finger(tree, finger_number, side)
        is_thumb = finger == "thumb"
        rows = [row for row in rows if is_thumb or not tree.tokens[row].is_metacarpal]
        rows = [row for row in rows if upper_row < 0 or (row != upper_row and tree.is_above(upper_row, row))]
        chain: list[int] = []
        for row in rows:  # parents come before children
            if not chain or tree.is_above(chain[-1], row):
                chain.append(row)
        segments = _THUMB_SEGMENTS if is_thumb else _FINGER_SEGMENTS
        rows_by_role |= {f"{finger.capitalize()}{segment}": row for segment, row in zip(segments, chain, strict=False)}
    return rows_by_role


def _find_numbered_finger(tree: CharacterTree, finger_number: int, side: str) -> list[int]:
    """Find a finger by its number, counted from the thumb.

    MakeHuman counts from one and writes the segment apart (finger1-1, finger1-2); Biped counts from zero and
    appends it (Finger0, Finger01, Finger1, Finger11).
    """
    rows = [row for row in tree.find_named("finger", side) if tree.tokens[row].numbers]
    numbers_by_row = {row: tree.tokens[row].numbers for row in rows}
    if any(len(numbers) > 1 for numbers in numbers_by_row.values()):
        return [row for row in rows if numbers_by_row[row][0] == finger_number + 1]
    return [row for row in rows if _read_digits(tree, row)[:1] == str(finger_number)]


def _read_digits(tree: CharacterTree, row: int) -> str:
    """Read the trailing digits of a name, zeros included. Finger01 is the thumb's second joint."""
    name = tree.skeleton.names[row]
    return name[len(name.rstrip("0123456789")) :]


def find_face_joints(tree: CharacterTree, head_row: int) -> dict[str, int]:
    """Find eyes and jaw below the head, by name."""
    names_by_role = {"leftEye": ("eye", "left"), "rightEye": ("eye", "right"), "jaw": ("jaw", "")}
    rows_by_role: dict[str, int] = {}
    for role, (part, side) in names_by_role.items():
        rows = [row for row in tree.find_named(part, side) if tree.is_above(head_row, row) and row != head_row]
        if rows:
            rows_by_role[role] = min(rows, key=lambda row: (tree.depths[row], row))
    return rows_by_role


# --- Roles by joint names --------------------------------------------------------------------------------------------


# confidence in names of a known convention, in clear words, and in words among unknown ones
CONVENTION_CONFIDENCE, TOKEN_CONFIDENCE, LOOSE_CONFIDENCE = 0.9, 0.8, 0.6


class NameReader:
    """Roles by the names of one character. `confidence` is the confidence in these names."""

    def __init__(self, tree: CharacterTree) -> None:
        self.tree = tree
        self.convention: str = find_convention(tree.skeleton.names)
        self.confidence: float = CONVENTION_CONFIDENCE if self.convention else TOKEN_CONFIDENCE

    @cached_property
    def _limbs(self) -> list[tuple[str, NamedLimb]]:
        return [(side, find_limb(self.tree, side)) for side in SIDES for find_limb in (find_leg, find_arm)]

    def find_limbs(self) -> dict[str, Role]:
        """Find arms and legs, each of them a chain."""
        return self._build_roles(
            {f"{side}{role}": row for side, limb in self._limbs for role, row in limb.segment_rows.items()}
        )

    def find_detached(self) -> dict[str, int]:
        """Find the rows named for a limb without hanging in it."""
        return {f"{side}{role}": row for side, limb in self._limbs for role, row in limb.detached_rows.items()}

    def find_misread(self) -> dict[str, str]:
        """Find roles named for joints at one position.

        Each has a sentence with the reason.
        """
        return {f"{side}{role}": reason for side, limb in self._limbs for role, reason in limb.contradictions.items()}

    def is_humanoid(self) -> bool:
        """Return whether names alone give two arms and two legs."""
        return all(limb.main_count == 3 for _, limb in self._limbs)  # noqa: PLR2004  (all there are)

    def has_hands(self) -> bool:
        """Return whether names give each hand a thumb and a finger."""
        return all(
            {role.startswith("Thumb") for role in find_fingers(self.tree, side)} == {True, False} for side in SIDES
        )

    def find_details(self, limbs: Mapping[str, Role]) -> dict[str, Role]:
        """Find fingers, eyes and jaw. Each hangs below the known part of its limb or below the head."""
        rows: dict[str, int] = {}
        for side in SIDES:
            upper_row = next((limbs[side + part].row for part in ("LowerArm", "Hand") if side + part in limbs), -1)
            rows |= {f"{side}{role}": row for role, row in find_fingers(self.tree, side, upper_row).items()}
        return self._build_roles(rows | (find_face_joints(self.tree, limbs["head"].row) if "head" in limbs else {}))

    def _build_roles(self, rows: dict[str, int]) -> dict[str, Role]:
        convention_note = f" ({self.convention})" if self.convention else ""
        names, tokens = self.tree.skeleton.names, self.tree.tokens
        return {
            role: Role(
                row,
                LOOSE_CONFIDENCE if tokens[row].unknown_words else self.confidence,
                f"named {names[row]!r}{convention_note}",
            )
            for role, row in rows.items()
        }
