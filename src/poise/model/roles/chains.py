"""Chain validation of limbs. Each joint of a limb hangs below the one before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise

from poise.model.roles.figure import Candidate, Role
from poise.model.roles.vrm import SIDES

LEG = ("UpperLeg", "LowerLeg", "Foot", "Toes")
ARM = ("Shoulder", "UpperArm", "LowerArm", "Hand")


def is_of_a_limb(role: str) -> bool:
    """Return whether a role belongs to an arm, hand or leg."""
    return role.startswith(SIDES) and not role.endswith("Eye")


def true_chains(figure: Candidate, found: Mapping[str, Role]) -> tuple[dict[str, Role], dict[str, str]]:
    """Drop the roles of joints detached from their limb. Also return the reason for each."""
    kept, left = dict(found), dict[str, str]()
    for side in SIDES:
        for limb in (LEG, ARM):
            roles = [f"{side}{part}" for part in limb if f"{side}{part}" in found]
            chain = _surest(figure, found, roles)
            for role in roles:
                if role not in chain:
                    left[role] = why_astray(figure, found[role].row, role, {one: found[one].row for one in chain})
                    del kept[role]
    return kept, left


def _surest(figure: Candidate, found: Mapping[str, Role], roles: Sequence[str]) -> tuple[str, ...]:
    """Find the most confident chain of a limb's roles."""
    for count in range(len(roles), 1, -1):
        chains = [some for some in combinations(roles, count) if _is_chain(figure, [found[role].row for role in some])]
        if chains:
            return max(chains, key=lambda some: sum(found[role].confidence for role in some))
    return tuple(roles[:1])


def _is_chain(figure: Candidate, rows: Sequence[int]) -> bool:
    return all(a != b and figure.is_above(a, b) for a, b in pairwise(rows))


def why_astray(figure: Candidate, row: int, role: str, limb: Mapping[str, int]) -> str:
    """Explain why a limb joint is left out. `limb` holds the rows of the limb."""
    order = [f"{side}{part}" for side in SIDES for parts in (LEG, ARM) for part in parts]
    names = figure.skeleton.names
    for other, at in limb.items():
        above, below = (row, at) if order.index(role) < order.index(other) else (at, row)
        if above == below or not figure.is_above(above, below):
            place = "above" if above == row else "below"
            return f"{names[row]!r} is not {place} {names[at]!r}, the {other}"
    return f"{names[row]!r} is above no other joint of the limb"
