"""MJCF files: include expansion, kinematic subset and compilation by MuJoCo.

As in MuJoCo 4, a path is relative to the folder of the main file or, if nothing is there, to that of the including
file; a file is included once.
"""

from __future__ import annotations

import importlib
import os
import re
import warnings
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from poise.errors import FileError
from poise.io.files import guess_file_type, read_bytes
from poise.io.mjcf_meshes import name_mesh
from poise.io.permitted_folders import PermittedFolders
from poise.io.text_parsing import (
    MAX_NAME_LENGTH,
    MAX_NUMBER,
    Element,
    NotWellFormedError,
    is_number,
    quote_excerpt,
    read_xml_tree,
)
from poise.maths.arrays import Floats

MAX_DEPTH = 400  # nesting levels; MuJoCo's own limit is 500
_MAX_ELEMENTS = 200_000  # elements of all files together
_MAX_FILES = 1000
_MAX_PATH_CHARS = 1024  # characters of a path, which a message quotes
_ROOT_HINTS = {
    "robot": "it is a URDF file: rename it to end in .urdf",
    "sdf": "it is an SDF file: take the URDF of the same robot",
    "COLLADA": "it is a COLLADA file: rename it to end in .dae",
    "OpenSimDocument": "it is an OpenSim model: rename it to end in .osim",
    "mujocoinclude": "it is a part of a model: read the file that includes it",
}


class ExpandedFile(NamedTuple):
    """The <mujoco> element with includes expanded, and notes.

    A note names an <include> with two possible files.
    """

    root: Element
    notes: list[str]


def read_expanded(path: Path, data: bytes, include_root: Path | None = None) -> ExpandedFile:
    """Read the <mujoco> element and expand every <include>.

    Parameters
    ----------
    path, data
        The main file.
    include_root
        A folder of permitted includes, besides that of the main file.
    """
    file_type = guess_file_type(data)
    if file_type and "XML" not in file_type:
        raise FileError(path, f"not an MJCF file; this looks like {file_type}")
    root = read_xml_tree(path, data, max_depth=MAX_DEPTH, max_elements=_MAX_ELEMENTS)
    if root.tag != "mujoco":
        hint = _ROOT_HINTS.get(root.tag, "a robot for MuJoCo begins with <mujoco>; read a URDF under the suffix .urdf")
        raise FileError(path, f"not an MJCF file: its root element is <{quote_excerpt(root.tag)[1:-1]}>; {hint}")
    resolver = _IncludeResolver(path, root, include_root)
    resolver.resolve()
    return ExpandedFile(root, resolver.notes)


class _IncludeResolver:
    def __init__(self, path: Path, root: Element, include_root: Path | None) -> None:
        self.folder = path.parent
        self.permitted_folders = PermittedFolders.from_path(path, include_root)
        self.root = root
        self.remaining_elements = _MAX_ELEMENTS
        self.included_paths = {path.resolve()}
        self.notes: list[str] = []

    def resolve(self) -> None:
        """Expand all includes, without recursion."""
        open_elements = [self.root]
        while open_elements:
            element = open_elements.pop()
            pending_children = deque(element.children)
            element.children = []
            while pending_children:
                child = pending_children.popleft()
                if child.tag == "include":
                    pending_children.extendleft(reversed(self._read_included(child).children))
                    continue
                self.remaining_elements -= 1
                if self.remaining_elements < 0:
                    child.fail(f"more than {_MAX_ELEMENTS} elements in all files together")
                element.children.append(child)
                open_elements.append(child)

    def _read_included(self, element: Element) -> Element:
        name = element.attributes.get("file", "")
        if not name:
            element.fail("<include> names no file")
        if element.children:
            element.fail("<include> has elements of its own; MuJoCo takes none there")
        target = self._find_file(element, name)
        if target in self.included_paths:
            element.fail(f"{quote_excerpt(name)} is included a second time; MuJoCo includes a file once")
        if len(self.included_paths) > _MAX_FILES:
            element.fail(f"more than {_MAX_FILES} files are included")
        self.included_paths.add(target)
        try:
            data = read_bytes(target)
        except FileError as error:
            raise FileError(element.path, f"<include>: {error}", place=f"line {element.line}") from error
        root = read_xml_tree(target, data, max_depth=MAX_DEPTH, max_elements=self.remaining_elements)
        if root.tag in _ROOT_HINTS and root.tag != "mujocoinclude":
            element.fail(f"{quote_excerpt(name)} is not MJCF: its root element is <{quote_excerpt(root.tag)[1:-1]}>")
        if not root.children:
            element.fail(f"{quote_excerpt(name)} holds no elements; MuJoCo includes at least one")
        return root

    def _find_file(self, element: Element, name: str) -> Path:
        """Find the file of an <include>.

        The folder of the main file is searched first, then that of the including file.
        """
        if len(name) > _MAX_PATH_CHARS or "\0" in name:
            element.fail(f"<include>: {quote_excerpt(name)} is not the path of a file")
        candidates = self._list_candidates(element, name)
        permitted_paths = [target for target in candidates if self.permitted_folders.contains(target)]
        path = next((target for target in permitted_paths if os.path.exists(target)), None)  # noqa: PTH110  (never raises)
        if path is None and len(permitted_paths) < len(candidates):
            element.fail(f"<include>: {self.permitted_folders.format_refusal(quote_excerpt(name))}")
        if path is None:
            element.fail(
                f"<include>: there is no file {quote_excerpt(name)}, neither from the main file's folder nor from here"
            )
        if candidates[0] not in permitted_paths:
            self.notes.append(
                f"{quote_excerpt(name)} was included from the folder of {element.path.name}; the same path from "
                "the main file "
                "leads out of its folder and was not used"
            )
        return path

    def _list_candidates(self, element: Element, name: str) -> list[Path]:
        """List the possible files of an <include> in MuJoCo's order.

        MuJoCo treats a backslash as a slash on every system.
        """
        try:
            return [(folder / name.replace("\\", "/")).resolve() for folder in (self.folder, element.path.parent)]
        except (OSError, RuntimeError) as error:  # a loop of symbolic links
            element.fail(f"<include>: {quote_excerpt(name)} cannot be resolved: {error}")


# --- Kinematic subset of an MJCF file: bodies, joints and sites ------------------------------------------------------
#
# MuJoCo gets nothing else, and no file name.
#
# Textures, actuators, tendons, sensors and options are omitted, and of meshes all but names and scales, so a model
# reads without its assets. Every used number is checked, because MuJoCo accepts NaN and overflowing numbers.


_MAX_COUNT_DIGITS = 15  # digits of a count; int() rejects some thousands
_MAX_JOINTS = 10_000  # maximum number of bodies, joints and sites, with the copies of <replicate>
_MAX_MESHES = 2_000  # maximum number of meshes: MuJoCo takes 2 ms for each of so many to be left out

_LOOP_TAGS = ("connect", "weld")
_BODY_TAGS = {"worldbody", "body", "frame", "replicate"}
_KEPT_TAGS = {
    "mujoco": {"compiler", "default", "asset", "worldbody", "equality", "keyframe"},
    "asset": {"mesh"},
    "body": {"body", "frame", "replicate", "joint", "freejoint", "geom", "site", "inertial"},
    "default": {"default", "joint", "geom", "site", "equality", "mesh"},
    "equality": {"joint", "connect", "weld"},
    "keyframe": {"key"},
}

# Tags omitted without a note: they do not affect kinematics.
_IGNORED_TAGS = {
    "mujoco": {
        "option", "size", "visual", "statistic", "deformable", "contact", "tendon", "actuator", "sensor",
        "custom", "extension",
    },
    "asset": {"texture", "material", "hfield", "skin", "model", "plugin"},
    "body": {"camera", "light", "plugin"},
    "default": {
        "material", "camera", "light", "pair", "tendon", "general", "motor", "position", "velocity",
        "intvelocity", "damper", "cylinder", "muscle", "adhesion", "plugin", "dcmotor",
    },
    "keyframe": set[str](),
}  # fmt: skip

# Attributes of the kept elements: text for MuJoCo, and numbers, which are checked here. Attributes in neither table are
# omitted if they are in `_UNUSED_ATTRIBUTES`; MuJoCo reads or rejects all others.
_POSE_ATTRIBUTES = {"pos", "quat", "axisangle", "euler", "xyaxes", "zaxis"}
_TEXT_ATTRIBUTES = {
    "compiler": {"angle", "autolimits", "eulerseq", "inertiafromgeom"},
    "default": {"class"},
    "body": {"name", "childclass", "mocap"},
    "frame": {"name", "childclass"},
    "replicate": {"sep"},
    "connect": {"name", "class", "active", "body1", "body2", "site1", "site2"},
    "weld": {"name", "class", "active", "body1", "body2", "site1", "site2"},
    "equality": {"active"},  # of defaults
    "joint": {"name", "class", "type", "limited", "joint1", "joint2", "active"},
    "freejoint": {"name", "align"},
    "geom": {"name", "class", "type", "mesh", "hfield", "shellinertia"},
    "site": {"name", "class", "type"},
    "key": {"name"},
    "mesh": {"name", "class"},
}
_NUMBER_ATTRIBUTES = {
    "compiler": {"inertiagrouprange"},
    "body": _POSE_ATTRIBUTES,
    "frame": _POSE_ATTRIBUTES,
    "replicate": {"count", "offset", "euler"},
    "connect": {"anchor"},
    "weld": {"anchor", "relpose", "torquescale"},
    "joint": {"pos", "axis", "range", "ref", "polycoef"},
    "geom": _POSE_ATTRIBUTES | {"size", "fromto", "mass", "density", "contype", "conaffinity", "group"},
    "site": _POSE_ATTRIBUTES | {"size", "fromto"},
    "inertial": _POSE_ATTRIBUTES | {"mass", "diaginertia", "fullinertia"},
    "key": {"qpos"},
    "mesh": {"scale", "refpos", "refquat", "vertex"},
}
# Attributes without effect on kinematics, for simulation or display only.
_CONTACT_ATTRIBUTES = {"solimp", "solref", "margin", "gap", "friction", "condim", "priority", "solmix"}
_LOOK_ATTRIBUTES = {"material", "rgba", "user"}
_UNUSED_ATTRIBUTES = {
    "connect": {"solimp", "solref"},
    "weld": {"solimp", "solref"},
    "equality": {"solimp", "solref"},  # of defaults
    "body": {"gravcomp", "sleep", "fuse", "simple", "user"},
    "joint": {
        "group", "user", "armature", "damping", "frictionloss", "margin", "solimp", "solref", "solimpfriction",
        "solimplimit", "solreffriction", "solreflimit", "springdamper", "springref", "springyield", "stiffness",
        "actuatorfrclimited", "actuatorfrcrange", "actuatorgravcomp",
    },
    "freejoint": {"group"},
    "geom": _CONTACT_ATTRIBUTES | _LOOK_ATTRIBUTES | {
        "adhesion", "castshadow", "fitscale", "fluidcoef", "fluidshape", "plugin", "surfacevel",
    },
    "site": _LOOK_ATTRIBUTES | {"group", "mesh"},
    "key": {"act", "ctrl", "mpos", "mquat", "plastic", "qvel", "time"},
}  # fmt: skip
# Masses and armatures required by MuJoCo for simulation.
_MODEL_HEADER = (
    '<mujoco><compiler boundmass="1e-12" boundinertia="1e-12" balanceinertia="true"/>'
    '<default><joint armature="1"/></default>'
)
_XML_ESCAPES = str.maketrans(
    {letter: f"&#{ord(letter)};" for letter in "&<>\"'\n\r\t"}
)  # importing xml.sax takes 0.1 s
_BALL_SIZE = (1.0, 0.0, 0.0)  # of balls in place of meshes: MuJoCo asks for one
MIN_MASS = 1e-9  # [kg] smaller masses come from the header above


class _TraversalStep(NamedTuple):
    """One element of the traversal. None is the end of the element `tag`."""

    tag: str
    element: Element | None
    depth: int
    copies: int  # number of copies by <replicate>


@dataclass
class ModelSubset:
    """Text for MuJoCo, with the element of each line. Omitted elements are counted."""

    lines: list[str] = field(default_factory=list[str])
    elements: list[Element | None] = field(default_factory=list[Element | None])
    omitted_counts: Counter[str] = field(default_factory=Counter[str])
    unknown_counts: Counter[str] = field(default_factory=Counter[str])
    excluded_pairs: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def add_line(self, line: str, element: Element | None = None) -> None:
        """Add a line of text with its element."""
        self.lines.append(line)
        self.elements.append(element)

    def has_loops(self) -> bool:
        """Return whether the model has loop constraints."""
        return any(element is not None and element.tag in _LOOP_TAGS for element in self.elements)

    def drop_loops(self) -> ModelSubset:
        """Return a copy without <connect> and <weld>.

        Each of these has two lines: start and end of the element.
        """
        start_lines = [
            i for i, element in enumerate(self.elements) if element is not None and element.tag in _LOOP_TAGS
        ]
        dropped_lines = {i + line_offset for i in start_lines for line_offset in (0, 1)}
        kept_lines = [
            pair for i, pair in enumerate(zip(self.lines, self.elements, strict=True)) if i not in dropped_lines
        ]
        return replace(self, lines=[line for line, _ in kept_lines], elements=[element for _, element in kept_lines])


def strip_model(root: Element) -> ModelSubset:
    """Select the kinematic elements of a file. FileError for invalid numbers and too large counts."""
    subset = ModelSubset()
    subset.add_line(_MODEL_HEADER)
    joint_count, mesh_names = 0, MeshNames(root)
    for step in _traverse(root, subset):
        if step.element is None:
            subset.add_line(f"</{step.tag}>")
            continue
        if step.tag in ("body", "joint", "freejoint", "site"):
            joint_count += step.copies
            if joint_count > _MAX_JOINTS:
                step.element.fail(f"more than {_MAX_JOINTS} bodies, joints and sites")
        name = mesh_names.find(step.element) if step.tag == "mesh" else ""
        if len(mesh_names) > _MAX_MESHES:
            step.element.fail(f"more than {_MAX_MESHES} meshes")
        subset.add_line(f"<{step.tag}{name}{_format_attributes(step.element)}>", step.element)
    subset.add_line("</mujoco>")
    _record_omitted(root, subset)
    return subset


class MeshNames:
    """Names of <mesh> elements. The first one of a name keeps it; others get names that no mesh has."""

    def __init__(self, root: Element) -> None:
        assets = (section for section in root.children if section.tag == "asset")
        self._taken = {name_mesh(mesh.attributes) for section in assets for mesh in section.children}
        self._given = set[str]()
        self._count = 0

    def __len__(self) -> int:
        return len(self._given)

    def find(self, element: Element) -> str:
        """Find the name of a <mesh> as an attribute. Empty for that of a default."""
        if not element.attributes.keys() & {"file", "vertex", "name"}:
            return ""
        name = name_mesh(element.attributes)
        while name in self._given:
            self._count += 1
            if (unused := f"mesh {self._count}") not in self._taken:
                name = unused
        self._given.add(name)
        return f' name="{name.translate(_XML_ESCAPES)}"'


def _traverse(root: Element, subset: ModelSubset) -> Iterator[_TraversalStep]:
    """Iterate over kept elements and their ends, in order. It is iterative."""
    stack = _list_kept_children(root, 0, 1, subset)
    while stack:
        step = stack.pop()
        yield step
        if step.element is not None:
            if step.depth > MAX_DEPTH:
                step.element.fail(f"elements are nested more than {MAX_DEPTH} deep")
            copies = step.copies * _read_copy_count(step.element)
            stack.append(_TraversalStep(step.tag, None, step.depth, copies))
            stack += _list_kept_children(step.element, step.depth, copies, subset)


def _list_kept_children(element: Element, depth: int, copies: int, subset: ModelSubset) -> list[_TraversalStep]:
    """List the kept children, the last first."""
    tag = "body" if element.tag in _BODY_TAGS else element.tag
    steps: list[_TraversalStep] = []
    for child in reversed(element.children):
        if child.tag in _KEPT_TAGS.get(tag, ()):
            steps.append(_TraversalStep(child.tag, child, depth + 1, copies))
        elif tag == "equality" or (tag == "body" and child.tag in ("composite", "flexcomp", "attach")):
            subset.omitted_counts[f"<{child.tag}>"] += 1
        elif child.tag not in _IGNORED_TAGS.get(tag, {child.tag}):
            subset.unknown_counts[quote_excerpt(child.tag)[1:-1]] += 1
    return steps


def _read_copy_count(element: Element) -> int:
    """Read the copy count of <replicate>. It is 1 for other elements."""
    if element.tag != "replicate":
        return 1
    text = element.attributes.get("count", "").strip()
    if not (text.isascii() and text.isdigit()):
        element.fail(f"count of <replicate>: {quote_excerpt(text)} is not a count")
    if len(text) > _MAX_COUNT_DIGITS or int(text) > _MAX_JOINTS:
        element.fail(f"<replicate> makes {quote_excerpt(text)} copies; at most {_MAX_JOINTS} are read")
    return int(text)


def _format_attributes(element: Element) -> str:
    """Format the kept attributes. FileError for an invalid number."""
    attributes, tag = element.attributes, "body" if element.tag == "worldbody" else element.tag
    text_names, number_names, unused_names = (
        _TEXT_ATTRIBUTES.get(tag, set[str]()),
        _NUMBER_ATTRIBUTES.get(tag, set[str]()),
        _UNUSED_ATTRIBUTES.get(tag, set[str]()),
    )
    if tag == "compiler":
        if attributes.get("coordinate", "local") != "local":
            element.fail("coordinate='global' is of MuJoCo before version 2.3.4; save the model with a newer one")
        unused_names = set(attributes) - text_names - number_names
    if tag == "mesh":
        unused_names = set(attributes) - {"class", "scale", "refpos", "refquat"}  # nor its file
    for name, value in attributes.items():
        if name in text_names and len(value) > MAX_NAME_LENGTH:
            element.fail(f"{name} {quote_excerpt(value)} has more than {MAX_NAME_LENGTH} characters")
        if name in number_names:
            _check_numbers(element, name, value)
    return "".join(
        f' {name}="{value.translate(_XML_ESCAPES)}"' for name, value in attributes.items() if name not in unused_names
    )


def _check_numbers(element: Element, name: str, value: str) -> None:
    """Reject words other than numbers and keywords. MuJoCo would read nan, inf and 0x10 as numbers."""
    for word in value.split():
        if is_number(word):
            is_invalid = abs(float(word)) > MAX_NUMBER and name != "range"
        else:
            unsigned_word = word.lstrip("+-").lower()
            is_infinite_range = unsigned_word in ("inf", "infinity") and name == "range"
            is_invalid = not is_infinite_range and (unsigned_word in ("nan", "inf", "infinity") or not word.isalpha())
        if is_invalid:
            element.fail(f"{name} of <{element.tag}>: {quote_excerpt(word)} is not a number that can be used")


def _record_omitted(root: Element, subset: ModelSubset) -> None:
    """Count tendons and record excluded body pairs."""
    for section in root.children:
        if section.tag == "tendon":
            subset.omitted_counts.update("tendons" for _ in section.children)
        elif section.tag == "contact":
            pairs = [exclusion.attributes for exclusion in section.children if exclusion.tag == "exclude"]
            subset.excluded_pairs += [(pair.get("body1", ""), pair.get("body2", "")) for pair in pairs]


# --- MuJoCo as a compiler of MJCF: defaults, angles, frames, ranges --------------------------------------------------


_LINE_PATTERN = re.compile(r",?\s*line (\d+)")
_ELEMENT_PATTERN = re.compile(r"\s*Element (?:name '[^']*'|'[^']*')(, id -?\d+)?")
_DECLARATION_PATTERN = re.compile(r"\A\s*(?:<\?xml.*?\?>\s*)+", re.DOTALL)
_MIN_MUJOCO_VERSION = (3, 3)  # the first MuJoCo version with all functions used here


class UsedMesh(NamedTuple):
    """The mesh of a shape, by name. Its corners are placed as those of `MeshAsset`."""

    name: str
    place: Floats
    rotation: Floats
    scale: Floats


class CompiledModel(NamedTuple):
    """Compiled model, and what MuJoCo was not given.

    bodies_without_mass  ids of bodies of unknown mass, some of whose shapes are meshes
    meshes               the mesh of each shape that has one, by its id
    """

    mj: Any
    model: Any
    name: str
    bodies_without_mass: frozenset[int]
    meshes: dict[int, UsedMesh]


def compile_model(path: Path, subset: ModelSubset) -> CompiledModel:
    """Compile a model subset with MuJoCo. FileError with the line of the error."""
    mj = _import_mujoco(path)
    try:
        spec = mj.MjSpec.from_string("\n".join(subset.lines))
        mesh_bodies, geoms = _replace_meshes(mj, spec)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # MuJoCo warns of simulation problems
            model = spec.compile()
    except (ValueError, TypeError, RuntimeError, MemoryError, mj.FatalError) as error:
        raise _build_error(path, subset, error) from error
    uses_shapes = spec.compiler.inertiafromgeom == mj.mjtInertiaFromGeom.mjINERTIAFROMGEOM_TRUE
    massless_ids = {body.id for body in mesh_bodies if uses_shapes or not body.explicitinertial}
    meshes = {int(geom.id): mesh for geom, mesh in geoms}
    return CompiledModel(mj, model, str(spec.modelname), frozenset(massless_ids), meshes)


def report_malformed(error: NotWellFormedError) -> FileError:
    """Test whether MuJoCo reads a malformed file, and report it.

    MuJoCo gets the text after an element of our own, which becomes the root: it parses the text as XML and then stops,
    without opening any file named in the text.
    """
    try:
        mj = _import_mujoco(Path(error.path))
        text = read_bytes(Path(error.path)).decode("utf-8-sig", "replace")
        mj.MjSpec.from_string("<text/>" + _DECLARATION_PATTERN.sub("", text))
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


def _replace_meshes(mj: Any, spec: Any) -> tuple[list[Any], list[tuple[Any, UsedMesh]]]:
    """Replace mesh shapes by balls without mass. Return bodies of shapes in files, and the balls with their meshes.

    Height fields and other shapes in files are deleted.
    """
    geom_types = mj.mjtGeom
    file_types = (geom_types.mjGEOM_MESH, geom_types.mjGEOM_HFIELD, geom_types.mjGEOM_SDF)
    file_geoms = [geom for geom in spec.geoms if geom.type in file_types or geom.meshname]
    bodies = [geom.parent for geom in file_geoms]
    meshes = {
        mesh.name: UsedMesh(mesh.name, *(np.array(value) for value in (mesh.refpos, mesh.refquat, mesh.scale)))
        for mesh in spec.meshes
    }
    balls: list[tuple[Any, UsedMesh]] = []
    for geom in file_geoms:
        mesh = meshes.get(geom.meshname)
        if mesh is None or np.isfinite(geom.fromto).all() or geom.type in file_types[1:]:
            spec.delete(geom)
            continue
        geom.type, geom.meshname, geom.size = geom_types.mjGEOM_SPHERE, "", _BALL_SIZE
        geom.mass, geom.density, geom.typeinertia = 0.0, 0.0, mj.mjtGeomInertia.mjINERTIA_VOLUME
        balls.append((geom, mesh))
    for mesh in list(spec.meshes):
        spec.delete(mesh)
    for site in spec.sites:
        if site.type == geom_types.mjGEOM_MESH:  # the site's frame does not depend on its shape; meshes are not read
            site.type = geom_types.mjGEOM_SPHERE
    return bodies, balls


def _build_error(path: Path, subset: ModelSubset, error: Exception) -> FileError:
    """Build the error for a message of MuJoCo. It has one sentence, with the line in the file."""
    text = " ".join(f"{error}".split()) or type(error).__name__
    line_match = _LINE_PATTERN.search(text)
    text = _ELEMENT_PATTERN.sub("", _LINE_PATTERN.sub("", text)).strip()
    while text.startswith(("Error: ", "XML Error: ")):
        text = text.split(": ", 1)[1]
    line = int(line_match.group(1)) if line_match else 0
    element = subset.elements[line - 1] if 0 < line <= len(subset.elements) else None
    if element is None:
        return FileError(path, f"MuJoCo cannot read it: {text[:200]}")
    name = element.attributes.get("name", "")
    label = f"<{element.tag}>" + (f" {name!r}" if name else "")
    return FileError(element.path, f"{label}: {text[:200]}", place=f"line {element.line}")
