"""Where each clip of `--clip all` goes: checked before any work, written at its end."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import chain, count
from pathlib import Path

from poise.cli.told import outputs
from poise.errors import InputError, PoiseError
from poise.io.registry import reader, writer
from poise.libraries.clip_files import clip_paths, holds_one_clip
from poise.model.clip import Clip
from poise.model.rig import Rig


def new_files(out: Path, clips: Sequence[Clip]) -> list[Path]:
    """The new file of each clip: one for all where the format holds several, else one each."""
    names = [clip.name for clip in clips]
    return clip_paths(out, names) if holds_one_clip(out) else [out] * len(names)


def free_names(names: Sequence[str], out: Path | None, rig: Rig) -> list[str]:
    """What clips are called in a new file: walk_1 where it keeps an old walk beside them."""
    if out is None or holds_one_clip(out):
        return list(names)
    taken = {clip.name for clip in rig.clips} if _is_kept(rig, out) else set[str]()
    free: list[str] = []
    for name in names:
        others = (f"{name}_{i}" for i in count(1))
        free.append(next(one for one in chain([name], others) if one not in taken))
        taken.add(free[-1])
    return free


def _is_kept(rig: Rig, out: Path) -> bool:
    """Whether the document that a rig was read from is kept in a new file."""
    return rig.path is not None and reader(rig.path) is writer(out)


def check_apart(files: dict[str, list[Path]]) -> None:
    """Find out before any work whether two options write one file, for any of the clips.

    Parameters
    ----------
    files
        The option, and its file for each clip; an option that writes one file has it for all of them.
    """
    taken: dict[str, str] = {}
    for option, paths in files.items():
        for path in paths:
            outputs.check_place(path)
            other = taken.setdefault(os.path.realpath(path).casefold(), option)
            if other != option:
                raise InputError(f"{other} and {option} would both write {path}: give two files")


def save_clips(made: Sequence[tuple[Clip, Path]], rig: Rig) -> None:
    """Write each clip into its file; those of one file together, beside the old ones where the document is kept."""
    for out in dict.fromkeys(path for _, path in made):
        clips = [clip for clip, path in made if path == out]
        if len(clips) == 1:
            outputs.save_and_note(clips[0], out, rig)
            continue
        old = rig.clips if _is_kept(rig, out) else ()
        every = Rig(rig.skeleton, rig.pose, (*old, *clips), rig.skins, rig.humanoid)
        outputs.save_and_note(every, out, rig)


def told(clip: Clip, error: PoiseError) -> str:
    """A line for a clip that cannot be worked on."""
    return f"failed: clip {clip.name!r}: {error}"
