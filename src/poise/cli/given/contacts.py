"""Foot contacts from a file or a sidecar."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from poise.errors import FileError
from poise.ground.contact.contact_files import read_contacts
from poise.ground.contact.contacts import Contacts
from poise.ground.figure.figure import figure_of
from poise.ground.plant import even
from poise.io.files import is_file, sidecar_of
from poise.model.clip import Clip
from poise.model.rig import Rig

SUFFIXES = (".json", ".toml")


def contacts_of(
    path: Path | None, file: Path, rig: Rig, clip: Clip, legs: Sequence[str] | None
) -> tuple[Contacts | None, str]:
    """Load the contacts of these legs.

    Return them with a note about their source; (None, "") if no file has contacts of the clip.

    path  contact file; FileError if it lacks the clip. None: the sidecar of `file`, if it has contacts
    legs  names of legs; None: all legs of the character
    """
    source = path or sidecar_of(file)
    if path is None and not is_file(source):
        return None, ""
    every = tuple(leg.name for leg in figure_of(clip, rig=rig).legs)
    times = even(clip)[0].times
    found = read_contacts(source, clip.name, every, times)
    if found is None:
        if path is not None:
            raise FileError(path, f"holds no contacts of the clip {clip.name!r}")
        return None, ""
    kept = {leg: points for leg, points in found.intervals().items() if legs is None or leg in legs}
    return Contacts.from_intervals(kept, tuple(legs or every), times), f"contacts are those of {source}"


def check_contacts_file(path: Path) -> None:
    """Check the suffix of a contact file."""
    if path.suffix.lower() not in SUFFIXES:
        raise FileError(path, f"contacts are kept in files that end with {' or '.join(SUFFIXES)}")
