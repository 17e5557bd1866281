"""Roles from the names of the joints."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from poise.model.roles.conventions import convention
from poise.model.roles.figure import Candidate, Role
from poise.model.roles.fingers import face, fingers
from poise.model.roles.limbs import NamedLimb, arm, leg
from poise.model.roles.vrm import SIDES

KNOWN, WORDS, LOOSE = 0.9, 0.8, 0.6  # a known convention, clear words, words among others that mean nothing here


class Names:
    """What the names of one figure say; `sure` is the confidence in them."""

    def __init__(self, figure: Candidate) -> None:
        self.figure = figure
        self.known = convention(figure.skeleton.names)
        self.sure = KNOWN if self.known else WORDS

    @cached_property
    def _read(self) -> list[tuple[str, NamedLimb]]:
        return [(side, read(self.figure, side)) for side in SIDES for read in (leg, arm)]

    def limbs(self) -> dict[str, Role]:
        """Arms and legs, each of them a chain."""
        return self._found({f"{side}{role}": row for side, limb in self._read for role, row in limb.rows.items()})

    def astray(self) -> dict[str, int]:
        """The rows that names give a role of a limb in which they do not hang."""
        return {f"{side}{role}": row for side, limb in self._read for role, row in limb.astray.items()}

    def misread(self) -> dict[str, str]:
        """Return roles given by name to joints standing together.

        A sentence for each says so.
        """
        return {f"{side}{role}": why for side, limb in self._read for role, why in limb.misread.items()}

    def tell_a_humanoid(self) -> bool:
        """Whether names alone give two whole arms and two whole legs."""
        return all(limb.main == 3 for _, limb in self._read)  # noqa: PLR2004  (all there are)

    def tell_hands(self) -> bool:
        """Whether names give each hand a thumb and another finger."""
        return all({role.startswith("Thumb") for role in fingers(self.figure, side)} == {True, False} for side in SIDES)

    def details(self, limbs: Mapping[str, Role]) -> dict[str, Role]:
        """Fingers; eyes and jaw below the head: each below what of the limbs and the head is known."""
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
