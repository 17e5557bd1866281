"""Output files of `--clip all`: checks, names, writing."""

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
    """List the output file of each clip. Formats of several clips share one file."""
    names = [clip.name for clip in clips]
    return clip_paths(out, names) if holds_one_clip(out) else [out] * len(names)


def free_names(names: Sequence[str], out: Path | None, rig: Rig) -> list[str]:
    """Find unused clip names for a new file. A file with an old walk gets walk_1."""
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
    """Return whether the source document is preserved in a new file."""
    return rig.path is not None and reader(rig.path) is writer(out)


def check_apart(files: dict[str, list[Path]]) -> None:
    """Check before any work for two options with the same file.

    Parameters
    ----------
    files
        The file of each clip by option; an option with one file repeats it for every clip.
    """
    taken: dict[str, str] = {}
    for option, paths in files.items():
        for path in paths:
            outputs.check_place(path)
            other = taken.setdefault(os.path.realpath(path).casefold(), option)
            if other != option:
                raise InputError(f"{other} and {option} would both write {path}: give two files")


def save_clips(made: Sequence[tuple[Clip, Path]], rig: Rig) -> None:
    """Write each clip into its file.

    Clips of one file are written together, with the old ones if the document is preserved.
    """
    for out in dict.fromkeys(path for _, path in made):
        clips = [clip for clip, path in made if path == out]
        if len(clips) == 1:
            outputs.save_and_note(clips[0], out, rig)
            continue
        old = rig.clips if _is_kept(rig, out) else ()
        every = Rig(rig.skeleton, rig.pose, (*old, *clips), rig.skins, rig.humanoid)
        outputs.save_and_note(every, out, rig)


def told(clip: Clip, error: PoiseError) -> str:
    """Format the failure of a clip."""
    return f"failed: clip {clip.name!r}: {error}"
