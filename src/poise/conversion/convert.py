"""Conversion of rigs between file formats, with a list of losses."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from poise.calls.argument_checks import check_choice, check_text
from poise.calls.progress import report_progress
from poise.conversion.rig_edits import UnitChange, change_units, compute_axis_rotation, keep_one_root, rename_joints
from poise.errors import InputError, PoiseError, PoiseWarning, UnsupportedError, join_names
from poise.formatting import format_count, format_fields
from poise.ground.figure.figure import up_of_legs
from poise.io.files import as_path
from poise.io.registry import ALL_CLIPS, build_clip_paths, find_reader, find_writer, is_single_clip_format, load, save
from poise.io.vrm_animation import find_vrm_frame, is_vrm_animation
from poise.maths import rotations
from poise.maths.arrays import abbreviate, check_real
from poise.model.clip import Clip, KeyedClip, find_frame_grid, measure_key_error
from poise.model.pose import compute_local_transforms
from poise.model.rig import Rig
from poise.model.rig_roles import find_roles
from poise.model.skeleton import Kind, Skeleton

# --- Losses of a conversion, found by reading the file back ----------------------------------------------------------
#
# No table of format features is needed.


_MIN_MOTION = 1e-6  # [file units, or quaternion components] smaller changes are no motion
_UNIT_SCALE_TOLERANCE = 1e-6  # deviation of a scale or unit from 1 that counts as none
_UNIT_NAMES = {0.001: "millimetres", 0.01: "centimetres", 1.0: "metres"}


def format_unit(metres: float) -> str:
    """Format a unit: `centimetres`, or its length in metres."""
    unit_name = next(
        (name for size, name in _UNIT_NAMES.items() if abs(metres / size - 1.0) < _UNIT_SCALE_TOLERANCE), None
    )
    return unit_name or f"units of {metres:g} m"


def find_losses(before: Rig, after: Rig | None, meshes: int) -> tuple[str, ...]:
    """List the losses, a line each.

    before  the expected content of the file
    after   the content read back; None for a file of joint values only
    meshes  number of meshes of the source file
    """
    if after is None:
        return ("the skeleton: the file holds joint values only, and needs the rig as well",)
    return tuple(_iterate_losses(before, after, meshes))


def find_displaced_joints(clip: Clip, new_skeleton: Skeleton) -> tuple[list[str], list[str]]:
    """Find joints displaced by a missing moving ancestor.

    Return the first ones of each chain, and all of them. A root of the new file keeps its old world position, so it is
    not displaced.

    A displaced joint is first of its chain if its parent in the new file is not displaced.
    """
    old_skeleton, local_transforms = clip.skeleton, compute_local_transforms(clip.poses)
    motion_ranges = [
        np.abs(channel - channel[:1]).max(axis=(0, 2), initial=0.0)
        for channel in (local_transforms.translation, local_transforms.rotation)
    ]
    is_moving = np.maximum(*motion_ranges) > _MIN_MOTION
    is_displaced: list[bool] = []  # whether each joint is displaced
    first_names: list[str] = []
    for name, parent in zip(old_skeleton.names, old_skeleton.parents.tolist(), strict=True):
        has_lost_parent = (
            parent >= 0 and bool(is_moving[parent]) and old_skeleton.names[parent] not in new_skeleton.names
        )
        is_root = name in new_skeleton.names and new_skeleton[name].parent is None
        is_displaced.append(parent >= 0 and not is_root and (is_displaced[parent] or has_lost_parent))
        new_parent = new_skeleton[name].parent if name in new_skeleton.names else None
        if is_displaced[-1] and new_parent is not None and not is_displaced[old_skeleton.index(new_parent)]:
            first_names.append(name)
    return first_names, [
        name
        for name, displaced in zip(old_skeleton.names, is_displaced, strict=True)
        if displaced and name in new_skeleton.names
    ]


def _iterate_losses(before: Rig, after: Rig, meshes: int) -> Iterator[str]:
    old_skeleton, new_skeleton = before.skeleton, after.skeleton
    missing_names = [name for name in old_skeleton.names if name not in new_skeleton.names]
    if missing_names:
        yield f"{format_count(len(missing_names), 'joint')}: {join_names(missing_names)}"
    old_limit_count, new_limit_count = _count_limits(old_skeleton), _count_limits(new_skeleton)
    if new_limit_count < old_limit_count:
        yield f"limits of {format_count(old_limit_count - new_limit_count, 'joint')}"
    freed_names = [
        name
        for name in old_skeleton.names
        if name in new_skeleton.names and _is_freed(old_skeleton, new_skeleton, name)
    ]
    if freed_names:
        yield (
            f"the axes of {format_count(len(freed_names), 'hinge or slide', 'hinges or slides')}: in the file "
            "they turn "
            "freely"
        )
    opened_loops = [
        loop.name for loop in old_skeleton.loops if loop.name not in {new_loop.name for new_loop in new_skeleton.loops}
    ]
    if opened_loops:
        yield (
            f"{format_count(len(opened_loops), 'closed loop')}, which other readers leave open: "
            f"{join_names(opened_loops)}"
        )
    for label, count in _count_extras(old_skeleton).items():
        if _count_extras(new_skeleton)[label] < count:
            yield format_count(count - _count_extras(new_skeleton)[label], label)
    if count_meshes(after) < meshes:
        yield f"{format_count(meshes - count_meshes(after), 'mesh', 'meshes')}, with materials and skins"
    if before.humanoid and not after.humanoid:
        yield f"the roles of {format_count(len(before.humanoid), 'joint')}"
    if _is_scaled(before) and not _is_scaled(after):
        yield "scale of joints: it was applied to the lengths"
    if old_skeleton.metres_per_unit is not None and new_skeleton.metres_per_unit is None:
        yield f"the unit: lengths are in {format_unit(old_skeleton.metres_per_unit)}, which the file cannot store"
    if old_skeleton.up is not None and new_skeleton.up is None:
        yield f"which way is up: {old_skeleton.up}, which the file cannot store"


def _count_limits(skeleton: Skeleton) -> int:
    return sum(limit is not None for limit in skeleton.limits)


def _is_freed(old_skeleton: Skeleton, new_skeleton: Skeleton, name: str) -> bool:
    """Return whether a hinge or slide became a ball or free joint."""
    old_kind, new_kind = old_skeleton[name].kind, new_skeleton[name].kind
    return old_kind in (Kind.HINGE, Kind.SLIDE) and new_kind in (Kind.BALL, Kind.FREE)


def _count_extras(skeleton: Skeleton) -> dict[str, int]:
    coupling_count = sum(coupling is not None for coupling in skeleton.couplings)
    return {"coupling": coupling_count, "further name": len(skeleton.aliases), "named chain": len(skeleton.chains)}


def count_meshes(rig: Rig) -> int:
    """Count the meshes of a file. Without a document, count the known skins."""
    document: Any = rig.skeleton.source
    container, meshes_by_link = getattr(document, "container", None), getattr(document, "meshes", None)
    if container is not None:
        return len(container.json.get("meshes", ()))
    if not isinstance(meshes_by_link, Mapping):  # those of MJCF files are shapes of soles and limbs alone
        return len(rig.skins)
    return sum(map(len, meshes_by_link.values()))


def _is_scaled(rig: Rig) -> bool:
    unit_scale = np.eye(3, 4)
    if (np.abs(rig.skeleton.B - unit_scale) > _UNIT_SCALE_TOLERANCE).any():
        return True
    return any(_has_scale_keys(clip) for clip in rig.clips)


def _has_scale_keys(clip: Clip) -> bool:
    tracks: Any = getattr(clip, "tracks", None)
    if tracks is not None:
        return any(
            track.path == "scale" and bool((np.abs(track.values - 1.0) > _UNIT_SCALE_TOLERANCE).any())
            for track in tracks
        )
    return clip.poses.scales is not None and bool((np.abs(clip.poses.scales - 1.0) > _UNIT_SCALE_TOLERANCE).any())


# --- Conversion ------------------------------------------------------------------------------------------------------


Rest = Literal["keep", "zero"]

_METRE_SUFFIXES = (".gltf", ".glb", ".vrm", ".vrma")  # formats with metres as their unit
_STAGE_COUNT = 4  # stages of the progress: reading, converting, writing, checking
_MIN_REPORTED_SHARE = 1e-4  # fraction of the character's size; larger errors at the keys are reported


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

    __repr__ = format_fields

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
    progress: bool | Callable[[int, int, str], None] | None = None,
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
    progress
        As for `solve`. A function is called with the number of stages done, the number of all stages and the name of
        the present one.

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
            check_text(value, option)
    for option, value, allowed_values in (("up", up, ("x", "y", "z")), ("rest", rest, ("zero", "keep"))):
        if value is not None:
            check_choice(value, option, allowed_values)
    writer = find_writer(path)
    with report_progress(progress, "converting", _STAGE_COUNT) as advance:
        advance(0, "reading")
        rig, notes = _load_source(source, include_root)
        advance(1, "converting")
        selected_rig, selection_notes = _select_clip(rig, clip)
        needs_one_root = getattr(writer, "HAS_SINGLE_ROOT", False)
        tree_rig, lost_joints = keep_one_root(selected_rig, root, needs_one_root=needs_one_root)
        placed_rig, unit_notes = _convert_units(tree_rig, path, scale, up)
        is_same_format = selected_rig.path is not None and find_reader(selected_rig.path) is writer
        preserves_document = is_same_format and placed_rig.skeleton.source is selected_rig.skeleton.source
        placed_rig, name_notes = _rename_for_format(placed_rig, writer)
        has_zero_rest = "zero" in getattr(writer, "REST_MODES", ()) and not preserves_document
        resampled_rig, time_notes = _resample_clips(placed_rig, fps)
        advance(1, "writing")
        rest_mode = rest or ("zero" if has_zero_rest else "keep")
        written_files = _write_files(resampled_rig, path, rest_mode, is_per_clip=clip == ALL_CLIPS)
        advance(1, "checking")
        all_notes = [*notes, *selection_notes, *unit_notes, *name_notes, *time_notes]
        return _build_report(written_files, count_meshes(rig), all_notes, lost_joints)


def _load_source(source: str | PathLike[str] | Rig, include_root: str | PathLike[str] | None) -> tuple[Rig, list[str]]:
    if isinstance(source, Rig):
        return source, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoiseWarning)  # they are in the rig's notes
        rig = load(source, include_root=include_root)
    return rig, list(rig.notes)


def _select_clip(rig: Rig, name: str | None) -> tuple[Rig, list[str]]:
    """Select the named clip of a rig, or all."""
    if name is None or name == ALL_CLIPS:
        return rig, []
    clip = rig.clip(name)
    other_names = [other_clip.name for other_clip in rig.clips if other_clip is not clip]
    notes = [f"not written: {join_names(other_names)}"] if other_names else []
    return dataclasses.replace(rig, clips=(clip,)), notes


# --- units and axes --------------------------------------------------------------------------------------------------


def _convert_units(rig: Rig, path: Path, scale: float | None, up: str | None) -> tuple[Rig, list[str]]:
    """Convert a rig to the requested unit and up axis. Return it with notes."""
    if path.suffix.lower() == ".vrma" and scale is None and up is None and not is_vrm_animation(rig.skeleton):
        return _convert_to_animation(rig)
    skeleton, notes = rig.skeleton, list[str]()
    uses_metres, metres_per_unit = path.suffix.lower() in _METRE_SUFFIXES, skeleton.metres_per_unit
    length_factor = 1.0 if scale is None else check_real(scale, "scale")
    if not 0.0 < length_factor < np.inf:
        raise InputError(f"scale must be above zero and finite, not {abbreviate(scale)}")
    if scale is None and uses_metres and metres_per_unit is not None and metres_per_unit != 1.0:
        length_factor, metres_per_unit = metres_per_unit, 1.0
        notes.append(f"lengths were in {format_unit(skeleton.metres_per_unit or 1.0)} and are in metres now")
    elif scale is None and uses_metres and metres_per_unit is None:
        notes.append(
            "the unit is unknown: lengths were kept and count as metres in glTF; use scale 0.01 for centimetres"
        )
    elif scale is not None:
        metres_per_unit = 1.0 if uses_metres else None
    current_up = _find_up_axis(rig, requested=up) if uses_metres or up is not None else skeleton.up
    rotation = rotations.IDENTITY
    if up is not None and current_up != up:
        rotation = compute_axis_rotation(current_up or up, up)
        notes.append(f"rotated: {current_up} was up, {up} is now")
    elif up is None and skeleton.up is None and uses_metres and current_up == "z":
        notes.append("the character stands along z, but y is up in glTF: use up y to rotate it")
    if length_factor == 1.0 and rotation is rotations.IDENTITY:
        return rig, notes  # the source document is preserved
    return change_units(rig, UnitChange(length_factor, rotation, up or skeleton.up, metres_per_unit)), notes


def _convert_to_animation(rig: Rig) -> tuple[Rig, list[str]]:
    """Convert a rig to the unit and axes of a VRM animation. The written file is compared in the same frame then."""
    try:
        length_factor, vrm_from_world, is_guess = find_vrm_frame(rig.skeleton)
    except UnsupportedError:  # the writer reports it, with the file name
        return rig, []
    notes = [f"unit guessed: {length_factor:.4g} m"] if is_guess else []
    rotation = rotations.from_matrix(vrm_from_world)
    if length_factor == 1.0 and np.array_equal(vrm_from_world, np.eye(3)):
        return rig, notes
    if not np.array_equal(vrm_from_world, np.eye(3)):
        notes.append("rotated: y is up now, and the character faces +z")
    return change_units(rig, UnitChange(length_factor, rotation, "y", 1.0)), notes


def _find_up_axis(rig: Rig, requested: str | None) -> str | None:
    """Find the up axis from the file or the legs. InputError if it is unknown and `requested` is given."""
    check_choice(requested or "y", "up", ("x", "y", "z"))
    if rig.skeleton.up is not None:
        return rig.skeleton.up
    legs = find_roles(rig).legs
    if legs:
        return up_of_legs(rig.clips[0] if rig.clips and len(rig.clips[0].times) else rig.rest, legs)
    if requested is not None:
        raise InputError("up: the file has no up axis, and the character has no legs to infer it from")
    return None


def _rename_for_format(rig: Rig, writer: Any) -> tuple[Rig, list[str]]:
    """Rename the joints of a rig for the new file.

    Return it with a note on the changed names.
    """
    if not hasattr(writer, "choose_joint_names"):
        return rig, []
    names, note = writer.choose_joint_names(rig)
    return (rig, []) if names == rig.skeleton.names else (rename_joints(rig, names), [note])


# --- times -----------------------------------------------------------------------------------------------------------


def _resample_clips(rig: Rig, fps: float | None) -> tuple[Rig, list[str]]:
    """Resample clips from time 0 on, at a rate if given."""
    notes: list[str] = []
    clips: list[Clip] = []
    for clip in rig.clips:
        start_time = float(clip.times[0]) if len(clip.times) else 0.0
        if start_time < 0.0:
            notes.append(f"clip {clip.name!r} began at {start_time:g} s and begins at 0 now")
        clips.append(_shift_times(clip, min(start_time, 0.0)))
        if fps is not None and len(clip.times):
            grid = find_frame_grid(clips[-1], fps)
            clips[-1] = Clip.at_rate(clips[-1].at(grid.times), fps, clip.name)
    is_unchanged = all(new is old for new, old in zip(clips, rig.clips, strict=True))
    return (rig if is_unchanged else dataclasses.replace(rig, clips=tuple(clips))), notes


def _shift_times(clip: Clip, start_time: float) -> Clip:
    if start_time == 0.0:
        return clip
    if isinstance(clip, KeyedClip):
        tracks = tuple(track._replace(times=track.times - start_time) for track in clip.tracks)
        return KeyedClip(clip.skeleton, tracks, clip.name)
    return Clip(clip.times - start_time, clip.poses, clip.name)


# --- writing ---------------------------------------------------------------------------------------------------------


class _WrittenFile(NamedTuple):
    """Path of a written file, and its expected rig."""

    path: Path
    expected_rig: Rig


def _write_files(rig: Rig, path: Path, rest: Rest, *, is_per_clip: bool) -> list[_WrittenFile]:
    """Write one file, or one for each clip. Return the written files."""
    try:
        _save_rig(rig, path, rest)
    except UnsupportedError as error:
        if len(rig.clips) < 2 or not is_single_clip_format(path):  # noqa: PLR2004  (selecting a clip would not help)
            raise
        clip_rigs = [dataclasses.replace(rig, clips=(clip,)) for clip in rig.clips]
        if not is_per_clip:
            names = join_names(repr(clip.name) for clip in rig.clips)
            message = f"{path}: it holds one clip: select one by name, or give 'all' for one file per clip: {names}"
            raise UnsupportedError(message) from error
        paths = build_clip_paths(path, [clip.name for clip in rig.clips])
        files = [_WrittenFile(clip_path, clip_rig) for clip_path, clip_rig in zip(paths, clip_rigs, strict=True)]
        for file in files:
            _save_rig(file.expected_rig, file.path, rest)
        return files
    return [_WrittenFile(path, rig)]


def _save_rig(rig: Rig, path: Path, rest: Rest) -> None:
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


def _build_report(
    written_files: list[_WrittenFile], meshes: int, notes: list[str], lost_joints: list[str]
) -> Converted:
    """Build the result by rereading and comparing the written files."""
    rig_pairs = [(expected, _reread_file(path)) for path, expected in written_files]
    clip_pairs = [pair for expected, reread in rig_pairs for pair in _pair_clips(expected, reread)]
    losses = dict.fromkeys(
        [*lost_joints, *(line for expected, reread in rig_pairs for line in find_losses(expected, reread, meshes))]
    )
    missing_names = [clip.name for clip, new_clip in clip_pairs if new_clip is None]
    if missing_names:
        losses[f"clips: {join_names(missing_names)}"] = None
    written_clips = [(clip, new_clip) for clip, new_clip in clip_pairs if new_clip is not None]
    compared_clips = [(clip, new_clip) for clip, new_clip in written_clips if new_clip is not clip]
    off, share, displaced, displaced_error = _measure_errors(compared_clips)
    if displaced and displaced_error:
        label = f"the positions of these joints and their descendants: {join_names(displaced)}"
        losses[f"{label} (off by {displaced_error:.2g} of the character's size at most)"] = None
    if off is not None and share is not None and share > _MIN_REPORTED_SHARE:
        losses[f"exact keys: {off:.3g} off at most ({share:.2g} of the character's size) at the clip's own keys"] = None
    return Converted(
        files=tuple(path for path, _ in written_files),
        clips=tuple(clip.name for clip, _ in written_clips),
        frames=sum(len(new_clip.times) for _, new_clip in written_clips),
        fps=written_clips[0][1].fps if written_clips else 0.0,
        off=off,
        share=share,
        lost=tuple(losses),
        notes=tuple(notes),
    )


def _measure_errors(clip_pairs: list[tuple[Clip, Clip]]) -> tuple[float | None, float | None, list[str], float]:
    """Measure joint errors at the old keys.

    Return the largest error, its fraction of the size, the joints displaced by lost parents, and their fraction.

    Displaced joints are not counted in the first two.
    """
    errors: list[tuple[float, float]] = []
    reported_names, displaced_error = dict[str, None](), 0.0
    for clip, new_clip in clip_pairs:
        first_names, displaced_names = find_displaced_joints(clip, new_clip.skeleton)
        errors.append(
            measure_key_error(clip, new_clip, [name for name in clip.skeleton.names if name not in displaced_names])
        )
        distance, character_size = measure_key_error(clip, new_clip, displaced_names) if displaced_names else (0.0, 1.0)
        if character_size and distance / character_size > _MIN_REPORTED_SHARE:
            reported_names.update(dict.fromkeys(first_names))
            displaced_error = max(displaced_error, distance / character_size)
    off = max((distance for distance, _ in errors), default=None)
    share = max((distance / character_size for distance, character_size in errors if character_size), default=None)
    return off, share, list(reported_names), displaced_error


def _pair_clips(expected: Rig, reread: Rig | None) -> list[tuple[Clip, Clip | None]]:
    """Pair the clips to write with the clips read back. A file of values only pairs a clip with itself."""
    clips = [clip for clip in expected.clips if len(clip.times)]
    reread_clips = clips if reread is None else reread.clips
    return list(zip_longest(clips, reread_clips[: len(clips)]))


def _reread_file(path: Path) -> Rig | None:
    """Read a written file back. None for a file of values without joints."""
    writer: Any = find_writer(path)
    try:
        return writer.read(path) if hasattr(writer, "read") else None
    except PoiseError:  # valid, but not readable by Poise
        return None
