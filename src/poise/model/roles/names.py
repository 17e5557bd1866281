"""Roles from joint names: limbs, fingers, eyes and jaw."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from poise.model.roles.conventions import convention
from poise.model.roles.figure import Candidate, Role
from poise.model.roles.fingers import face, fingers
from poise.model.roles.limbs import NamedLimb, arm, leg
from poise.model.roles.vrm import SIDES

# confidence in names of a known convention, in clear words, and in words among unknown ones
KNOWN, WORDS, LOOSE = 0.9, 0.8, 0.6


class Names:
    """Roles by the names of one character. `confidence` is the confidence in these names."""

    def __init__(self, figure: Candidate) -> None:
        self.figure = figure
        self.known = convention(figure.skeleton.names)
        self.sure = KNOWN if self.known else WORDS

    @cached_property
    def _read(self) -> list[tuple[str, NamedLimb]]:
        return [(side, read(self.figure, side)) for side in SIDES for read in (leg, arm)]

    def limbs(self) -> dict[str, Role]:
        """Find arms and legs, each of them a chain."""
        return self._found({f"{side}{role}": row for side, limb in self._read for role, row in limb.rows.items()})

    def astray(self) -> dict[str, int]:
        """Find the rows named for a limb without hanging in it."""
        return {f"{side}{role}": row for side, limb in self._read for role, row in limb.astray.items()}

    def misread(self) -> dict[str, str]:
        """Find roles named for joints at one position.

        Each has a sentence with the reason.
        """
        return {f"{side}{role}": why for side, limb in self._read for role, why in limb.misread.items()}

    def tell_a_humanoid(self) -> bool:
        """Return whether names alone give two arms and two legs."""
        return all(limb.main == 3 for _, limb in self._read)  # noqa: PLR2004  (all there are)

    def tell_hands(self) -> bool:
        """Return whether names give each hand a thumb and a finger."""
        return all({role.startswith("Thumb") for role in fingers(self.figure, side)} == {True, False} for side in SIDES)

    def details(self, limbs: Mapping[str, Role]) -> dict[str, Role]:
        """Find fingers, eyes and jaw. Each hangs below the known part of its limb or below the head."""
        rows: dict[str, int] = {}
        for side in SIDES:
            above = next((limbs[side + part].row for part in ("LowerArm", "Hand") if side + part in limbs), -1)
            rows |= {f"{side}{role}": row for role, row in fingers(self.figure, side, above).items()}
        return self._found(rows | (face(self.figure, limbs["head"].row) if "head" in limbs else {}))

    def _found(self, rows: dict[str, int]) -> dict[str, Role]:
        about = f" ({self.known})" if self.known else ""
        names, words = self.figure.skeleton.names, self.figure.words
        return {
            role: Role(row, LOOSE if words[row].unknown else self.sure, f"named {names[row]!r}{about}")
            for role, row in rows.items()
        }
