"""Role search over all sources, the most reliable first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np

from poise.formatting import format_fields
from poise.maths.arrays import Floats
from poise.model.joint_tree import FLAT_MESSAGE, JointTree, is_flat
from poise.model.joints import Kind
from poise.model.numpy_kinematics import compute_world_transforms
from poise.model.roles import leg_roles, limb_structure
from poise.model.roles.bone_names import BONES, REQUIRED_BONES, SIDES
from poise.model.roles.character_tree import (
    ARM_PARTS,
    LEG_PARTS,
    CharacterTree,
    Role,
    drop_detached_joints,
    explain_detached,
    is_limb_role,
)
from poise.model.roles.roles_by_name import NameReader
from poise.runtime.result_cache import get_or_compute

# --- Hips, spine, chest, neck and head -------------------------------------------------------------------------------
#
# They lie on the path from the joint carrying the legs up to the head.
#
# The ends of that path are found by names and limbs, the joints between by their order: "Spine", "Spine1", "Chest2" and
# "spine05" ... "spine01" mean other bones in other rigs.


# confidence in roles from the order of joints between known ends
ORDER_CONFIDENCE = 0.8
# confidence in a head known by its position only
HEAD_CHAIN_CONFIDENCE = 0.5
# confidence where a name and the tree disagree
_CONFLICT_CONFIDENCE = 0.6
# fraction of a leg's length: named hips further away are a root on the ground or in the chest
_MAX_HIP_FRACTION = 0.25
# fraction of a robot's trunk: a head is no further below the shoulders; rods of a waist end at half of the trunk
_MAX_HEAD_DROP = 0.3
_MIN_SQUARE = 1e-300  # of a trunk's length


def find_trunk(tree: CharacterTree, limbs: Mapping[str, Role], confidence: float) -> dict[str, Role]:
    """Find the trunk's roles from the known limbs. `confidence` is the confidence in this rig's names."""
    shoulder_rows = _find_first_joints(limbs, ("Shoulder", "UpperArm", "LowerArm"))
    chest_row = tree.find_common_ancestor(shoulder_rows) if len(shoulder_rows) == len(SIDES) else -1
    roles = _find_head(tree, chest_row, limbs, confidence)
    top_row = roles["head"].row if roles else chest_row
    hips = _find_hips(tree, limbs, top_row, confidence)
    if hips is None:
        return roles
    roles["hips"] = hips
    path = [row for row in tree.find_path_between(hips.row, top_row)[1:] if row != roles.get("head", hips).row]
    neck_candidates = set(path[path.index(chest_row) + 1 :]) if chest_row in path else set[int]()
    if chest_row == hips.row:  # arms and legs on one link: what is above the arms by its place
        neck_candidates = {
            row for row in path if _measure_rise(tree, row, limbs) > 0.0 and not _is_named_spine(tree, row)
        }
    neck_rows = [row for row in path if tree.tokens[row].part == "neck" or row in neck_candidates]
    neck_set = set(neck_rows)
    if neck_rows:
        roles["neck"] = Role(
            neck_rows[0], min(confidence, ORDER_CONFIDENCE), "the first joint between the arms and the head"
        )
    spine_rows = [row for row in path if row not in neck_set and _is_spine(tree, row)]
    return roles | _assign_spine(_merge_hinges(tree, spine_rows), min(confidence, ORDER_CONFIDENCE))


def _find_first_joints(limbs: Mapping[str, Role], roles: tuple[str, ...]) -> list[int]:
    """Find the first known joint of each side's limb. It is the one nearest to the trunk."""
    rows_by_side = [[limbs[f"{side}{role}"].row for role in roles if f"{side}{role}" in limbs] for side in SIDES]
    return [rows[0] for rows in rows_by_side if rows]


def _is_below(tree: CharacterTree, upper_row: int, row: int) -> bool:
    return upper_row >= 0 and row != upper_row and tree.is_above(upper_row, row)


def _is_named_spine(tree: CharacterTree, row: int) -> bool:
    return tree.tokens[row].part in ("spine", "waist")


def _is_spine(tree: CharacterTree, row: int) -> bool:
    tokens = tree.tokens[row]
    return tree.usable_mask[row] and not tokens.is_helper and tokens.part != "hips"


def _merge_hinges(tree: CharacterTree, rows: list[int]) -> list[int]:
    """Merge hinges of one joint (waist yaw, roll, pitch). The last one counts: it carries the bone."""

    def is_one_joint(row: int, next_row: int) -> bool:
        tokens = tree.tokens
        return tree.hinge_mask[row] and tree.hinge_mask[next_row] and tokens[row].part == tokens[next_row].part != ""

    pairs = zip(rows, [*rows, -1][1:], strict=True)
    return [row for row, next_row in pairs if next_row < 0 or not is_one_joint(row, next_row)]


def _assign_spine(rows: list[int], confidence: float) -> dict[str, Role]:
    """Assign spine, chest and upper chest.

    They are the first joint, the middle one and the last, as far as there are joints.
    """
    rows_by_role = {
        "spine": rows[:1],
        "chest": rows[len(rows) // 2 :][:1] * (len(rows) > 1),
        "upperChest": rows[2:][-1:],
    }
    return {
        role: Role(row, confidence, f"joint {rows.index(row) + 1} of {len(rows)} between the hips and the neck")
        for role, role_rows in rows_by_role.items()
        for row in role_rows
    }


def _find_head(tree: CharacterTree, chest_row: int, limbs: Mapping[str, Role], confidence: float) -> dict[str, Role]:
    """Find the head by name, else by position. It is then the top of the joints between the arms."""
    named_rows = tree.find_named("head")
    named_rows = [row for row in named_rows if _is_below(tree, chest_row, row)] or named_rows
    if named_rows:
        tokens, skinned_rows = tree.tokens, tree.skinned_rows
        row = min(
            named_rows, key=lambda row: (not tokens[row].is_deform, row not in skinned_rows, tree.depths[row], row)
        )
        return {"head": Role(row, confidence, f"named {tree.skeleton.names[row]!r}")}
    limb_rows = [role_joint.row for role_joint in limbs.values()]
    upward_rows = tree.children[chest_row] if chest_row >= 0 else []
    limb_numbers = tree.find_preorder_numbers(limb_rows)
    upward_rows = [child for child in upward_rows if not tree.is_above_any(child, limb_numbers)]
    if not upward_rows:
        return {}
    head_chain = _trim_fixed_end(
        tree, _find_head_chain(tree, max(upward_rows, key=lambda row: (tree.path_counts[row], tree.bone_lengths[row])))
    )
    if len(head_chain) > 1 and not tree.children[head_chain[-1]] and _has_leaf_ends(tree, limbs):
        head_chain = head_chain[:-1]
    if any(tree.hinge_mask) and _measure_rise(tree, head_chain[-1], limbs) < -_MAX_HEAD_DROP:  # rods of a waist
        return {}
    return {"head": Role(head_chain[-1], HEAD_CHAIN_CONFIDENCE, "the top of the joints between the arms")}


def _measure_rise(tree: CharacterTree, row: int, limbs: Mapping[str, Role]) -> float:
    """Measure the rise of a joint over the arms [trunk lengths].

    It is along the trunk; 0 without known limbs.
    """
    ends = [_find_first_joints(limbs, parts) for parts in (("UpperLeg", "LowerLeg"), ("UpperArm", "LowerArm"))]
    if not all(ends):
        return 0.0
    hips, shoulders = (tree.positions[rows].mean(axis=0) for rows in ends)
    trunk = shoulders - hips
    return float((tree.positions[row] - shoulders) @ trunk) / max(float(trunk @ trunk), _MIN_SQUARE)


def _find_head_chain(tree: CharacterTree, row: int) -> list[int]:
    """Find the chain of joints from the arms upwards. It ends where it branches into eyes, jaw or hair."""
    chain = [row]
    while len(tree.children[row]) == 1:
        row = tree.children[row][0]
        chain.append(row)
    return chain


def _trim_fixed_end(tree: CharacterTree, chain: list[int]) -> list[int]:
    """Cut a robot's head chain after its last moving joint.

    Sensor frames are fixed to that joint. A chain without a moving joint is not changed.
    """
    moving_indices = [index for index, row in enumerate(chain) if tree.skeleton.kinds[row] != Kind.FIXED]
    return chain[: moving_indices[-1] + 1] if tree.is_robot and moving_indices else chain


def _has_leaf_ends(tree: CharacterTree, limb_roles: Mapping[str, Role]) -> bool:
    """Return whether this rig's bones end in leaf joints. Then the bone of the toes does so as well."""
    return any(tree.children[limb_roles[role].row] for role in ("leftToes", "rightToes") if role in limb_roles)


def _find_hips(tree: CharacterTree, limbs: Mapping[str, Role], top_row: int, confidence: float) -> Role | None:
    """Find the hips by name, else by the tree. A named joint must carry the legs and the spine."""
    names, named_rows = tree.skeleton.names, tree.find_named("hips")
    thigh_rows = _find_first_joints(limbs, ("UpperLeg", "LowerLeg"))
    fork_row = (
        tree.find_common_ancestor([*thigh_rows, *([top_row] if top_row >= 0 else [])])
        if len(thigh_rows) == len(SIDES)
        else -1
    )
    carrying_rows = [row for row in named_rows if fork_row < 0 or tree.is_above(row, fork_row)]
    if carrying_rows:
        row = min(carrying_rows, key=lambda row: tree.depths[row] if fork_row < 0 else -tree.depths[row])
        return Role(row, confidence, f"named {names[row]!r}")
    if fork_row < 0 or not tree.usable_mask[fork_row]:
        return None
    if not named_rows:
        return Role(fork_row, min(confidence, ORDER_CONFIDENCE), "carries the legs and the spine")
    row = min(named_rows, key=lambda row: tree.depths[row])
    if tree.measure_distance(row, fork_row) > _MAX_HIP_FRACTION * _measure_leg(tree, limbs):
        return Role(
            row,
            _CONFLICT_CONFIDENCE,
            f"named {names[row]!r}; {names[fork_row]!r} carries legs and spine, but far from them",
        )
    return Role(fork_row, min(confidence, ORDER_CONFIDENCE), f"carries the legs and the spine, unlike {names[row]!r}")


def _measure_leg(tree: CharacterTree, limbs: Mapping[str, Role]) -> float:
    """Measure a leg as twice its thigh. Feet may hang elsewhere."""
    ends = [(limbs.get(f"{side}UpperLeg"), limbs.get(f"{side}LowerLeg")) for side in SIDES]
    return max((2.0 * tree.measure_distance(a.row, b.row) for a, b in ends if a and b), default=0.0)


# --- Search for all roles --------------------------------------------------------------------------------------------


_MANY_LEGS_MESSAGE = "more than two pairs of limbs are named as legs, and these do not stand on the ground"


@dataclass(frozen=True)
class Leg:
    """One leg of a character: joint names from the hip down.

    Parameters
    ----------
    name
        "left", "right"; of a quadruped "front left", "hind left", ...; of a creature with more legs "front left",
        "mid left", "hind left", with four pairs or more "mid 1 left", "mid 2 left", ... from the front.
    upper
        The thigh: the joint that turns at the hip.
    lower
        The shin: the joint that turns at the knee.
    foot
        The ankle joint (of a quadruped: the last joint above the paw).
    toes
        The joint at the ball of the foot, or None.
    """

    __repr__ = format_fields

    name: str
    upper: str
    lower: str
    foot: str
    toes: str | None

    @property
    def side(self) -> str:
        """Side of the leg: "left" or "right"."""
        return self.name.rpartition(" ")[2]

    @property
    def position(self) -> str:
        """Position along the body: "front", "mid", "hind", "mid 1", ... It is empty for a biped."""
        return self.name.rpartition(" ")[0]


@dataclass(frozen=True)
class JointRoles:
    """Roles of a character's joints, without the joints themselves.

    `poise.Roles` describes the fields, and adds the skeleton.
    """

    __repr__ = format_fields

    joints: Mapping[str, str]
    confidence: Mapping[str, float]
    reasons: Mapping[str, str]
    legs: tuple[Leg, ...]
    kind: str
    missing: tuple[str, ...]
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])
    apart: tuple[Leg, ...] = ()


def search_tree(tree: CharacterTree, declared_roles: dict[str, Role]) -> JointRoles:
    """Find the roles of a character's joints.

    Sources, the most reliable first: declared roles, names, structure and position at rest. Files of one actor or one
    generator have equal skeletons: the search of such a one is not repeated.
    """
    skeleton, moved = tree.skeleton, tree.moved_positions
    if not _STIFF_KINDS.isdisjoint(skeleton.kinds.tolist()):  # ranges and couplings of hinges count, too
        return _search_tree(tree, declared_roles)
    arrays = skeleton.parents, skeleton.kinds, skeleton.axes, skeleton.A, skeleton.B, skeleton.rest_q, tree.positions
    key = (
        skeleton.names,
        skeleton.up,
        skeleton.faces,
        *(array.tobytes() for array in arrays),
        None if moved is None else moved.tobytes(),
        tree.skinned_rows,
        tuple(declared_roles.items()),
    )
    return get_or_compute(_SEARCHED, "trees", key, lambda: _search_tree(tree, declared_roles), _MAX_SEARCHED)


_STIFF_KINDS = frozenset((Kind.HINGE, Kind.SLIDE))
_SEARCHED = SimpleNamespace()  # owner of what was found, which holds names and numbers alone
_MAX_SEARCHED = 32  # trees, of which each takes some 50 KB


def _search_tree(tree: CharacterTree, declared_roles: dict[str, Role]) -> JointRoles:
    if is_flat(tree.skeleton.kinds, tree.parents):
        return _assemble_roles(tree, {}, [], "other", dict.fromkeys(REQUIRED_BONES, FLAT_MESSAGE))
    name_reader, structure = NameReader(tree), limb_structure.find_limb_structure(tree)
    if not any(map(is_limb_role, declared_roles)):
        is_named_humanoid = name_reader.is_humanoid()
        if len(limb_structure.find_leg_pairs(tree)) > len(SIDES):  # a crab's legs may have human names
            if structure.many_legs and structure.up is not None:
                return _build_multiped(tree, structure.many_legs, structure.up, declared_roles)
            return _assemble_roles(tree, _overlay_roles({}, declared_roles), [], "other", {"legs": _MANY_LEGS_MESSAGE})
        if structure.is_quadruped and not (
            is_named_humanoid and name_reader.has_hands()
        ):  # front legs may be named arms and hands
            return _build_quadruped(tree, structure, declared_roles)
        if structure.many_legs and structure.up is not None and not is_named_humanoid:
            return _build_multiped(tree, structure.many_legs, structure.up, declared_roles)
    return _build_biped(tree, name_reader, structure, declared_roles)


def _build_quadruped(
    tree: CharacterTree, structure: limb_structure.LimbStructure, declared_roles: dict[str, Role]
) -> JointRoles:
    rows_by_leg = leg_roles.find_quadruped_legs(tree, structure)
    roles = _add_trunk(tree, leg_roles.map_to_biped(rows_by_leg), leg_roles.STANDING_CONFIDENCE)
    roles = {role: role_joint for role, role_joint in roles.items() if not is_limb_role(role)}
    return _assemble_roles(tree, _overlay_roles(roles, declared_roles), _build_legs(tree, rows_by_leg), "quadruped")


def _build_multiped(
    tree: CharacterTree, limbs: tuple[list[int], ...], up: Floats, declared_roles: dict[str, Role]
) -> JointRoles:
    rows_by_leg = leg_roles.find_multiped_legs(tree, limbs, up)
    roles = _overlay_roles(leg_roles.find_multiped_trunk(tree, limbs, NameReader(tree).confidence), declared_roles)
    if not rows_by_leg:
        return _assemble_roles(tree, roles, [], "other", {"legs": leg_roles.UNEQUAL_SIDES_MESSAGE})
    return _assemble_roles(tree, roles, _build_legs(tree, rows_by_leg), "multi-legged")


def _build_biped(
    tree: CharacterTree,
    name_reader: NameReader,
    structure: limb_structure.LimbStructure,
    declared_roles: dict[str, Role],
) -> JointRoles:
    limb_roles = _overlay_roles(
        name_reader.find_limbs(),
        {role: role_joint for role, role_joint in declared_roles.items() if is_limb_role(role)},
    )
    confidence = name_reader.confidence if limb_roles else leg_roles.OBSERVED_CONFIDENCE
    observed_roles, unclear_reasons = leg_roles.find_biped_limbs(tree, structure, limb_roles)
    limb_roles, rejection_reasons = drop_detached_joints(tree, _add_roles({}, limb_roles | observed_roles))
    valid_declared = {role: role_joint for role, role_joint in declared_roles.items() if role not in rejection_reasons}
    roles = leg_roles.check_sides(
        tree, _overlay_roles(_add_trunk(tree, limb_roles, confidence), valid_declared), valid_declared
    )
    detached_rows = {role: declared_roles[role].row for role in rejection_reasons if role in declared_roles}
    detached_rows = name_reader.find_detached() | detached_rows
    row_of_role = {role: role_joint.row for role, role_joint in roles.items()}
    rejection_reasons = name_reader.find_misread() | unclear_reasons | rejection_reasons
    for role, row in detached_rows.items():
        if role not in roles and row not in row_of_role.values():
            rejection_reasons.setdefault(role, explain_detached(tree, row, role, _select_limb(role, row_of_role)))
    rows_by_leg = {
        side: [row_of_role[f"{side}{role}"] for role in LEG_PARTS if f"{side}{role}" in row_of_role] for side in SIDES
    }
    rows_by_leg = {
        side: rows
        for side, rows in rows_by_leg.items()
        if all(f"{side}{role}" in row_of_role for role in LEG_PARTS[:3])
    }
    detached_legs = {
        side: rows
        for side in SIDES
        if side not in rows_by_leg and (rows := _find_detached_leg(tree, side, row_of_role, detached_rows))
    }
    is_whole = len(rows_by_leg) + len(detached_legs) == len(SIDES) and all(f"{side}UpperArm" in roles for side in SIDES)
    if structure.rejection_reason and not (rows_by_leg or detached_legs):
        rejection_reasons = {"legs": structure.rejection_reason} | rejection_reasons
    kind = "humanoid" if is_whole else "other"
    return _assemble_roles(
        tree, roles, _build_legs(tree, rows_by_leg), kind, rejection_reasons, _build_legs(tree, detached_legs)
    )


def _select_limb(role: str, row_of_role: Mapping[str, int]) -> dict[str, int]:
    """Select the known rows of the limb of a role."""
    side = next(limb_side for limb_side in SIDES if role.startswith(limb_side))
    limb_parts = next((parts for parts in (LEG_PARTS, ARM_PARTS) if role[len(side) :] in parts), ())
    return {f"{side}{part}": row_of_role[f"{side}{part}"] for part in limb_parts if f"{side}{part}" in row_of_role}


def _find_detached_leg(
    tree: CharacterTree, side: str, row_of_role: Mapping[str, int], detached_rows: Mapping[str, int]
) -> list[int]:
    """Find the rows of a leg with a detached foot.

    They are thigh, shin, foot and toes; nothing hangs below the shin.
    """
    upper, lower, foot = (
        row_of_role.get(f"{side}UpperLeg"),
        row_of_role.get(f"{side}LowerLeg"),
        detached_rows.get(f"{side}Foot"),
    )
    if upper is None or lower is None or foot is None or tree.children[lower]:
        return []
    toes = detached_rows.get(f"{side}Toes", foot)
    return [upper, lower, foot, *([toes] if toes != foot and tree.is_above(foot, toes) else [])]


def _overlay_roles(roles: dict[str, Role], declared_roles: dict[str, Role]) -> dict[str, Role]:
    """Overlay declared roles on roles found. Declared roles and joints win."""
    taken_rows = {role_joint.row for role_joint in declared_roles.values()}
    return {role: role_joint for role, role_joint in roles.items() if role_joint.row not in taken_rows} | declared_roles


def _add_trunk(tree: CharacterTree, limbs: dict[str, Role], confidence: float) -> dict[str, Role]:
    """Add trunk, fingers, eyes and jaw to limbs. The trunk needs more than hands or feet."""
    roles = limbs
    if any(f"{side}{role}" in limbs for side in SIDES for role in ("LowerLeg", "LowerArm")):
        roles = _add_roles(limbs, find_trunk(tree, limbs, confidence))
    return _add_roles(roles, NameReader(tree).find_details(roles))


def _add_roles(roles: dict[str, Role], further_roles: dict[str, Role]) -> dict[str, Role]:
    """Add further roles to roles found. A joint with a role keeps it and gets no other."""
    roles = dict(roles)
    taken_rows = {role_joint.row for role_joint in roles.values()}
    for role, role_joint in further_roles.items():
        if role not in roles and role_joint.row not in taken_rows:
            roles[role] = role_joint
            taken_rows.add(role_joint.row)
    return roles


def build_character_tree(skeleton: JointTree) -> CharacterTree:
    """Build the character tree of a skeleton at rest."""
    return CharacterTree(skeleton, compute_scaled_positions(skeleton, skeleton.rest_q))


def compute_scaled_positions(skeleton: JointTree, q: Floats, translations: Floats | None = None) -> Floats:
    """Compute world positions (n, 3) of one configuration, scaled to 1.

    The largest coordinate is 1, so no unit is too large or too small. NumPy only: callers do not wait for a compiler.
    """
    if not len(skeleton.names):
        return np.zeros((0, 3))
    points = compute_world_transforms(skeleton, q, translations)[:, :3, 3]
    points = np.nan_to_num(points, posinf=0.0, neginf=0.0)  # scaled nodes may overflow
    max_coordinate = float(np.abs(points).max())
    return points / max_coordinate if max_coordinate > 0.0 else points


def _build_legs(tree: CharacterTree, rows_by_leg: Mapping[str, list[int]]) -> list[Leg]:
    return [_build_leg(tree, name, leg_rows) for name, leg_rows in rows_by_leg.items()]


def _build_leg(tree: CharacterTree, name: str, rows: list[int]) -> Leg:
    upper, lower, foot, *toes = (tree.skeleton.names[row] for row in rows)
    return Leg(name, upper, lower, foot, toes[0] if toes else None)


def _assemble_roles(
    tree: CharacterTree,
    roles: dict[str, Role],
    legs: Iterable[Leg],
    kind: str,
    rejection_reasons: Mapping[str, str] | None = None,
    detached_legs: Iterable[Leg] = (),
) -> JointRoles:
    names = tree.skeleton.names
    ordered_roles = {role: roles[role] for role in BONES if role in roles}
    return JointRoles(
        joints={role: names[role_joint.row] for role, role_joint in ordered_roles.items()},
        confidence={role: role_joint.confidence for role, role_joint in ordered_roles.items()},
        reasons={role: role_joint.reason for role, role_joint in ordered_roles.items()},
        legs=tuple(legs),
        kind=kind,
        missing=tuple(role for role in REQUIRED_BONES if role not in ordered_roles),
        left_out=dict(rejection_reasons or {}),
        apart=tuple(detached_legs),
    )


# --- Joint lookup by role, the last resort of `Skeleton.index` -------------------------------------------------------


# minimum confidence of a role usable as a joint name: clear words, a known convention, the file, the sidecar
MIN_CONFIDENCE = 0.8

_ROLE_NAMES = frozenset(BONES)


def search_skeleton(skeleton: JointTree) -> JointRoles:
    """Find the roles of a skeleton's joints. Declared roles are those of its file and sidecar."""
    declared_joints = {role: joint for role, joint in skeleton.roles.items() if role in BONES and joint in skeleton}
    declared_roles = {
        role: Role(skeleton.index(joint), 1.0, "the file or its sidecar") for role, joint in declared_joints.items()
    }
    return search_tree(build_character_tree(skeleton), declared_roles)


def find_joint_roles(skeleton: JointTree) -> JointRoles:
    """Find the roles of a skeleton's joints, cached."""
    return get_or_compute(skeleton, "roles", None, lambda: search_skeleton(skeleton))


def find_joint_by_role(skeleton: JointTree, name: object) -> int | None:
    """Find the row of a role's joint, or None. The role must be confident; None also for a name that is no role."""
    if not isinstance(name, str) or name not in _ROLE_NAMES:
        return None
    roles = find_joint_roles(skeleton)
    return skeleton.index(roles.joints[name]) if roles.confidence.get(name, 0.0) >= MIN_CONFIDENCE else None


def find_confident_roles(skeleton: JointTree) -> list[str]:
    """Find the roles usable as joint names."""
    roles = find_joint_roles(skeleton)
    return [role for role in roles.joints if roles.confidence[role] >= MIN_CONFIDENCE]


_LIMB_ROLES = tuple(
    tuple(side + part for part in parts)
    for side in SIDES
    for parts in (("UpperArm", "LowerArm", "Hand"), ("UpperLeg", "LowerLeg", "Foot", "Toes"))
)


def find_limb_start(skeleton: JointTree, tip: int) -> int | None:
    """Find the upper arm or thigh above a part of its limb.

    Parts are elbows, hands, knees, feet and toes by role; None for other rows.
    """
    for first, *others in _LIMB_ROLES:
        if tip in [find_joint_by_role(skeleton, role) for role in others]:
            return find_joint_by_role(skeleton, first)
    return None
