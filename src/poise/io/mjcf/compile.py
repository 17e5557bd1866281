"""MuJoCo as a compiler of MJCF: defaults, angles, frames, ranges."""

from __future__ import annotations

import importlib
import re
import warnings
from pathlib import Path
from typing import Any, NamedTuple

from poise.errors import FileError
from poise.io.files import read_bytes
from poise.io.mjcf.elements import ModelSubset
from poise.io.xml_files import NotWellFormedError

_LINE_NUMBER = re.compile(r",?\s*line (\d+)")
_ELEMENT = re.compile(r"\s*Element (?:name '[^']*'|'[^']*')(, id -?\d+)?")
_DECLARATIONS = re.compile(r"\A\s*(?:<\?xml.*?\?>\s*)+", re.DOTALL)
_MIN_MUJOCO_VERSION = (3, 3)  # the first MuJoCo version with all functions used here


class CompiledModel(NamedTuple):
    """Compiled model, with the ids of bodies of unknown mass. Their shapes were dropped with the meshes."""

    mj: Any
    model: Any
    name: str
    bodies_without_mass: frozenset[int]


def compile_model(path: Path, subset: ModelSubset) -> CompiledModel:
    """Compile a model subset with MuJoCo. FileError with the line of the error."""
    mj = _import_mujoco(path)
    try:
        spec = mj.MjSpec.from_string("\n".join(subset.lines))
        bodies = _delete_meshes(mj, spec)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # MuJoCo warns of simulation problems
            model = spec.compile()
    except (ValueError, TypeError, RuntimeError, MemoryError, mj.FatalError) as error:
        raise _build_error(path, subset, error) from error
    from_shapes = spec.compiler.inertiafromgeom == mj.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    without_mass = {body.id for body in bodies if from_shapes or not body.explicitinertial}
    return CompiledModel(mj, model, str(spec.modelname), frozenset(without_mass))


def report_malformed(error: NotWellFormedError) -> FileError:
    """Test whether MuJoCo reads a malformed file, and report it.

    MuJoCo gets the text after an element of our own, which becomes the root: it parses the text as XML and then stops,
    without opening any file named in the text.
    """
    try:
        mj = _import_mujoco(Path(error.path))
        text = read_bytes(Path(error.path)).decode("utf-8-sig", "replace")
        mj.MjSpec.from_string("<text/>" + _DECLARATIONS.sub("", text))
    except FileError:  # MuJoCo is not installed
        return error
    except (ValueError, TypeError, RuntimeError, MemoryError) as answer:
        if "model type" not in str(answer):
            return error
    reason = f"{error.reason}; MuJoCo reads the file although it is malformed, Poise does not: correct this line"
    return FileError(error.path, reason, place=error.place)


def _import_mujoco(path: Path) -> Any:
    try:
        mj = importlib.import_module("mujoco")
    except ImportError as error:
        message = "MJCF is read with MuJoCo: pip install 'poise[mjcf]'"
        raise FileError(path, message) from error
    version = tuple(int(part) for part in str(mj.__version__).split(".")[:2])
    if version < _MIN_MUJOCO_VERSION:
        message = f"MJCF is read with MuJoCo 3.3 or newer, and {mj.__version__} is here: pip install -U 'poise[mjcf]'"
        raise FileError(path, message)
    return mj


def _delete_meshes(mj: Any, spec: Any) -> list[Any]:
    """Delete mesh shapes and return their bodies."""
    types = mj.mjtGeom
    from_files = (types.mjGEOM_MESH, types.mjGEOM_HFIELD, types.mjGEOM_SDF)
    from_file_geoms = [geom for geom in spec.geoms if geom.type in from_files or geom.meshname]
    bodies = [geom.parent for geom in from_file_geoms]
    for geom in from_file_geoms:
        spec.delete(geom)
    for site in spec.sites:
        if site.type == types.mjGEOM_MESH:  # the site's frame does not depend on its shape; meshes are not read
            site.type = types.mjGEOM_SPHERE
    return bodies


def _build_error(path: Path, subset: ModelSubset, error: Exception) -> FileError:
    """Build the error for a message of MuJoCo. It has one sentence, with the line in the file."""
    text = " ".join(f"{error}".split()) or type(error).__name__
    at = _LINE_NUMBER.search(text)
    text = _ELEMENT.sub("", _LINE_NUMBER.sub("", text)).strip()
    while text.startswith(("Error: ", "XML Error: ")):
        text = text.split(": ", 1)[1]
    line = int(at.group(1)) if at else 0
    element = subset.elements[line - 1] if 0 < line <= len(subset.elements) else None
    if element is None:
        return FileError(path, f"MuJoCo cannot read it: {text[:200]}")
    name = element.attributes.get("name", "")
    label = f"<{element.tag}>" + (f" {name!r}" if name else "")
    return FileError(element.path, f"{label}: {text[:200]}", place=f"line {element.line}")
