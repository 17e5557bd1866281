"""Visual shapes of a URDF robot as one GLB."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np

from poise.errors import FileError, join_names
from poise.ground.terrain.files.needs import in_ascii, said
from poise.io.files import read_bytes
from poise.io.text_parsing import parse_number
from poise.io.text_parsing import quote_excerpt as quoted
from poise.io.urdf.xml_parser import Attributes, RobotVisuals, UrdfDocument, Visual, parse_visuals
from poise.maths import euler, rotations
from poise.maths.arrays import Floats
from poise.model.pose import Pose
from poise.model.skeleton import Skeleton
from poise.viewer import glb_assets
from poise.viewer.glb_assets import GREY, MAX_FILE_BYTES, MAX_TRIANGLES, Colour, MeshNode, Primitive, build_glb

# --- Find and read mesh files of a robot with trimesh ----------------------------------------------------------------
#
# They lie beside its URDF file or in the named folders, nowhere else.


MESH_SUFFIXES = (".stl", ".obj", ".dae")
_DESCRIPTION_FOLDERS = ("urdf", "robots", "xacro")  # folders of descriptions in a ROS package, beside its meshes
_PACKAGE_HINT = "; drop the folder that has it on the page, or start with --package-path FOLDER"
_MAX_COORDINATE = 1e30  # [file units] largest coordinate; products of larger ones would overflow
_MAX_PATH_LENGTH = 1024  # characters of a mesh path


def find_mesh_file(urdf: Path, name: str, packages: Sequence[Path] = ()) -> Path:
    """Find the mesh file of a URDF's `name`. It lies inside the URDF's folder, or the package's for a URDF in `urdf`.

    For package://NAME/A/B the longest existing suffix counts, because NAME need not be a folder's name. The folders
    `packages` are searched first; each is a package or contains some. Raise FileError for a missing file, and for a
    path out of the folder, which is not opened.
    """
    folder = urdf.absolute().parent.resolve()
    root = folder.parent if folder.name in _DESCRIPTION_FOLDERS else folder
    scheme, _, relative = name.rpartition("://")
    relative = unquote(relative)
    if "\0" in relative or len(relative) > _MAX_PATH_LENGTH or scheme not in ("", "package", "model", "file"):
        raise FileError(name[:200], "is not a file beside the URDF; it was not opened")
    packed = scheme in ("package", "model")
    roots = [*(package.resolve() for package in packages), root] if packed else [root]
    for within, candidate in _iterate_candidates(roots, folder, relative, packed=packed):
        try:
            target = candidate.resolve()
            is_file = target.is_file()
        except (OSError, RuntimeError):  # a loop of symbolic links, a name too long
            continue
        if within not in target.parents:
            if not packed:
                raise FileError(name[:200], f"leads out of {root}; it was not opened")
        elif is_file:
            return target
    searched = " and ".join(map(str, roots))
    raise FileError(name[:200], f"is not there; it was looked for in {searched}{_PACKAGE_HINT if packed else ''}")


def _iterate_candidates(
    roots: Sequence[Path], folder: Path, relative: str, *, packed: bool
) -> Iterator[tuple[Path, Path]]:
    """Iterate possible paths of a file, each with its enclosing folder. The file must not leave that folder."""
    if not packed:
        yield roots[0], folder / relative
        return
    parts = Path(relative).parts
    for root in roots:
        for i in range(len(parts)):
            yield root, root.joinpath(*parts[i:])


def read_mesh(path: Path) -> list[Primitive]:
    """Read the surfaces of a mesh file in its own frame. Raise FileError for an unreadable file."""
    suffix = path.suffix.lower()
    if suffix not in MESH_SUFFIXES:
        raise FileError(path, f"a mesh is a {', '.join(MESH_SUFFIXES)} file")
    if path.stat().st_size > MAX_FILE_BYTES:
        raise FileError(
            path, f"has {path.stat().st_size / 1e6:,.0f} MB; the page shows at most {MAX_FILE_BYTES / 1e6:g}"
        )
    data = in_ascii(read_bytes(path), suffix)
    if suffix == ".dae" and b"<!" in data.replace(b"<!--", b"").replace(b"<![CDATA[", b""):
        raise FileError(path, "document types and entities are not read")
    try:
        import trimesh  # noqa: PLC0415  (an extra, imported when a mesh is read)
    except ImportError as error:
        raise FileError(path, "meshes of robots need trimesh: pip install 'poise[view]'") from error
    options: dict[str, Any] = {"skip_materials": True} if suffix == ".obj" else {}
    try:
        with np.errstate(all="ignore"):  # numbers are checked afterwards
            scene = trimesh.load_scene(io.BytesIO(data), file_type=suffix[1:], process=False, **options)
            parts = [_build_node_surface(scene, node, suffix) for node in scene.graph.nodes_geometry]
    except Exception as error:  # trimesh raises exceptions of any type
        raise FileError(path, f"cannot be read: {said(error)}") from error
    return _check_surfaces(path, [part for part in parts if part is not None and len(part.faces)])


def _check_surfaces(path: Path, surfaces: list[Primitive]) -> list[Primitive]:
    count = sum(len(surface.faces) for surface in surfaces)
    if not count:
        raise FileError(path, "holds no triangles")
    if count > MAX_TRIANGLES:
        raise FileError(path, f"has {count:,} triangles; the page shows at most {MAX_TRIANGLES:,}")
    if not all((np.abs(surface.points) <= _MAX_COORDINATE).all() for surface in surfaces):
        raise FileError(path, f"has corners that are not finite or beyond {_MAX_COORDINATE:g}")
    return surfaces


def _build_node_surface(scene: Any, node: Any, suffix: str) -> Primitive | None:
    """Build the surface of a scene node, transformed. None for points and lines."""
    transform, name = scene.graph[node]
    part = scene.geometry[name]
    if not hasattr(part, "faces"):
        return None
    normals = None if suffix == ".stl" else np.array(part.vertex_normals, dtype=np.float64)
    surface = Primitive(
        np.array(part.vertices, dtype=np.float64), np.array(part.faces), normals, _read_mesh_colour(part)
    )
    return transform_surface(surface, np.asarray(transform, dtype=np.float64))


def transform_surface(surface: Primitive, transform: Any) -> Primitive:
    """Transform a surface by an affine map (4, 4). A mirrored surface is turned inside out."""
    linear = transform[:3, :3]
    normals, faces = surface.normals, surface.faces
    if np.linalg.det(linear) < 0.0:
        faces = faces[:, ::-1]
    if normals is not None:
        with np.errstate(all="ignore"):
            normals = normals @ np.linalg.pinv(linear)
            normals = np.nan_to_num(normals / np.linalg.norm(normals, axis=1, keepdims=True))
    return surface._replace(points=surface.points @ linear.T + transform[:3, 3], faces=faces, normals=normals)


def _read_mesh_colour(part: Any) -> Colour:
    """Read the main colour of a mesh's material, or grey."""
    look = getattr(part, "visual", None)
    if not getattr(look, "defined", False):
        return GREY
    colour = getattr(getattr(look, "material", look), "main_color", None)
    values = np.asarray(colour, dtype=np.float64) / 255.0 if colour is not None else np.empty(0)
    if values.shape != (4,) or not ((values >= 0.0) & (values <= 1.0)).all():
        return GREY
    red, green, blue, opacity = values.tolist()
    return red, green, blue, opacity


# ---------------------------------------------------------------------------------------------------------------------


_MAX_NAMED_MESHES = 3  # meshes named in a note
_PLURAL_VERBS = {
    "is": "are",
    "has": "have",
    "holds": "hold",
    "leads": "lead",
    "cannot": "cannot",
}  # first words of reasons


class RobotAsset(NamedTuple):
    """Visual shapes of a robot.

    glb    the GLB, or None without shapes
    nodes  per joint its node in the GLB, or None
    lost   per joint whether its shapes could not be shown; all joints without a GLB. A link without shapes is not lost
    notes  one sentence for each shape that cannot be shown
    """

    glb: bytes | None
    nodes: tuple[int | None, ...]
    lost: tuple[bool, ...]
    notes: tuple[str, ...]


def build_robot_asset(skeleton: Skeleton, path: Path, packages: Sequence[Path] = ()) -> RobotAsset:
    """Build a GLB of a robot's visual shapes. Each shape is in the frame of its joint.

    Meshes of package:// are searched in the folders `packages` as well.
    """
    document = skeleton.source
    reader = _ShapeReader(path, packages)
    parts: list[MeshNode] = []
    nodes: list[int | None] = [None] * len(skeleton)
    lost = [False] * len(skeleton)
    if isinstance(document, UrdfDocument):
        world = Pose(skeleton, skeleton.rest_q).world
        visuals = parse_visuals(path, document.data)
        for row, link in _list_links(skeleton, visuals):
            shown = visuals.links.get(link, [])
            surfaces = [s for visual in shown for s in reader.build_surfaces(visual, visuals.materials)]
            lost[row] = bool(shown) and not surfaces
            if surfaces:
                nodes[row] = len(parts)
                parts.append(MeshNode(skeleton.names[row], surfaces, world.positions[row], world.rotations[row]))
    if not parts:
        return RobotAsset(None, tuple(nodes), (True,) * len(skeleton), reader.list_notes())
    return RobotAsset(build_glb(parts), tuple(nodes), tuple(lost), reader.list_notes())


def _list_links(skeleton: Skeleton, visuals: RobotVisuals) -> list[tuple[int, str]]:
    """List the joints with their links. The first is the root link, the others have their joint's name."""
    children = visuals.children
    below = [(row, children[name]) for row, name in enumerate(skeleton.names) if row and name in children]
    return [(0, str(skeleton.source_ids[0])), *below]


class _ShapeReader:
    """Builder of surfaces of visual elements. A file is read once."""

    def __init__(self, path: Path, packages: Sequence[Path]) -> None:
        self.path, self.packages = path, packages
        self.surfaces_by_file: dict[Path, list[Primitive]] = {}
        self.reasons: dict[str, str] = {}  # mesh name in the file -> reason against it
        self.triangle_count = 0

    def build_surfaces(self, visual: Visual, materials: dict[str, str]) -> list[Primitive]:
        """Build the surfaces of one element in the link's frame.

        Where it cannot be shown there are none, and a note.
        """
        try:
            pieces = self._build_shape(visual)
            transform = _parse_transform(visual)
            colour = _parse_colour(visual.rgba or materials.get(visual.material, ""))
        except FileError as error:
            self.reasons[error.path] = error.reason
            return []
        except ValueError as error:
            self.reasons[f"line {visual.line}: <visual>"] = str(error)
            return []
        self.triangle_count += sum(len(piece.faces) for piece in pieces)
        if self.triangle_count > MAX_TRIANGLES:
            self.reasons[f"line {visual.line}: <visual>"] = f"the robot has more than {MAX_TRIANGLES:,} triangles"
            return []
        return [transform_surface(piece, transform)._replace(colour=colour or piece.colour) for piece in pieces]

    def _build_shape(self, visual: Visual) -> list[Primitive]:
        attributes = visual.attributes
        if visual.shape == "mesh":
            scale = np.diag([*_parse_numbers(attributes, "scale", 3, "1 1 1"), 1.0])
            return [transform_surface(piece, scale) for piece in self._read_mesh_file(attributes.get("filename", ""))]
        makers: dict[str, Callable[[], Primitive]] = {
            "box": lambda: glb_assets.build_box(np.array(_parse_numbers(attributes, "size", 3))),
            "cylinder": lambda: glb_assets.build_cylinder(
                *_parse_numbers(attributes, "radius", 1), *_parse_numbers(attributes, "length", 1)
            ),
            "capsule": lambda: glb_assets.build_capsule(
                *_parse_numbers(attributes, "radius", 1), *_parse_numbers(attributes, "length", 1)
            ),
            "sphere": lambda: glb_assets.build_sphere(*_parse_numbers(attributes, "radius", 1)),
        }
        return [makers[visual.shape]()] if visual.shape in makers else []

    def _read_mesh_file(self, name: str) -> list[Primitive]:
        if name in self.reasons:
            raise FileError(name, self.reasons[name])
        target = find_mesh_file(self.path, name, self.packages)
        try:
            if target not in self.surfaces_by_file:
                self.surfaces_by_file[target] = read_mesh(target)
        except FileError as error:
            raise FileError(name, error.reason) from error
        return self.surfaces_by_file[target]

    def list_notes(self) -> tuple[str, ...]:
        """Format one note per reason, with its meshes."""
        reasons: dict[str, list[str]] = {}
        for name, reason in self.reasons.items():
            reasons.setdefault(reason, []).append(quoted(name.rpartition("/")[2]))
        return tuple(_format_reason(names, reason) for reason, names in reasons.items())


def _format_reason(names: list[str], reason: str) -> str:
    """Format a reason with the names of its meshes.

    Of many meshes only the first are named, so that the note does not cover the robot.
    """
    more = len(names) - _MAX_NAMED_MESHES
    which = join_names(names) if more <= 1 else f"{join_names(names[:_MAX_NAMED_MESHES])} and {more} more"
    verb, _, remainder = reason.partition(" ")
    if verb not in _PLURAL_VERBS:
        return f"{which}: {reason}"
    if len(names) > 1:
        verb, remainder = _PLURAL_VERBS[verb], remainder.replace("; it was", "; they were")
    return f"{which} {verb} {remainder}"


def _parse_transform(visual: Visual) -> Floats:
    roll, pitch, yaw = _parse_numbers(visual.origin, "rpy", 3, "0 0 0")
    transform = np.eye(4)
    transform[:3, :3] = rotations.as_matrix(euler.to_quaternion([yaw, pitch, roll], "ZYX"))
    transform[:3, 3] = _parse_numbers(visual.origin, "xyz", 3, "0 0 0")
    return transform


def _parse_colour(rgba: str) -> Colour | None:
    if not rgba.strip():
        return None
    red, green, blue, opacity = (min(max(value, 0.0), 1.0) for value in _parse_numbers({"rgba": rgba}, "rgba", 4))
    return red, green, blue, opacity


def _parse_numbers(attributes: Attributes, name: str, count: int, default: str = "") -> list[float]:
    """Parse `count` numbers of an attribute. Raise ValueError with the reason for anything else."""
    words = attributes.get(name, default).split()
    if len(words) != count:
        message = f"{name} needs {count} numbers, not {quoted(attributes.get(name, default))}"
        raise ValueError(message)
    return [parse_number(word) for word in words]
