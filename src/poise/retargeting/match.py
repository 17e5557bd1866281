"""Pairs of joints of two characters, by role."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

from poise.calls.argument_checks import check_bool, check_text, check_type
from poise.errors import FileError, InputError, PoiseError, UnknownNameError, UnsupportedError, quote_value
from poise.io.files import as_path, write_atomically
from poise.io.sidecar import quote_key
from poise.maths.arrays import check_real
from poise.model.anatomy.roles import Roles
from poise.model.clip import Clip
from poise.model.rig import Rig
from poise.model.roles.bone_names import BONES, SIDES
from poise.model.roles.role_search import MIN_CONFIDENCE
from poise.model.skeleton import Kind, Skeleton
from poise.retargeting.bend_axes import LIMBS
from poise.retargeting.body import FINGER_PARTS, FINGERS, REQUIRED_PARTS, check_limb_order, split_role

# confidence of a role below which it is not matched
LEAST_CONFIDENCE = 0.5
_LONG_FINGERS = FINGERS[1:]
_COLUMNS = ("role", "from", "to", "turn", "note")


@dataclass(frozen=True)
class MatchedJoint:
    """A row of a match.

    Parameters
    ----------
    role
        The role of both joints, a VRM 1.0 bone name.
    source, target
        Names of the joints; "" where a character has none.
    turn
        [degrees] by which the target's segment is turned about its bone, in addition.
    skip
        Whether the row is left out: the target's joint then stays as it is at rest.
    note
        What is special about it.
    """

    role: str
    source: str
    target: str
    turn: float = 0.0
    skip: bool = False
    note: str = ""

    @property
    def is_used(self) -> bool:
        """Whether the target follows the source here."""
        return bool(self.source and self.target) and not self.skip


@dataclass(frozen=True, repr=False)
class Match:
    """Pairs of joints of two characters, by role. `print(match)` shows a table.

    Parameters
    ----------
    joints
        A row for each role that one of both characters has.
    notes
        What was assumed, a sentence each.
    """

    joints: tuple[MatchedJoint, ...]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        rows = [_COLUMNS, *(_format_row(joint) for joint in self.joints)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
        lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def __repr__(self) -> str:
        return f"Match({len(self)} roles, {sum(joint.is_used for joint in self.joints)} of them in both)"

    def __len__(self) -> int:
        return len(self.joints)

    def __getitem__(self, role: str) -> MatchedJoint:
        role = check_text(role, "the role")
        for joint in self.joints:
            if joint.role == role:
                return joint
        raise UnknownNameError("role", role, [joint.role for joint in self.joints])

    def with_joint(
        self,
        role: str,
        *,
        source: str | None = None,
        target: str | None = None,
        turn: float | None = None,
        skip: bool | None = None,
    ) -> Match:
        """Return the match with one row changed. What is None stays; "" is no joint."""
        row = self[role]
        changed = _check_row(
            replace(
                row,
                source=row.source if source is None else source,
                target=row.target if target is None else target,
                turn=row.turn if turn is None else turn,
                skip=row.skip if skip is None else skip,
            )
        )
        return replace(self, joints=tuple(changed if joint.role == role else joint for joint in self.joints))

    def list_joints(self, *, of_target: bool) -> dict[str, str]:
        """Map roles to joint names, with or without a partner."""
        of_target = check_bool(of_target, "of_target")
        names = {joint.role: joint.target if of_target else joint.source for joint in self.joints}
        return {role: name for role, name in names.items() if name}

    def save(self, path: str | PathLike[str]) -> None:
        """Write the match as a TOML file, a table for each role."""
        path = as_path(path)
        if path.suffix.lower() != ".toml":
            raise FileError(path, "a match is kept in a file that ends with .toml")
        lines = ["# Which joint moves which. turn: degrees about the bone. skip = true leaves a row out."]
        for joint in self.joints:
            source, target = (quote_key(name, allows_bare=False) for name in (joint.source, joint.target))
            lines += [f"\n[{joint.role}]", f"from = {source}", f"to = {target}"]
            lines += [f"turn = {joint.turn!r}"] * bool(joint.turn) + ["skip = true"] * joint.skip
        write_atomically(path, ("\n".join(lines) + "\n").encode())

    @staticmethod
    def load(path: str | PathLike[str]) -> Match:
        """Load a match file. FileError names the row that cannot be used."""
        path = as_path(path)
        try:
            tables = tomllib.loads(path.read_bytes().decode())
        except OSError as error:
            raise FileError(path, error.strerror or "cannot be read") from error
        except (ValueError, RecursionError) as error:
            raise FileError(path, f"is no TOML file: {error}") from error
        rows: list[MatchedJoint] = []
        for role, table in tables.items():
            try:
                rows.append(_read_row(role, table))
            except PoiseError as error:
                raise FileError(path, str(error)) from error
        return Match(tuple(rows))


def _format_row(joint: MatchedJoint) -> tuple[str, ...]:
    turn = f"{joint.turn:g}" if joint.turn else ""
    note = "skipped" if joint.skip else joint.note
    return joint.role, joint.source or "-", joint.target or "-", turn, note


def _read_row(role: str, table: Any) -> MatchedJoint:
    """Read a table of a match file."""
    if not isinstance(table, dict):
        raise InputError(f"{role} is no table: write [{role}] with from and to below")
    values: dict[str, Any] = dict(table)
    unknown = [name for name in values if name not in ("from", "to", "turn", "skip")]
    if unknown:
        raise InputError(f"[{role}] has an unknown entry {quote_value(unknown[0])}; entries: from, to, turn, skip")
    row = MatchedJoint(
        role, values.get("from", ""), values.get("to", ""), values.get("turn", 0.0), values.get("skip", False)
    )
    return _check_row(row)


def _check_row(row: MatchedJoint) -> MatchedJoint:
    """Check the values of a row. InputError names the wrong one."""
    if row.role not in BONES:
        raise UnknownNameError("role", row.role, BONES)
    for name, value in (("from", row.source), ("to", row.target)):
        if not isinstance(value, str):  # pyright: ignore[reportUnnecessaryIsInstance]  (a file has any values)
            raise InputError(f"{name} of {row.role} must be the name of a joint, not {quote_value(value)}")
    if not isinstance(row.skip, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InputError(f"skip of {row.role} must be true or false, not {quote_value(row.skip)}")
    turn = check_real(row.turn, f"turn of {row.role}")
    if not abs(turn) <= 360.0:  # noqa: PLR2004
        raise InputError(f"turn of {row.role} must be from -360 to 360 degrees, not {turn:g}")
    return replace(row, turn=float(turn))


# --- Search of a match -----------------------------------------------------------------------------------------------


def match(source: Rig, target: Rig, *, clip: Clip | None = None) -> Match:
    """Pair the joints of two characters by their roles.

    Parameters
    ----------
    source
        The rig whose motion is wanted. A sidecar with roles counts.
    target
        The rig that is to move.
    clip
        The clip that will be retargeted. A match does not depend on it.

    Returns
    -------
    Match
        A row for each role that one of both has. A finger without a partner follows the nearest finger of the source.

    Raises
    ------
    UnsupportedError
        For a character without known legs, a source without known upper arms, and for animals.
    """
    for name, rig in (("the source", source), ("the target", target)):
        check_type(rig, Rig, name)
    if clip is not None:
        check_type(clip, Clip, "the clip of a match")
    return match_roles(source.roles, target.roles)


def match_roles(source: Roles, target: Roles) -> Match:
    """Pair the joints of two characters by roles."""
    check_limbs(source, "source")
    check_target(target)
    sources, targets = _list_joints(source), _list_joints(target)
    rows = [
        _pair_joint(role, sources, targets, (source, target)) for role in BONES if role in sources or role in targets
    ]
    return Match(tuple(rows), tuple(_note_doubts(source, "source") + _note_doubts(target, "target")))


def check_target(roles: Roles) -> None:
    """Refuse a target without known legs, and animals. Legs of robots must move."""
    check_limbs(roles, "target")
    check_moving_legs(roles.skeleton, _list_joints(roles))


def check_limbs(roles: Roles, name: str) -> None:
    """Refuse animals and characters without known limbs.

    Those of a source are legs and upper arms, of a target legs. The sentence tells what to declare.
    """
    if roles.kind in ("quadruped", "multi-legged"):
        raise UnsupportedError(f"the {name} is an animal on four legs or more: retargeting is for people and robots")
    joints = _list_joints(roles)
    missing = [role for role in _list_required_roles(of_target=name == "target") if role not in joints]
    if missing:
        remainder = f" and {len(missing) - 3} more" if len(missing) > 3 else ""  # noqa: PLR2004
        limbs = "legs" if name == "target" else "arms and legs"
        raise UnsupportedError(
            f"the {name} has no known {', '.join(missing[:3])}{remainder}: name {limbs} in the [humanoid] table "
            f'of its sidecar, such as {missing[0]} = "JOINT"'
        )


def check_moving_legs(skeleton: Skeleton, joints: Mapping[str, str]) -> None:
    """Refuse a target with legs of fixed joints."""
    if not has_hinges(skeleton, joints):
        return
    for side in SIDES:
        start, end = (skeleton.index(joints[f"{side}{part}"]) for part in ("UpperLeg", "Foot"))
        path = skeleton.list_path(end)
        rows = path[path.index(start) :] if start in path else [start, end]  # a foot beside its leg
        if all(skeleton.kinds[row] == Kind.FIXED for row in rows):
            raise UnsupportedError(
                f"no joint from {skeleton.names[start]!r} to {skeleton.names[end]!r} of the target moves: "
                "there is nothing to retarget onto"
            )


def has_hinges(skeleton: Skeleton, joints: Mapping[str, str]) -> bool:
    """Return whether trunk or limbs have hinges, as robots do."""
    kinds, turning_kinds = skeleton.joint_lists.kinds, (Kind.BALL, Kind.FREE)
    parts = [(joint, *split_role(role)) for role, joint in joints.items()]
    rows = [skeleton.index(joint) for joint, side, part in parts if not side or part in REQUIRED_PARTS]
    return any(kinds[row] not in turning_kinds for row in rows)


def _list_joints(roles: Roles) -> dict[str, str]:
    """Map confident roles to joint names. Feet beside their legs count."""
    joints = {role: joint for role, joint in roles.joints.items() if roles.confidence[role] >= LEAST_CONFIDENCE}
    return joints | list_detached_joints(roles)


def list_detached_joints(roles: Roles) -> dict[str, str]:
    """Map roles to the joints of feet beside their legs."""
    feet = {f"{leg.name}Foot": leg.foot for leg in roles.apart}
    return feet | {f"{leg.name}Toes": leg.toes for leg in roles.apart if leg.toes}


def _get_confidence(roles: Roles, role: str) -> float:
    """Return the confidence of a role. Feet beside their legs are known by name."""
    return roles.confidence.get(role, MIN_CONFIDENCE)


def _pair_joint(
    role: str, sources: Mapping[str, str], targets: Mapping[str, str], roles: tuple[Roles, Roles]
) -> MatchedJoint:
    source, target = sources.get(role, ""), targets.get(role, "")
    if source and target:
        least = min(_get_confidence(one, role) for one in roles)
        return MatchedJoint(role, source, target, note=f"confidence {least:g}" if least < MIN_CONFIDENCE else "")
    if target:
        finger = _find_nearest_finger(role, sources)
        if finger:
            return MatchedJoint(role, sources[finger], target, note=f"follows {finger}")
        return MatchedJoint(role, source, target, note=_explain_missing_source(role))
    return MatchedJoint(role, source, target, note="the target has none")


def _explain_missing_source(role: str) -> str:
    if role in ("spine", "chest", "upperChest", "neck"):
        return "shares the rotation of the trunk"
    return "the source has none: it stays as at rest"


def _find_nearest_finger(role: str, sources: Mapping[str, str]) -> str:
    """Find the nearest finger of the source, or ""."""
    side, part = split_role(role)
    finger = next((finger for finger in _LONG_FINGERS if part.startswith(finger)), "")
    joint = part[len(finger) :]
    if not side or not finger or joint not in FINGER_PARTS[1:] or f"{side}{finger}Proximal" in sources:
        return ""
    order = sorted(_LONG_FINGERS, key=lambda other: abs(_LONG_FINGERS.index(other) - _LONG_FINGERS.index(finger)))
    return next((f"{side}{other}{joint}" for other in order if f"{side}{other}{joint}" in sources), "")


def _note_doubts(roles: Roles, name: str) -> list[str]:
    doubtful = [role for role in _list_joints(roles) if _get_confidence(roles, role) < MIN_CONFIDENCE]
    if not doubtful:
        return []
    return [f"the {name}'s {', '.join(doubtful)} {'is' if len(doubtful) == 1 else 'are'} known with less confidence"]


def check_match(value: Match, source: Skeleton | None, target: Skeleton) -> Match:
    """Check joints and limbs of a match. Without a source those of the target."""
    check_type(value, Match, "match")
    for row in value.joints:
        for joint, skeleton in ((row.source, source), (row.target, target)):
            if joint and skeleton is not None and joint not in skeleton:
                raise UnknownNameError(f"joint for {row.role}", joint, skeleton.names, plural="joints")
    sources, targets = (value.list_joints(of_target=of_target) for of_target in (False, True))
    missing = [role for role in _list_required_roles(of_target=True) if role not in targets]
    missing += [role for role in _list_required_roles(of_target=False) if role not in sources]
    if missing:
        raise InputError(
            "a match names legs of both characters and upper arms of the source, skipped or not: "
            f"{missing[0]} is not paired"
        )
    for skeleton, is_target in ((source, False), (target, True)):
        if skeleton is not None:
            check_limb_order(skeleton, targets if is_target else sources)
    check_moving_legs(target, targets)
    return value


def is_changed(match: Match) -> bool:
    """Return whether a row is skipped or turned."""
    return any(joint.skip or joint.turn for joint in match.joints)


def list_skipped_sides(match: Match, parts: Sequence[str]) -> list[str]:
    """List the sides with a skipped row in a limb.

    Such a limb has joints that stay as at rest.
    """
    skipped = {row.role for row in match.joints if row.skip and row.target}
    return [side for side in SIDES if any(f"{side}{part}" in skipped for part in parts)]


def _list_required_roles(*, of_target: bool) -> list[str]:
    """List the roles required of a character. Targets need legs alone; arms end where they end."""
    parts = LIMBS[1] if of_target else (*LIMBS[1], LIMBS[0][0])
    return [f"{side}{part}" for side in SIDES for part in parts]
