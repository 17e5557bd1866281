"""Input and output files of commands: loading, saving, conflicts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Annotated

import typer

from poise.cli.terminal import say
from poise.errors import FileError, InputError, PoiseError, UnsupportedError
from poise.io import registry
from poise.io.files import resolve_target
from poise.io.registry import read_rig
from poise.io.sidecar import apply_sidecar
from poise.model.clip import Clip
from poise.model.rig import Rig, Saveable

IncludeRoot = Annotated[
    Path | None,
    typer.Option("--include-root", metavar="DIR", help="another folder permitted for MJCF includes and USD layers"),
]


def load_rig(
    file: Path, limits: Path | None = None, *, no_limits: bool = False, include_root: Path | None = None
) -> Rig:
    """Load a rig and print its notes on standard error."""
    rig = registry.load(file, include_root=include_root)
    for note in rig.notes:
        say(f"note: {note}", err=True)
    return apply_limits(rig, limits, no_limits=no_limits)


def apply_limits(rig: Rig, limits: Path | None, *, no_limits: bool) -> Rig:
    """Apply the limits of the rig, of a sidecar, or none."""
    if no_limits and limits is not None:
        raise InputError("give --limits FILE or --no-limits, not both")
    skeleton = rig.skeleton
    if no_limits:
        return rig.with_skeleton(
            skeleton.with_limits(
                {name: None for name, limit in zip(skeleton.names, skeleton.limits, strict=True) if limit}
            )
        )
    return rig if limits is None else rig.with_skeleton(apply_sidecar(skeleton, limits))


# --- Checks of output paths before any work --------------------------------------------------------------------------


TABLE_SUFFIXES = (".csv", ".npy")
_PICTURE_SUFFIXES = (".png", ".svg", ".pdf", ".jpg", ".jpeg")
_POSELESS_SUFFIXES = (".urdf",)


def check_pose_path(path: Path, source: Path | None) -> None:
    """Check the path of a pose file. Its format holds poses, its folder is writable, and it is not the source file."""
    if path.suffix.lower() in _PICTURE_SUFFIXES:
        raise InputError(
            f"{path}: a pose is written to a file of a rig, such as posed.glb; --plot {path} draws a picture"
        )
    registry.find_writer(path)
    if path.suffix.lower() in _POSELESS_SUFFIXES:
        raise UnsupportedError(f"{path}: a URDF file holds no pose; write joint values to a .json or .csv file")
    check_writable(path)
    check_overwrites_no_input({"--out": path}, {"FILE": source})


def save_with_note(content: Saveable, path: Path, rig: Rig) -> None:
    """Write a pose or clips of a rig.

    A note on standard error lists the closed loops if the format cannot hold them.
    """
    registry.save(content, path, like=rig)
    loss_note = registry.describe_lost_loops(rig.skeleton, path)
    if loss_note:
        say(f"note: {path}: {loss_note}", err=True)


def check_picture_path(path: Path) -> None:
    """Check the path of a picture."""
    from poise import plot  # noqa: PLC0415  (imports the ground package)

    if path.suffix.lower() not in plot.SUFFIXES:
        raise InputError(f"cannot draw to {path.name!r}: the name of a picture ends with {', '.join(plot.SUFFIXES)}")
    check_writable(path)


def check_table_path(path: Path) -> None:
    """Check the path of a table."""
    if path.suffix.lower() not in TABLE_SUFFIXES:
        raise FileError(path, "a table is written as .csv, or as .npy with q only")
    check_writable(path)


def check_writable(path: Path) -> None:
    """Check the folder of a new file. Links are followed.

    The folder must exist and be writable.
    """
    folder = resolve_target(path).parent
    if not folder.is_dir():
        raise FileError(path, f"cannot write here: there is no folder {str(folder)!r}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FileError(path, f"cannot write here: the folder {str(folder)!r} takes no files")


def check_distinct_outputs(paths_by_option: Mapping[str, Iterable[Path | None]]) -> None:
    """Check for two options with the same output file.

    Paths are compared without case, as on case-insensitive systems.

    Parameters
    ----------
    paths_by_option
        The files of each option, None where it is unset. One option may repeat a file.
    """
    option_by_path: dict[str, str] = {}
    for option, paths in paths_by_option.items():
        for path in filter(None, paths):
            # Path.resolve() fails for cyclic links
            other_option = option_by_path.setdefault(os.path.realpath(path).casefold(), option)
            if other_option != option:
                raise InputError(f"{other_option} and {option} would both write {path}: give two files")


def check_overwrites_no_input(
    outputs_by_option: Mapping[str, Path | None], inputs_by_option: Mapping[str, Path | None]
) -> None:
    """Check for outputs over an input file. Unset options are None."""
    for output_option, output in outputs_by_option.items():
        for input_option, input_path in inputs_by_option.items():
            if output is not None and input_path is not None and is_same_file(output, input_path):
                raise InputError(
                    f"{output_option} would write over {output}, which {input_option} reads: give another file"
                )


def is_same_file(first: Path, second: Path) -> bool:
    """Return whether two paths are the same existing file."""
    try:
        return first.samefile(second)
    except OSError:
        return False


# --- Clips of a command: selection, output files, name conflicts -----------------------------------------------------


ClipOption = Annotated[
    str | None,
    typer.Option("--clip", metavar="NAME", help="name of the clip, if the file has several; all: every clip"),
]


def select_clip(rig: Rig, clip_name: str | None, option: str = "--every-frame") -> Clip:
    """Select the named clip, or the only one. InputError lists the clips."""
    if clip_name is not None:
        return rig.clip(clip_name)
    if not rig.clips:
        raise InputError(f"{option} needs a clip, and there is none in this file")
    if len(rig.clips) != 1:
        names = ", ".join(repr(clip.name) for clip in rig.clips)
        raise InputError(f"{option} needs --clip NAME: this file has {len(rig.clips)} clips: {names}")
    return rig.clips[0]


def check_animated(rig: Rig, file: Path, command: str) -> None:
    """Raise FileError for a file without a frame of animation."""
    if not any(len(clip) for clip in rig.clips):
        raise FileError(file, f"holds no animation: there is nothing to {command}")


def reject_all_clips(clip_name: str | None, reason: str) -> None:
    """Raise InputError for `--clip all` where one clip is needed."""
    if clip_name == registry.ALL_CLIPS:
        raise InputError(f"--clip all: {reason}; give --clip NAME")


# --- Output files of `--clip all`: checks, names, writing ------------------------------------------------------------


def list_output_paths(out: Path, clips: Sequence[Clip]) -> list[Path]:
    """List the output file of each clip. Formats of several clips share one file."""
    names = [clip.name for clip in clips]
    return registry.build_clip_paths(out, names) if registry.is_single_clip_format(out) else [out] * len(names)


def find_free_names(names: Sequence[str], out: Path | None, rig: Rig) -> list[str]:
    """Find unused clip names for a new file. A file with an old walk gets walk_1."""
    if out is None or registry.is_single_clip_format(out):
        return list(names)
    used_names = {clip.name for clip in rig.clips} if _is_document_preserved(rig, out) else set[str]()
    free_names: list[str] = []
    for name in names:
        numbered_names = (f"{name}_{i}" for i in count(1))
        free_names.append(next(candidate for candidate in chain([name], numbered_names) if candidate not in used_names))
        used_names.add(free_names[-1])
    return free_names


def _is_document_preserved(rig: Rig, out: Path) -> bool:
    """Return whether the source document is preserved in a new file."""
    return rig.path is not None and registry.find_reader(rig.path) is registry.find_writer(out)


def save_clips(clip_files: Sequence[tuple[Clip, Path]], rig: Rig) -> None:
    """Write each clip into its file.

    Clips of one file are written together, with the old ones if the document is preserved.
    """
    for out in dict.fromkeys(path for _, path in clip_files):
        clips = [clip for clip, path in clip_files if path == out]
        if len(clips) == 1:
            save_with_note(clips[0], out, rig)
            continue
        source_clips = rig.clips if _is_document_preserved(rig, out) else ()
        merged_rig = Rig(rig.skeleton, rig.pose, (*source_clips, *clips), rig.skins, rig.humanoid)
        save_with_note(merged_rig, out, rig)


# --- Output conflicts of `--clip all` with many files ----------------------------------------------------------------


def check_batch_outputs(file_pairs: Sequence[tuple[Path, Path]], *, overwrite: bool) -> None:
    """Check a batch with `--clip all` for output conflicts.

    A conflict is a file written twice, or an existing file overwritten.

    Clip names are in the files. Only files with possible conflicts are read: outputs named A and A_B, or an existing
    file A_B.
    """
    single_clip_pairs = [(file, out) for file, out in file_pairs if registry.is_single_clip_format(out)]
    similar_keys = _find_similar_outputs([out for _, out in single_clip_pairs])
    inputs_by_output: dict[str, Path] = {}
    for file, out in single_clip_pairs:
        for path in _list_file_outputs(file, out) if _build_name_key(out) in similar_keys else [out]:
            other_file = inputs_by_output.setdefault(str(path).casefold(), file)
            if other_file is not file:
                raise InputError(
                    f"{other_file} and {file} would both be written to {path}: rename one, or process them separately"
                )
            if path.exists() and not overwrite:
                raise InputError(f"this output exists: {path}; --overwrite replaces it")


def _build_name_key(out: Path) -> tuple[str, str]:
    return str(out.parent), out.stem.casefold()


def _find_similar_outputs(outputs: Sequence[Path]) -> set[tuple[str, str]]:
    """Find outputs with a common name prefix. They are compared with each other and with existing files."""
    keys = {_build_name_key(out) for out in outputs}
    existing_keys = {
        _build_name_key(path)
        for folder in {out.parent for out in outputs}
        if folder.is_dir()
        for path in folder.iterdir()
    }
    similar_keys: set[tuple[str, str]] = set()
    for folder, stem in keys | existing_keys:
        prefix_keys = {(folder, stem[:i]) for i, letter in enumerate(stem) if letter == "_"} & keys
        similar_keys |= prefix_keys
        if prefix_keys:
            similar_keys.add((folder, stem))
    return similar_keys & keys


def _list_file_outputs(file: Path, out: Path) -> list[Path]:
    try:
        return list_output_paths(out, read_rig(file).clips)
    except PoiseError:  # reported when the file is processed
        return [out]
