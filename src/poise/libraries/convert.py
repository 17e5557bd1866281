"""Conversion of rigs between file formats, with a list of losses."""

from __future__ import annotations

import dataclasses
import warnings
from dataclasses import dataclass
from itertools import zip_longest
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np

from poise.errors import InputError, PoiseError, PoiseWarning, UnsupportedError, listed
from poise.ground.figure.figure import up_of_legs
from poise.io.paths import as_path
from poise.io.registry import load, reader, save, writer
from poise.io.vrma.tpose import placing
from poise.io.vrma.write import is_animation
from poise.libraries.clip_files import ALL, clip_paths, holds_one_clip
from poise.libraries.losses import carried, losses, meshes_of, unit_of
from poise.libraries.moved import Move, moved, turn_between
from poise.libraries.rename import rename_joints
from poise.libraries.roots import one_tree
from poise.maths import rotations
from poise.maths.arguments import text
from poise.maths.arrays import real, short
from poise.maths.in_words import in_words
from poise.maths.options import one_of
from poise.model.clip import Clip, KeyedClip
from poise.model.grid import grid_of, off_at_keys
from poise.model.rig import Rig
from poise.model.roles import humanoid

Rest = Literal["keep", "zero"]

_IN_METRES = (".gltf", ".glb", ".vrm", ".vrma")  # formats with metres as their unit
_TOLD = 1e-4  # fraction of the character's size; larger errors at the keys are reported


@dataclass(frozen=True)
class Converted:
    """Files written by `convert`, and losses.

    Parameters
    ----------
    files
        The files, one or, where `clip="all"` needs several, one for each clip.
    clips
        Names of the clips in them.
    frames
        Total number of frames or key times.
    fps
        Frames per second of the first clip; 0 without one.
    off
        The largest distance between a joint in the new file and in the old one, at the keys of the old one [units of
        the new file]; None if the new file has no joints. Joints displaced by a missing moving parent are listed in
        `lost` instead.
    share
        `off` as a fraction of the character's size.
    lost
        Losses of the new file, a line each.
    notes
        Changes during conversion: units, axes, times.
    """

    __repr__ = in_words

    files: tuple[Path, ...]
    clips: tuple[str, ...]
    frames: int
    fps: float
    off: float | None
    share: float | None
    lost: tuple[str, ...]
    notes: tuple[str, ...]


def convert(
    source: str | PathLike[str] | Rig,
    out: str | PathLike[str],
    *,
    clip: str | None = None,
    fps: float | None = None,
    scale: float | None = None,
    up: str | None = None,
    rest: Rest | None = None,
    root: str | None = None,
    include_root: str | PathLike[str] | None = None,
) -> Converted:
    """Convert a rig or file to another file format.

    Parameters
    ----------
    source
        The file, or a rig.
    out
        The new file; its suffix selects the format.
    clip
        Name of the clip, or "all" for one file per clip (`NAME_CLIP.bvh`) where the format holds one. By default all
        clips go into a file that holds several; other formats need a rig with one clip.
    fps
        Sample clips at this rate [frames/s] from time 0 on. By default keys are preserved; a BVH file gets the lowest
        rate with a frame at each key.
    scale
        Factor of lengths. By default a rig of known unit is written to glTF in metres; otherwise the unit is kept.
    up
        Rotate the character to this up axis: "x", "y" or "z".
    rest
        For BVH: `"zero"` makes zero rotation the rest pose, as other programs expect, `"keep"` preserves the joint
        frames. The default is "zero" for a rig of another format, "keep" for one from BVH.
    root
        Convert the joints below this root only. Single-root formats (BVH) get the tree of the hips by default.
    include_root
        A folder of permitted includes of the source, besides its own; see `poise.load`.

    Returns
    -------
    Converted
        The files, and a line for each loss.

    Raises
    ------
    FileError
        For a file that cannot be read or written.
    UnsupportedError
        For data the new format cannot hold, and for an ambiguous root with single-root formats.
    InputError
        For an invalid option, such as `up` for a rig of unknown up axis.
    UnknownNameError
        For an unknown clip.
    """
    path = as_path(out)
    for option, value in (("clip", clip), ("root", root)):
        if value is not None:
            text(value, option)
    for option, value, allowed in (("up", up, ("x", "y", "z")), ("rest", rest, ("zero", "keep"))):
        if value is not None:
            one_of(option, value, allowed)
    module = writer(path)
    rig, notes = _opened(source, include_root)
    chosen, left = _chosen(rig, clip)
    whole, aside = one_tree(chosen, root, needed=getattr(module, "ONE_ROOT", False))
    placed, more = _placed(whole, path, scale, up)
    is_same = chosen.path is not None and reader(chosen.path) is module
    keeps = is_same and placed.skeleton.source is chosen.skeleton.source
    placed, others = _named(placed, module)
    rests = rest or ("zero" if "zero" in getattr(module, "RESTS", ()) and not keeps else "keep")
    timed, late = _timed(placed, fps)
    written = _write(timed, path, rests, each=clip == ALL)
    return _told(written, meshes_of(rig), [*notes, *left, *more, *others, *late], aside)


def _opened(source: str | PathLike[str] | Rig, include_root: str | PathLike[str] | None) -> tuple[Rig, list[str]]:
    if isinstance(source, Rig):
        return source, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoiseWarning)  # they are in the rig's notes
        rig = load(source, include_root=include_root)
    return rig, list(rig.notes)


def _chosen(rig: Rig, name: str | None) -> tuple[Rig, list[str]]:
    """Select the named clip of a rig, or all."""
    if name is None or name == ALL:
        return rig, []
    clip = rig.clip(name)
    others = [other.name for other in rig.clips if other is not clip]
    left = [f"not written: {listed(others)}"] if others else []
    return dataclasses.replace(rig, clips=(clip,)), left


# --- units and axes --------------------------------------------------------------------------------------------------


def _placed(rig: Rig, path: Path, scale: float | None, up: str | None) -> tuple[Rig, list[str]]:
    """Convert a rig to the requested unit and up axis. Return it with notes."""
    if path.suffix.lower() == ".vrma" and scale is None and up is None and not is_animation(rig.skeleton):
        return _as_animation(rig)
    s, notes = rig.skeleton, list[str]()
    in_metres, metres = path.suffix.lower() in _IN_METRES, s.metres_per_unit
    factor = 1.0 if scale is None else real(scale, "scale")
    if not 0.0 < factor < np.inf:
        raise InputError(f"scale must be above zero and finite, not {short(scale)}")
    if scale is None and in_metres and metres is not None and metres != 1.0:
        factor, metres = metres, 1.0
        notes.append(f"lengths were in {unit_of(s.metres_per_unit or 1.0)} and are in metres now")
    elif scale is None and in_metres and metres is None:
        notes.append(
            "the unit is unknown: lengths were kept and count as metres in glTF; use scale 0.01 for centimetres"
        )
    elif scale is not None:
        metres = 1.0 if in_metres else None
    stands = _up_of(rig, wanted=up) if in_metres or up is not None else s.up
    turn = rotations.IDENTITY
    if up is not None and stands != up:
        turn = turn_between(stands or up, up)
        notes.append(f"rotated: {stands} was up, {up} is now")
    elif up is None and s.up is None and in_metres and stands == "z":
        notes.append("the character stands along z, but y is up in glTF: use up y to rotate it")
    if factor == 1.0 and turn is rotations.IDENTITY:
        return rig, notes  # the source document is preserved
    return moved(rig, Move(factor, turn, up or s.up, metres)), notes


def _as_animation(rig: Rig) -> tuple[Rig, list[str]]:
    """Convert a rig to the unit and axes of a VRM animation. The written file is compared in the same frame then."""
    try:
        factor, axes, is_guess = placing(rig.skeleton)
    except UnsupportedError:  # the writer reports it, with the file name
        return rig, []
    notes = [f"unit guessed: {factor:.4g} m"] if is_guess else []
    turn = rotations.from_matrix(axes)
    if factor == 1.0 and np.array_equal(axes, np.eye(3)):
        return rig, notes
    if not np.array_equal(axes, np.eye(3)):
        notes.append("rotated: y is up now, and the character faces +z")
    return moved(rig, Move(factor, turn, "y", 1.0)), notes


def _up_of(rig: Rig, wanted: str | None) -> str | None:
    """Find the up axis from the file or the legs. InputError if it is unknown and `requested` is given."""
    one_of("up", wanted or "y", ("x", "y", "z"))
    if rig.skeleton.up is not None:
        return rig.skeleton.up
    legs = humanoid(rig).legs
    if legs:
        return up_of_legs(rig.clips[0] if rig.clips and len(rig.clips[0].times) else rig.rest, legs)
    if wanted is not None:
        raise InputError("up: the file has no up axis, and the character has no legs to infer it from")
    return None


def _named(rig: Rig, module: Any) -> tuple[Rig, list[str]]:
    """Rename the joints of a rig for the new file.

    Return it with a note on the changed names.
    """
    if not hasattr(module, "names_of"):
        return rig, []
    names, note = module.names_of(rig)
    return (rig, []) if names == rig.skeleton.names else (rename_joints(rig, names), [note])


# --- times -----------------------------------------------------------------------------------------------------------


def _timed(rig: Rig, fps: float | None) -> tuple[Rig, list[str]]:
    """Resample clips from time 0 on, at a rate if given."""
    notes: list[str] = []
    clips: list[Clip] = []
    for clip in rig.clips:
        begins = float(clip.times[0]) if len(clip.times) else 0.0
        if begins < 0.0:
            notes.append(f"clip {clip.name!r} began at {begins:g} s and begins at 0 now")
        clips.append(_shifted(clip, min(begins, 0.0)))
        if fps is not None and len(clip.times):
            grid = grid_of(clips[-1], fps)
            clips[-1] = Clip.at_rate(clips[-1].at(grid.times), fps, clip.name)
    same = all(new is old for new, old in zip(clips, rig.clips, strict=True))
    return (rig if same else dataclasses.replace(rig, clips=tuple(clips))), notes


def _shifted(clip: Clip, begins: float) -> Clip:
    if begins == 0.0:
        return clip
    if isinstance(clip, KeyedClip):
        tracks = tuple(track._replace(times=track.times - begins) for track in clip.tracks)
        return KeyedClip(clip.skeleton, tracks, clip.name)
    return Clip(clip.times - begins, clip.poses, clip.name)


# --- writing ---------------------------------------------------------------------------------------------------------


def _write(rig: Rig, path: Path, rest: Rest, *, each: bool) -> list[tuple[Path, Rig]]:
    """Write one file, or one for each clip. Return each path with the rig it should hold."""
    try:
        _save(rig, path, rest)
    except UnsupportedError as error:
        if len(rig.clips) < 2 or not holds_one_clip(path):  # noqa: PLR2004  (selecting a clip would not help)
            raise
        single = [dataclasses.replace(rig, clips=(clip,)) for clip in rig.clips]
        if not each:
            names = listed(repr(clip.name) for clip in rig.clips)
            message = f"{path}: it holds one clip: select one by name, or give 'all' for one file per clip: {names}"
            raise UnsupportedError(message) from error
        files = list(zip(clip_paths(path, [clip.name for clip in rig.clips]), single, strict=True))
        for file, part in files:
            _save(part, file, rest)
        return files
    return [(path, rig)]


def _save(rig: Rig, path: Path, rest: Rest) -> None:
    """Write a rig, or its clip alone for motion formats."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoiseWarning)  # errors at the keys are measured in the written file
        try:
            save(rig, path, rest=rest)
        except UnsupportedError:
            if len(rig.clips) != 1:
                raise
            save(rig.clips[0], path, like=rig, rest=rest)


# --- report ----------------------------------------------------------------------------------------------------------


def _told(written: list[tuple[Path, Rig]], meshes: int, notes: list[str], aside: list[str]) -> Converted:
    """Build the result by rereading and comparing the written files."""
    read = [(wanted, _read_again(path)) for path, wanted in written]
    pairs = [pair for wanted, again in read for pair in _pairs(wanted, again)]
    lost = dict.fromkeys([*aside, *(line for wanted, again in read for line in losses(wanted, again, meshes))])
    missing = [clip.name for clip, new in pairs if new is None]
    if missing:
        lost[f"clips: {listed(missing)}"] = None
    kept = [(clip, new) for clip, new in pairs if new is not None]
    compared = [(clip, new) for clip, new in kept if new is not clip]
    off, share, hung, they = _off(compared)
    if hung and they:
        what = f"the positions of these joints and their descendants: {listed(hung)}"
        lost[f"{what} (off by {they:.2g} of the character's size at most)"] = None
    if off is not None and share is not None and share > _TOLD:
        lost[f"exact keys: {off:.3g} off at most ({share:.2g} of the character's size) at the clip's own keys"] = None
    return Converted(
        files=tuple(path for path, _ in written),
        clips=tuple(clip.name for clip, _ in kept),
        frames=sum(len(new.times) for _, new in kept),
        fps=kept[0][1].fps if kept else 0.0,
        off=off,
        share=share,
        lost=tuple(lost),
        notes=tuple(notes),
    )


def _off(pairs: list[tuple[Clip, Clip]]) -> tuple[float | None, float | None, list[str], float]:
    """Measure joint errors at the old keys.

    Return the largest error, its fraction of the size, the joints displaced by lost parents, and their fraction.

    Displaced joints are not counted in the first two.
    """
    far: list[tuple[float, float]] = []
    hung, they = dict[str, None](), 0.0
    for clip, new in pairs:
        first, names = carried(clip, new.skeleton)
        far.append(off_at_keys(clip, new, [name for name in clip.skeleton.names if name not in names]))
        distance, size = off_at_keys(clip, new, names) if names else (0.0, 1.0)
        if size and distance / size > _TOLD:
            hung.update(dict.fromkeys(first))
            they = max(they, distance / size)
    off = max((distance for distance, _ in far), default=None)
    share = max((distance / size for distance, size in far if size), default=None)
    return off, share, list(hung), they


def _pairs(wanted: Rig, again: Rig | None) -> list[tuple[Clip, Clip | None]]:
    """Pair the clips to write with the clips read back. A file of values only pairs a clip with itself."""
    clips = [clip for clip in wanted.clips if len(clip.times)]
    made = clips if again is None else again.clips
    return list(zip_longest(clips, made[: len(clips)]))


def _read_again(path: Path) -> Rig | None:
    """Read a written file back. None for a file of values without joints."""
    module: Any = writer(path)
    try:
        return module.read(path) if hasattr(module, "read") else None
    except PoiseError:  # valid, but not readable by Poise
        return None
