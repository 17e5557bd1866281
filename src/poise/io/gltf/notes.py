"""What a reader repaired or ignored: gathered per kind, so that a thousand cases make one sentence."""

from __future__ import annotations

from poise.errors import listed


class Notes:
    """Sentences for `Rig.notes`."""

    def __init__(self, *sentences: str) -> None:
        self._names: dict[str, list[str]] = {sentence: [] for sentence in sentences}

    def add(self, sentence: str, name: str = "") -> None:
        """Note something; the same sentence about several things is told once, with their names."""
        names = self._names.setdefault(sentence, [])
        if name:
            names.append(name)

    def sentences(self) -> tuple[str, ...]:
        """Return the notes in the order in which they first arose."""
        return tuple(f"{said}: {listed(names)}" if names else said for said, names in self._names.items())
