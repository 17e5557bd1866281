"""What a reader repaired or ignored: gathered per kind, so that a thousand cases make one sentence."""

from __future__ import annotations

from poise.errors import listed
from poise.io.gltf.json import Json, text


class Notes:
    """Sentences for `Rig.notes`."""

    def __init__(self, *sentences: str) -> None:
        self._names: dict[str, list[str]] = {sentence: [] for sentence in sentences}

    def add(self, sentence: str, name: str = "") -> None:
        """Note something; the same sentence about several things is told once, with their names."""
        names = self._names.setdefault(sentence, [])
        if name:
            names.append(name)

    def name_of(self, thing: Json, otherwise: str) -> str:
        """The name of an object of the document, or `otherwise` where it has none; one that is no text is noted."""
        given = thing.get("name")
        if not (given is None or isinstance(given, str)):
            self.add("names that are no text were replaced", otherwise)
        return text(given) or otherwise

    def sentences(self) -> tuple[str, ...]:
        """Return the notes in the order in which they first arose."""
        return tuple(f"{said}: {listed(names)}" if names else said for said, names in self._names.items())
