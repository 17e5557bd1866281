"""Roles from the names of the joints."""

from __future__ import annotations

from poise.model.roles.conventions import convention
from poise.model.roles.figure import Candidate, Role
from poise.model.roles.fingers import face, fingers
from poise.model.roles.limbs import arm, leg
from poise.model.roles.vrm import SIDES

KNOWN, WORDS, LOOSE = 0.9, 0.8, 0.6  # a known convention, clear words, words among others that mean nothing here


class Names:
    """What the names of one figure say; `sure` is the confidence in them."""

    def __init__(self, figure: Candidate) -> None:
        self.figure = figure
        self.known = convention(figure.skeleton.names)
        self.sure = KNOWN if self.known else WORDS

    def limbs(self) -> dict[str, Role]:
        """Arms and legs."""
        figure = self.figure
        rows = {f"{side}{role}": row for side in SIDES for role, row in (leg(figure, side) | arm(figure, side)).items()}
        return self._found(rows)

    def details(self, head: int) -> dict[str, Role]:
        """Fingers; eyes and jaw below the head, if there is one (row -1: none)."""
        rows = {f"{side}{role}": row for side in SIDES for role, row in fingers(self.figure, side).items()}
        return self._found(rows | (face(self.figure, head) if head >= 0 else {}))

    def _found(self, rows: dict[str, int]) -> dict[str, Role]:
        about = f" ({self.known})" if self.known else ""
        names, words = self.figure.skeleton.names, self.figure.words
        return {
            role: Role(row, LOOSE if words[row].unknown else self.sure, f"named {names[row]!r}{about}")
            for role, row in rows.items()
        }
