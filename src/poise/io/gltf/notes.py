"""Notes on repairs and ignored content, collected per kind. A thousand cases make one sentence."""

from __future__ import annotations

from poise.errors import listed
from poise.io.gltf.json import Json, text


class Notes:
    """Collector of sentences for `Rig.notes`."""

    def __init__(self, *sentences: str) -> None:
        self._names: dict[str, list[str]] = {sentence: [] for sentence in sentences}

    def add(self, sentence: str, name: str = "") -> None:
        """Add a note. A repeated sentence is written once, with all its names."""
        names = self._names.setdefault(sentence, [])
        if name:
            names.append(name)

    def name_of(self, thing: Json, otherwise: str) -> str:
        """Read the name of an object, or return `default`. A name other than a text gives a note."""
        given = thing.get("name")
        if not (given is None or isinstance(given, str)):
            self.add("names that are no text were replaced", otherwise)
        return text(given) or otherwise

    def sentences(self) -> tuple[str, ...]:
        """Return the notes in order of their first addition."""
        return tuple(f"{said}: {listed(names)}" if names else said for said, names in self._names.items())
