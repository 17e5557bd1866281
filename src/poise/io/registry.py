"""Format registry: `load` and `save` choose a format by file suffix.

The formats are the modules of the folder `formats/`.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import os
import pkgutil
import re
import warnings
from collections.abc import Sequence
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Protocol

from poise.calls.argument_checks import check_choice
from poise.calls.old_names import accept_old_keywords
from poise.errors import FileError, InputError, PoiseWarning, UnsupportedError, join_names, prefix_file_name
from poise.io import formats as formats_folder
from poise.io.files import as_path, build_sidecar_path, is_file, is_folder, suggest_similar_paths
from poise.maths.arrays import abbreviate
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig, Saveable
from poise.model.skeleton import Skeleton

_UNSUPPORTED_MESSAGE = "{} files are not supported yet; {}"
_BLENDER_HINT = "save it as .glb with Blender (File > Import, then File > Export > glTF 2.0)"
_URDF_HINT = "take the URDF of the same robot, which most makers and robot_descriptions have"
_XACRO_HINT = "write out the URDF first: xacro robot.urdf.xacro > robot.urdf"
_MARKERS_MESSAGE = (
    "a {} file holds markers and no skeleton: read it with poise.load_markers(); save poses as .glb, .bvh or .json"
)
MARKER_FORMATS = {".c3d": "C3D", ".trc": "TRC"}

# Suffixes without a format module, and a hint for each. A format that is only read, or only written, has its own hint
# in `UNSUPPORTED_HINT`.
UNSUPPORTED_SUFFIXES = {
    **{suffix: _MARKERS_MESSAGE.format(name) for suffix, name in MARKER_FORMATS.items()},
    ".srdf": "an SRDF is read beside the URDF of the same name: load that one",
    ".dae": _UNSUPPORTED_MESSAGE.format("COLLADA", _BLENDER_HINT),
    ".blend": _UNSUPPORTED_MESSAGE.format("Blender", _BLENDER_HINT),
    ".sdf": _UNSUPPORTED_MESSAGE.format("SDF", _URDF_HINT),
    ".xacro": _UNSUPPORTED_MESSAGE.format("xacro", _XACRO_HINT),
}
_PARTICIPLE_BY_OPERATION = {"read": "read", "write": "written"}


class Format(Protocol):
    """Interface of a file format module.

    Attributes
    ----------
    NAME
        Name of the format.
    SUFFIXES
        Suffixes of its files, with the dot.

    Notes
    -----
    Optional attributes: `REST_MODES = ("keep", "zero")` if zero rotations can be the rest pose of its files; `write`
    then takes `rest`, see `poise.save`. `HAS_SINGLE_ROOT = True` if its files hold one tree of joints,
    `HAS_SINGLE_CLIP = True` if they hold one clip. `choose_joint_names(rig)` if its files cannot hold every joint name:
    it returns the names in the file, and a sentence on the changed ones. `HAS_INCLUDES = True` if its files include
    others; `read` then takes `include_root`, see `poise.load`. A read-only format has no `write`, a write-only format
    no `read`, and `UNSUPPORTED_HINT` is the hint for the user. If other files have the same suffix,
    `describe_other_content(path)` describes the content of such a file.
    """

    NAME: str
    SUFFIXES: tuple[str, ...]

    @staticmethod
    def read(path: Path) -> Rig:
        """Read a file."""
        ...

    @staticmethod
    def write(content: Saveable, path: Path, source_skeleton: Skeleton, /) -> None:
        """Write a rig, clip or pose. `source_skeleton.source` is the document to keep, if it is of this format."""
        ...


def _import_same_name(suffix: str) -> Any:
    """Import the format module named like the suffix.

    Return None unless it reads or writes such files; the other modules need no import then.
    """
    name = suffix.removeprefix(".")
    if not name.isidentifier() or importlib.util.find_spec(f"poise.io.formats.{name}") is None:
        return None
    module = importlib.import_module(f"poise.io.formats.{name}")
    return module if suffix in getattr(module, "SUFFIXES", ()) else None


def _find_format(suffix: str) -> Any:
    """Find the format module with a suffix. Modules are imported until one has it.

    Modules with the same first letter come first, such as `gltf` for `.glb`: the order only saves imports.
    """
    names = sorted(_list_format_names(), key=lambda name: name[0] != suffix[1:2])
    modules = (importlib.import_module(f"poise.io.formats.{name}") for name in names)
    return next((module for module in modules if suffix in module.SUFFIXES), None)


def _list_format_names() -> list[str]:
    return [module.name for module in pkgutil.iter_modules(formats_folder.__path__)]


@cache
def list_formats() -> dict[str, Any]:
    """Map every suffix to its format module. The folder `io/formats/` is the registry."""
    modules = [importlib.import_module(f"poise.io.formats.{name}") for name in _list_format_names()]
    return {suffix: module for module in modules for suffix in module.SUFFIXES}


def load(path: str | PathLike[str], *, include_root: str | PathLike[str] | None = None) -> Rig:
    """Read a rig from a file. The suffix gives the format: glTF, VRM, BVH, FBX, USD, URDF, MJCF, ASF/AMC ...

    Parameters
    ----------
    path
        The file. A sidecar `<rig>.ik.toml` beside it adds chains, hinge axes, ranges and roles.
    include_root
        A folder with files that may be included, also from below it: includes of MJCF, layers of USD. By default only
        files of the rig's own folder are; others are refused unopened. Symbolic links out of the folder are refused.

    Returns
    -------
    Rig
        Content of the file. Repairs and ignored content give warnings (PoiseWarning) and are listed in `Rig.notes`.

    Raises
    ------
    FileError
        For a file that is missing, broken or of an unsupported format.
    InputError
        For an `include_root` other than a folder.
    """
    path = as_path(path)
    rig = read_rig(path, include_root=check_include_root(include_root))
    for note in rig.notes:
        warnings.warn(f"{path}: {note}", PoiseWarning, stacklevel=2)
    return rig


def read_rig(path: Path, *, include_root: Path | None = None) -> Rig:
    """Read a rig as `load` does, without warnings. The notes stay in `Rig.notes`.

    Parameters
    ----------
    path
        The file.
    include_root
        A folder with files that may be included, besides the file's own.
    """
    _check_exists(path)
    _check_content(path)
    module = find_reader(path)
    include_options = {"include_root": include_root} if getattr(module, "HAS_INCLUDES", False) else {}
    rig: Rig = module.read(path, **include_options)
    sidecar = build_sidecar_path(path)
    return _apply_sidecar_file(rig, sidecar) if is_file(sidecar) else rig


def _apply_sidecar_file(rig: Rig, path: Path) -> Rig:
    """Apply a sidecar to a rig. Its roles replace the file's for the same role or joint."""
    from poise.io.sidecar import apply_sidecar, read_roles  # noqa: PLC0415  (few rigs have one)

    skeleton, roles = apply_sidecar(rig.skeleton, path), read_roles(rig.skeleton, path)
    file_roles = {role: joint for role, joint in rig.humanoid.items() if joint not in roles.values()}
    rig = rig.with_skeleton(dataclasses.replace(skeleton, roles=file_roles | roles))
    return dataclasses.replace(rig, humanoid=file_roles | roles, sidecar_roles=frozenset(roles))


@accept_old_keywords(thing="content")
def save(
    content: Saveable,
    path: str | PathLike[str],
    *,
    like: Rig | Skeleton | None = None,
    rest: Literal["keep", "zero"] = "keep",
) -> None:
    """Write a rig, a clip or a pose. The suffix gives the format.

    Parameters
    ----------
    content
        The rig, clip or pose.
    path
        The file. Its bytes are first read back in memory and written under a temporary name: the file is complete and
        loads again, or it does not exist.
    like
        A rig whose source document is kept. By default the skeleton's own source document is kept, and only changes are
        written; without either, a bare skeleton is written.
    rest
        For BVH from a rig of another format. `"keep"`: the joints' own frames, in which zero rotation is seldom the
        rest pose. `"zero"`: frames in which it is, as Blender and MotionBuilder expect; joint positions stay the same,
        and each joint frame differs by a constant rotation. A source BVH file keeps its frames.

    Raises
    ------
    FileError
        For an unknown suffix, or a folder that cannot be written to.
    UnsupportedError
        For content that the format cannot hold, or that could not be loaded again.
    InputError
        For anything but a rig, a clip or a pose, and for an unknown value of `rest`.
    """
    if not isinstance(content, Rig | Clip | Pose):
        raise InputError(f"save() writes a Rig, Clip or Pose, such as result.pose, not {_describe_type(content)}")
    if not (like is None or isinstance(like, Rig | Skeleton)):
        raise InputError(f"like must be a Rig or a Skeleton, not {_describe_type(like)}")
    path = as_path(path)
    skeleton = like.skeleton if isinstance(like, Rig) else like or content.skeleton
    check_choice(rest, "rest", ("keep", "zero"))
    module = find_writer(path)
    with prefix_file_name(path):
        if rest == "keep":
            module.write(content, path, skeleton)
        elif rest in getattr(module, "REST_MODES", ()):
            module.write(content, path, skeleton, rest=rest)
        else:
            raise UnsupportedError(
                f"rest={rest!r} is for BVH files; {module.NAME} files keep the rest pose of their joints"
            )
    message = describe_lost_loops(skeleton, path)
    if message:
        warnings.warn(f"{path}: {message}", PoiseWarning, stacklevel=2)


def describe_lost_loops(skeleton: Skeleton, path: Path) -> str:
    """Describe the closed loops lost in a format.

    Empty where none is lost.

    Write-only formats hold numbers for a rig in another file.
    """
    module = find_writer(path)
    if not skeleton.loops or not hasattr(module, "read"):
        return ""
    return f"{module.NAME} has no closed loops; lost are: {join_names([loop.name for loop in skeleton.loops])}"


def _describe_type(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def find_reader(path: Path) -> Any:
    """Find the reading module for a path. FileError if there is none."""
    return _find_module(path, "read")


def find_writer(path: Path) -> Any:
    """Find the writing module for a path. FileError if there is none."""
    return _find_module(path, "write")


def _check_exists(path: Path) -> None:
    """Raise FileError for a path without a file.

    It names similar files beside it.
    """
    try:
        path.lstat()
    except FileNotFoundError as error:
        readable = {suffix for suffix, module in list_formats().items() if hasattr(module, "read")}
        hint = suggest_similar_paths(path, readable)
        if hint or path.suffix.lower() in readable:  # otherwise the suffix is wrong
            raise FileError(path, f"{error.strerror}{hint}") from error
    except (OSError, ValueError):
        return  # the reader explains it


def _check_content(path: Path) -> None:
    """Raise FileError for other content under a shared suffix. The message describes the content."""
    suffix = path.suffix.lower()
    module = _import_same_name(suffix) or _find_format(suffix)
    describe_other_content = getattr(module, "describe_other_content", None)
    if describe_other_content is not None and is_file(path) and (content := describe_other_content(path)):
        raise FileError(path, content)


def check_include_root(path: Any) -> Path | None:
    """Check the argument `include_root`. Return the folder or None.

    InputError for a path without a folder.
    """
    if path is None:
        return None
    if not isinstance(path, str | PathLike):
        raise InputError(f"include_root is the path of a folder, not {abbreviate(path)}")
    folder = Path(path)
    if not os.path.isdir(folder):  # noqa: PTH112  (a name that is too long, or holds a NUL, raises nothing)
        raise InputError(
            f"include_root is a folder with files that may be included, and {abbreviate(str(folder))} is none"
        )
    return folder


def _find_module(path: Path, operation: str) -> Any:
    suffix = path.suffix.lower()
    module = _import_same_name(suffix) or _find_format(suffix)
    if module is not None and hasattr(module, operation):
        return module
    if suffix in UNSUPPORTED_SUFFIXES:
        raise FileError(path, UNSUPPORTED_SUFFIXES[suffix])
    if module is not None and hasattr(module, "UNSUPPORTED_HINT"):
        capability = "read, not written" if operation == "write" else "written, not loaded"
        raise FileError(path, f"{module.NAME} files are {capability}; {module.UNSUPPORTED_HINT}")
    suffixes = ", ".join(sorted(s for s, m in list_formats().items() if hasattr(m, operation)))
    if is_folder(path):
        raise FileError(
            path, f"is a folder, not a file; files that can be {_PARTICIPLE_BY_OPERATION[operation]}: {suffixes}"
        )
    label = f"files named {suffix!r}" if suffix else "a file without a suffix"
    label += _suggest_suffix(
        suffix, [known_suffix for known_suffix, module in list_formats().items() if hasattr(module, operation)]
    )
    marker_text = (
        f"; markers, by poise info and poise.load_markers(): {', '.join(MARKER_FORMATS)}" if operation == "read" else ""
    )
    raise FileError(path, f"cannot {operation} {label}; known: {suffixes}{marker_text}")


def _suggest_suffix(suffix: str, known: list[str]) -> str:
    """Suggest known suffixes similar to a wrong one.

    Empty where none is similar.
    """
    import difflib  # noqa: PLC0415  (loaded only after a mistyped suffix)

    matches = difflib.get_close_matches(suffix, known, n=2, cutoff=0.7)
    return f" (did you mean {' or '.join(matches)}?)" if matches else ""


# --- File names of single clips, for formats with one clip per file --------------------------------------------------
#
# Reports, pictures and contact files are named alike.


ALL_CLIPS = "all"  # in place of a clip name: every clip
_MAX_NAME_BYTES = 200  # bytes of a file name: systems allow 255, and temporary names are longer
_FORBIDDEN_CHARACTERS = re.compile(r'[\x00-\x1f<>:"/\\|?*\ud800-\udfff]')


def is_single_clip_format(path: Path) -> bool:
    """Return whether a format holds one clip only. FileError for a format without writer."""
    module: Any = find_writer(path)
    return bool(getattr(module, "HAS_SINGLE_CLIP", False))


def build_clip_paths(path: Path, names: Sequence[str]) -> list[Path]:
    """Build the file path of each clip. It is `path` itself for one clip, else NAME_CLIP.bvh.

    Characters not allowed in file names become underscores, too long names are cut, and clips of equal names (ignoring
    case) get a number.
    """
    if len(names) == 1:
        return [path]
    used_names: set[str] = set()
    paths: list[Path] = []
    for raw_name in names:
        clip_name = _shorten_name(_FORBIDDEN_CHARACTERS.sub("_", raw_name), path).strip(". ") or "clip"
        name, copy_number = f"{path.stem}_{clip_name}", 0
        while name.casefold() in used_names:
            copy_number += 1
            name = f"{path.stem}_{clip_name}_{copy_number}"
        used_names.add(name.casefold())
        paths.append(path.with_name(name + path.suffix))
    return paths


def _shorten_name(name: str, path: Path) -> str:
    """Shorten a clip name to the free file name length."""
    max_bytes = max(_MAX_NAME_BYTES - len(os.fsencode(path.name)), 1)
    return name.encode()[:max_bytes].decode(errors="ignore")
