"""Selection of clips: `--clip NAME`, or `--clip all`."""

from __future__ import annotations

from typing import Annotated

import typer

from poise.errors import InputError
from poise.libraries.clip_files import ALL
from poise.model.clip import Clip
from poise.model.rig import Rig

Chosen = Annotated[
    str | None,
    typer.Option("--clip", metavar="NAME", help="name of the clip, if the file has several; all: every clip"),
]


def clip_of(rig: Rig, name: str | None, who: str = "--every-frame") -> Clip:
    """Select the named clip, or the only one. InputError lists the clips."""
    if name is not None:
        return rig.clip(name)
    if not rig.clips:
        raise InputError(f"{who} needs a clip, and there is none in this file")
    if len(rig.clips) != 1:
        names = ", ".join(repr(clip.name) for clip in rig.clips)
        raise InputError(f"{who} needs --clip NAME: this file has {len(rig.clips)} clips: {names}")
    return rig.clips[0]


def refuse_all(name: str | None, why: str) -> None:
    """Raise InputError for `--clip all` where one clip is needed."""
    if name == ALL:
        raise InputError(f"--clip all: {why}; give --clip NAME")
