"""GLB files for the page, from surfaces, glTF or robots."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from poise.errors import FileError, join_names
from poise.io.gltf.container import Buffers, Container, pack_document, read_inside
from poise.io.gltf.json_checks import BrokenError, Json, read_object, read_objects, read_strings
from poise.io.gltf.source_document import GltfDocument
from poise.io.mesh_text import shorten_error
from poise.io.robot_meshes import MAX_COORDINATE, MissingMeshError, find_mesh_file, load_mesh
from poise.io.text_parsing import parse_number
from poise.io.text_parsing import quote_excerpt as quoted
from poise.io.urdf_xml import Attributes, RobotVisuals, UrdfDocument, Visual, parse_visuals
from poise.maths import euler, rotations
from poise.maths.arrays import Floats, Ints
from poise.model.pose import Pose
from poise.model.skeleton import Skeleton

Colour: TypeAlias = tuple[float, float, float, float]
GREY: Colour = (0.72, 0.72, 0.74, 1.0)
_ARRAY_BUFFER, _INDEX_BUFFER = 34962, 34963
_FLOAT_COMPONENT, _UINT_COMPONENT = 5126, 5125


class Primitive(NamedTuple):
    """Triangles of one colour.

    Without normals every triangle is shaded flat.

    points   (k, 3); faces (f, 3) rows of it, counterclockwise from outside; normals (k, 3) or None
    colour   red, green, blue, opacity 0..1, in sRGB
    """

    points: Floats
    faces: Ints
    normals: Floats | None = None
    colour: Colour = GREY


class MeshNode(NamedTuple):
    """A GLB node: its placement and its surfaces."""

    name: str
    surfaces: Sequence[Primitive]
    position: Floats
    rotation: Floats


def build_glb(mesh_nodes: Iterable[MeshNode]) -> bytes:
    """Write the nodes as one GLB, in their order."""
    builder = _GlbBuilder()
    for mesh_node in mesh_nodes:
        builder.add_node(mesh_node)
    return builder.pack()


class _GlbBuilder:
    """Lists and bytes of a glTF document under construction."""

    def __init__(self) -> None:
        self.nodes: list[Json] = []
        self.meshes: list[Json] = []
        self.materials: list[Json] = []
        self.accessors: list[Json] = []
        self.views: list[Json] = []
        self.binary = bytearray()
        self.material_indices: dict[Colour, int] = {}

    def add_node(self, mesh_node: MeshNode) -> None:
        w, x, y, z = mesh_node.rotation.tolist()
        node: Json = {"name": mesh_node.name, "translation": mesh_node.position.tolist(), "rotation": [x, y, z, w]}
        if mesh_node.surfaces:
            node["mesh"] = len(self.meshes)
            self.meshes.append({"primitives": [self._add_primitive(surface) for surface in mesh_node.surfaces]})
        self.nodes.append(node)

    def _add_primitive(self, surface: Primitive) -> Json:
        attributes = {"POSITION": self._add_array(surface.points, writes_bounds=True)}
        if surface.normals is not None:
            attributes["NORMAL"] = self._add_array(surface.normals)
        faces = np.ascontiguousarray(surface.faces, dtype="<u4")
        indices = self._add_accessor(faces.tobytes(), _INDEX_BUFFER, _UINT_COMPONENT, faces.size, "SCALAR")
        return {"attributes": attributes, "indices": indices, "material": self._add_material(surface.colour)}

    def _add_array(self, values: Floats, *, writes_bounds: bool = False) -> int:
        data = np.ascontiguousarray(values, dtype="<f4")
        accessor = self._add_accessor(data.tobytes(), _ARRAY_BUFFER, _FLOAT_COMPONENT, len(data), "VEC3")
        if writes_bounds:
            self.accessors[accessor] |= {"min": data.min(axis=0).tolist(), "max": data.max(axis=0).tolist()}
        return accessor

    def _add_accessor(
        self, content: bytes, buffer_target: int, component_type: int, count: int, element_type: str
    ) -> int:
        view = {"buffer": 0, "byteOffset": len(self.binary), "byteLength": len(content), "target": buffer_target}
        self.views.append(view)
        self.binary += content
        self.accessors.append(
            {"bufferView": len(self.views) - 1, "componentType": component_type, "count": count, "type": element_type}
        )
        return len(self.accessors) - 1

    def _add_material(self, colour: Colour) -> int:
        if colour not in self.material_indices:
            self.material_indices[colour] = len(self.materials)
            red, green, blue = (float(convert_srgb_to_linear(value)) for value in colour[:3])
            pbr = {"baseColorFactor": [red, green, blue, colour[3]], "metallicFactor": 0.0, "roughnessFactor": 0.8}
            material: Json = {"pbrMetallicRoughness": pbr, "doubleSided": True}
            self.materials.append(material if colour[3] >= 1.0 else material | {"alphaMode": "BLEND"})
        return self.material_indices[colour]

    def pack(self) -> bytes:
        document: Json = {"asset": {"version": "2.0", "generator": "poise"}, "scene": 0}
        document["scenes"] = [{"nodes": list(range(len(self.nodes)))}] if self.nodes else [{}]
        lists = {
            "nodes": self.nodes,
            "meshes": self.meshes,
            "materials": self.materials,
            "accessors": self.accessors,
            "bufferViews": self.views,
        }
        document |= {key: values for key, values in lists.items() if values}
        if self.binary:
            document["buffers"] = [{"byteLength": len(self.binary)}]
        return pack_document(Container("glb", document, bytes(self.binary) or None))


def convert_srgb_to_linear(component: float) -> float:
    """Convert a colour component from sRGB to linear light."""
    max_linear = 0.04045
    return component / 12.92 if component <= max_linear else ((component + 0.055) / 1.055) ** 2.4


# --- Triangle meshes of box, cylinder, sphere and capsule about z ----------------------------------------------------


_CIRCLE_CORNERS = 40  # corners of a circle
_QUARTER_SEGMENTS = 10  # segments of a quarter circle


def build_box(size: Floats) -> Primitive:
    """Build a box of edge lengths (3,) about the origin."""
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]) * size
    quads = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    return Primitive(corners, np.array([[q[0], q[i], q[i + 1]] for q in quads for i in (1, 2)]))


def build_cylinder(radius: float, length: float) -> Primitive:
    """Build a closed cylinder about the origin."""
    half_length = 0.5 * length
    profiles = [([0.0, radius], [-half_length, -half_length], [0.0, 0.0], [-1.0, -1.0])]
    profiles.append(([radius, radius], [-half_length, half_length], [1.0, 1.0], [0.0, 0.0]))
    profiles.append(([radius, 0.0], [half_length, half_length], [0.0, 0.0], [1.0, 1.0]))
    return _join_surfaces([_revolve_profile(*map(np.array, profile)) for profile in profiles])


def build_sphere(radius: float) -> Primitive:
    """Build a sphere about the origin."""
    return build_capsule(radius, 0.0)


def build_capsule(radius: float, length: float) -> Primitive:
    """Build a cylinder with half spheres on its ends. `length` is that of the cylinder."""
    lower_angles = np.linspace(-0.5 * math.pi, 0.0, _QUARTER_SEGMENTS + 1)
    angles = np.concatenate([lower_angles, -lower_angles[::-1]])
    sphere_heights = np.repeat([-0.5 * length, 0.5 * length], _QUARTER_SEGMENTS + 1)
    r, z = np.cos(angles), np.sin(angles)
    return _revolve_profile(radius * r, sphere_heights + radius * z, r, z)


def _revolve_profile(radii: Floats, heights: Floats, outwards: Floats, upwards: Floats) -> Primitive:
    """Revolve a profile (k,) of radii and heights about z. Its normals are revolved as well."""
    angles = np.linspace(0.0, 2 * math.pi, _CIRCLE_CORNERS + 1)
    cosines, sines = np.cos(angles), np.sin(angles)
    points = np.stack(
        [np.outer(radii, cosines), np.outer(radii, sines), np.outer(heights, np.ones_like(cosines))], axis=-1
    )
    normals = np.stack(
        [np.outer(outwards, cosines), np.outer(outwards, sines), np.outer(upwards, np.ones_like(cosines))], axis=-1
    )
    return Primitive(points.reshape(-1, 3), build_grid_faces(len(radii), _CIRCLE_CORNERS + 1), normals.reshape(-1, 3))


def build_grid_faces(row_count: int, column_count: int) -> np.ndarray:
    """Build the triangles (f, 3) of a point grid. The outside is where columns x rows points."""
    corner = (np.arange(row_count - 1)[:, None] * column_count + np.arange(column_count - 1)).ravel()
    lower_triangles = np.stack([corner, corner + 1, corner + column_count], axis=1)
    upper_triangles = np.stack([corner + 1, corner + column_count + 1, corner + column_count], axis=1)
    return np.concatenate([lower_triangles, upper_triangles])


def _join_surfaces(surfaces: list[Primitive]) -> Primitive:
    point_starts = np.cumsum([0, *(len(surface.points) for surface in surfaces)])
    faces = [surface.faces + start for surface, (start, _) in zip(surfaces, pairwise(point_starts), strict=True)]
    normals = [surface.normals for surface in surfaces if surface.normals is not None]
    return Primitive(np.concatenate([s.points for s in surfaces]), np.concatenate(faces), np.concatenate(normals))


# --- Repack a glTF document as one GLB for the page ------------------------------------------------------------------
#
# Buffers and images are embedded, animations removed.


MAX_FILE_BYTES = 100_000_000  # [bytes] of meshes and images
MAX_TRIANGLES = 5_000_000
_COMPRESSIONS = {
    "KHR_draco_mesh_compression": "Draco", "EXT_meshopt_compression": "meshopt", "KHR_meshopt_compression": "meshopt",
}  # fmt: skip
_BASIS_TEXTURE = "KHR_texture_basisu"
_REMOVED_EXTENSIONS = ("KHR_lights_punctual", _BASIS_TEXTURE, *_COMPRESSIONS)
_PICTURE_TYPES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"RIFF": "image/webp"}
_WHITE_PIXEL = (  # one white pixel in place of pictures without browser support
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mP4DwABAQEAHLCMmQAAAABJRU5ErkJggg=="
)


class GlbAsset(NamedTuple):
    """A GLB with notes; None where it cannot be shown. `has_skin` says whether bones deform a mesh in it."""

    glb: bytes | None
    notes: tuple[str, ...]
    has_skin: bool = False


def build_glb_asset(document: GltfDocument, joint_nodes: set[int]) -> GlbAsset:
    """Build one GLB of a document's meshes and nodes. `joint_nodes` are the nodes that are joints of the skeleton.

    Node numbers stay. Nodes added for the up axis and the scale have no effect here: the page applies both to
    everything.
    """
    json = document.container.json
    if not any("mesh" in node for node in read_objects(json, "nodes")):
        return GlbAsset(None, ())
    obstacle = _find_obstacle(json)
    if obstacle:
        return GlbAsset(None, (f"{obstacle}; bones are shown instead",))
    try:
        repacker = _GltfRepacker(document, joint_nodes)
        return GlbAsset(
            pack_document(Container("glb", repacker.json, bytes(repacker.binary))),
            tuple(repacker.notes),
            repacker.has_skin,
        )
    except BrokenError as error:
        return GlbAsset(None, (f"the meshes cannot be shown: {error.place}: {error.reason}",))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):  # in parts that loading skips
        return GlbAsset(None, ("the meshes cannot be shown: their data in the file is malformed",))


def _find_obstacle(json: Json) -> str:
    for name in read_strings(json, "extensionsRequired"):
        if name in _COMPRESSIONS:
            return f"the meshes are compressed with {_COMPRESSIONS[name]}, unsupported by the page"
    byte_count = sum(int(buffer.get("byteLength", 0)) for buffer in read_objects(json, "buffers"))
    if byte_count > MAX_FILE_BYTES:
        return f"the file holds {byte_count / 1e6:,.0f} MB; the page shows at most {MAX_FILE_BYTES / 1e6:,.0f} MB"
    triangle_count = sum(_count_triangles(json, primitive) for primitive in _iterate_primitives(json))
    if triangle_count > MAX_TRIANGLES:
        return f"the meshes have {triangle_count:,} triangles; the page shows at most {MAX_TRIANGLES:,}"
    return ""


def _iterate_primitives(json: Json) -> Iterator[Json]:
    for mesh in read_objects(json, "meshes"):
        yield from read_objects(mesh, "primitives")


def _count_triangles(json: Json, primitive: Json) -> int:
    accessor = primitive.get("indices", primitive.get("attributes", {}).get("POSITION"))
    accessors = read_objects(json, "accessors")
    is_known = type(accessor) is int and 0 <= accessor < len(accessors)
    return int(accessors[accessor].get("count", 0)) // 3 if is_known else 0


class _GltfRepacker:
    """A copy of the glTF JSON with one common buffer."""

    def __init__(self, document: GltfDocument, joint_nodes: set[int]) -> None:
        container = document.container
        self.folder = document.path.parent
        self.notes: list[str] = []
        self.binary = bytearray()
        self.json: Json = {key: value for key, value in container.json.items() if key not in ("animations", "buffers")}
        for key in ("accessors", "bufferViews", "images", "meshes", "nodes", "textures"):
            if key in container.json:
                self.json[key] = copy.deepcopy(read_objects(container.json, key))
        self.has_skin = any("mesh" in node and "skin" in node for node in read_objects(self.json, "nodes"))
        self._remove_extensions()
        self._remove_animation_data(container.json)
        self._gather_views(Buffers(read_objects(container.json, "buffers"), container, self.folder))
        for i, image in enumerate(read_objects(self.json, "images")):
            self._embed_image(i, image)
        self._build_scene(joint_nodes)
        self.json["buffers"] = [{"byteLength": len(self.binary)}]

    def _remove_extensions(self) -> None:
        """Remove extensions without decoder in the page, and lights. Lights of the file would light the whole scene."""
        for key in ("extensionsUsed", "extensionsRequired"):
            remaining = [name for name in read_strings(self.json, key) if name not in _REMOVED_EXTENSIONS]
            self.json.pop(key, None)
            if remaining:
                self.json[key] = remaining
        views, nodes = read_objects(self.json, "bufferViews"), read_objects(self.json, "nodes")
        for element in (*_iterate_primitives(self.json), *views, *nodes):
            for name in _REMOVED_EXTENSIONS:
                read_object(element, "extensions").pop(name, None)
        self._replace_basis_textures()

    def _replace_basis_textures(self) -> None:
        """Replace KTX2-only textures by white."""
        for i, texture in enumerate(read_objects(self.json, "textures")):
            texture.get("extensions", {}).pop(_BASIS_TEXTURE, None)
            if not ("source" in texture or texture.get("extensions")):
                self.notes.append(f"textures[{i}] is KTX2, unsupported by the page; it is shown white")
                texture["source"] = len(self.json.setdefault("images", []))
                self.json["images"].append({"uri": _WHITE_PIXEL})

    def _remove_animation_data(self, original: Json) -> None:
        """Remove the bytes of animations. Their accessors stay as numbers."""
        accessors = read_objects(self.json, "accessors")
        accessor_indices: set[Any] = set()
        for animation in read_objects(original, "animations"):
            accessor_indices |= {
                sampler.get(field) for sampler in read_objects(animation, "samplers") for field in ("input", "output")
            }
        for i in accessor_indices - set(_iterate_shown_accessors(self.json)):
            if type(i) is int and 0 <= i < len(accessors):
                accessors[i] = {"componentType": 5126, "count": 1, "type": "SCALAR"}

    def _gather_views(self, buffers: Buffers) -> None:
        """Copy the bytes of all used views into one buffer."""
        used_views = {accessor.get("bufferView") for accessor in read_objects(self.json, "accessors")}
        used_views |= {image.get("bufferView") for image in read_objects(self.json, "images")}
        for accessor in read_objects(self.json, "accessors"):
            sparse = accessor.get("sparse", {})
            used_views |= {sparse.get(field, {}).get("bufferView") for field in ("indices", "values")}
        for i, view in enumerate(read_objects(self.json, "bufferViews")):
            start = int(view.get("byteOffset", 0))
            length = int(view["byteLength"]) if i in used_views else 0
            content = buffers[int(view["buffer"])][start : start + length] if length else b"\0\0\0\0"
            view |= {"buffer": 0, "byteOffset": self.append_bytes(content), "byteLength": len(content)}

    def append_bytes(self, content: bytes) -> int:
        """Append bytes and return their offset."""
        self.binary += b"\0" * (-len(self.binary) % 4)
        start = len(self.binary)
        self.binary += content
        return start

    def _embed_image(self, image_index: int, image: Json) -> None:
        """Embed the picture of another file. An unreadable picture becomes white."""
        uri: Any = image.get("uri")
        if "bufferView" in image or (isinstance(uri, str) and uri[:5].lower() == "data:"):
            return
        image.clear()
        try:
            content = _read_picture(self.folder, uri, f"images[{image_index}]")
        except BrokenError as error:
            self.notes.append(f"{error.place} is shown white: {error.reason}")
            image["uri"] = _WHITE_PIXEL
            return
        views: list[Json] = self.json.setdefault("bufferViews", [])
        views.append({"buffer": 0, "byteOffset": self.append_bytes(content), "byteLength": len(content)})
        image |= {"bufferView": len(views) - 1, "mimeType": _find_picture_type(content)}

    def _build_scene(self, joint_nodes: set[int]) -> None:
        """Build one scene with all nodes, since all are joints. Nodes added above the roots get no transform."""
        nodes = read_objects(self.json, "nodes")
        for i, node in enumerate(nodes):
            if i not in joint_nodes:
                node.pop("rotation", None)
                node.pop("scale", None)
        children = {child for node in nodes for child in node.get("children", ())}
        self.json["scenes"] = [{"nodes": [i for i in range(len(nodes)) if i not in children]}]
        self.json["scene"] = 0


def _iterate_shown_accessors(json: Json) -> Iterator[int]:
    """Iterate the accessors of meshes, skins and instances."""
    for primitive in _iterate_primitives(json):
        yield from primitive.get("attributes", {}).values()
        yield primitive.get("indices", -1)
        for target in primitive.get("targets", ()):
            yield from target.values()
    for skin in read_objects(json, "skins"):
        yield skin.get("inverseBindMatrices", -1)
    for node in read_objects(json, "nodes"):
        for extension in node.get("extensions", {}).values():
            yield from extension.get("attributes", {}).values() if isinstance(extension, dict) else ()


def _read_picture(folder: Path, uri: Any, location: str) -> bytes:
    """Read a picture beside the document. Raise BrokenError for a path out of its folder and for other files."""
    if not isinstance(uri, str):
        raise BrokenError(location, "its uri must be a string")
    content = read_inside(folder, uri, location, MAX_FILE_BYTES)
    if not _find_picture_type(content):
        raise BrokenError(location, f"{uri[:200]!a} is not a PNG, JPEG or WebP picture")
    return content


def _find_picture_type(content: bytes) -> str:
    return next((mime for magic, mime in _PICTURE_TYPES.items() if content.startswith(magic)), "")


# --- Surfaces of a robot's mesh files ---------------------------------------------------------------------------------


def read_mesh(path: Path) -> list[Primitive]:
    """Read the surfaces of a mesh file in its own frame. Raise FileError for an unreadable file."""
    scene = load_mesh(path)
    try:
        with np.errstate(all="ignore"):  # numbers are checked afterwards
            surfaces = [_build_node_surface(scene, node, path.suffix.lower()) for node in scene.graph.nodes_geometry]
    except Exception as error:  # what trimesh made of a broken file
        raise FileError(path, f"cannot be read: {shorten_error(error)}") from error
    return _check_surfaces(path, [surface for surface in surfaces if surface is not None and len(surface.faces)])


def _check_surfaces(path: Path, surfaces: list[Primitive]) -> list[Primitive]:
    triangle_count = sum(len(surface.faces) for surface in surfaces)
    if not triangle_count:
        raise FileError(path, "holds no triangles")
    if triangle_count > MAX_TRIANGLES:
        raise FileError(path, f"has {triangle_count:,} triangles; the page shows at most {MAX_TRIANGLES:,}")
    if not all((np.abs(surface.points) <= MAX_COORDINATE).all() for surface in surfaces):
        raise FileError(path, f"has corners that are not finite or beyond {MAX_COORDINATE:g}")
    return surfaces


def _build_node_surface(scene: Any, node: Any, suffix: str) -> Primitive | None:
    """Build the surface of a scene node, transformed. None for points and lines."""
    transform, name = scene.graph[node]
    geometry = scene.geometry[name]
    if not hasattr(geometry, "faces"):
        return None
    normals = None if suffix == ".stl" else np.array(geometry.vertex_normals, dtype=np.float64)
    surface = Primitive(
        np.array(geometry.vertices, dtype=np.float64), np.array(geometry.faces), normals, _read_mesh_colour(geometry)
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


def _read_mesh_colour(geometry: Any) -> Colour:
    """Read the main colour of a mesh's material, or grey."""
    visual = getattr(geometry, "visual", None)
    if not getattr(visual, "defined", False):
        return GREY
    colour = getattr(getattr(visual, "material", visual), "main_color", None)
    values = np.asarray(colour, dtype=np.float64) / 255.0 if colour is not None else np.empty(0)
    if values.shape != (4,) or not ((values >= 0.0) & (values <= 1.0)).all():
        return GREY
    red, green, blue, opacity = values.tolist()
    return red, green, blue, opacity


# --- Mesh and texture of a source file -------------------------------------------------------------------------------


_PACKAGE_HINT = "; drop the folder that has it on the page, or start with --package-path FOLDER"
_MAX_NAMED_MESHES = 3  # meshes named in a note
# first words of reasons
_PLURAL_VERBS = {"is": "are", "has": "have", "holds": "hold", "leads": "lead", "cannot": "cannot"}


class RobotAsset(NamedTuple):
    """Visual shapes of a robot.

    glb           the GLB, or None without shapes
    node_indices  per joint its node in the GLB, or None
    is_lost       per joint whether its shapes could not be shown; all joints without a GLB. A link without shapes is
                  not lost
    notes         one sentence for each shape that cannot be shown
    """

    glb: bytes | None
    node_indices: tuple[int | None, ...]
    is_lost: tuple[bool, ...]
    notes: tuple[str, ...]


def build_robot_asset(skeleton: Skeleton, path: Path, package_folders: Sequence[Path] = ()) -> RobotAsset:
    """Build a GLB of a robot's visual shapes. Each shape is in the frame of its joint.

    Meshes of package:// are searched in the folders `package_folders` as well.
    """
    document = skeleton.source
    reader = _ShapeReader(path, package_folders)
    mesh_nodes: list[MeshNode] = []
    node_indices: list[int | None] = [None] * len(skeleton)
    is_lost = [False] * len(skeleton)
    if isinstance(document, UrdfDocument):
        world = Pose(skeleton, skeleton.rest_q).world
        visuals = parse_visuals(path, document.data)
        for joint_index, link in _list_links(skeleton, visuals):
            link_visuals = visuals.visuals_by_link.get(link, [])
            surfaces = [s for visual in link_visuals for s in reader.build_surfaces(visual, visuals.rgba_by_material)]
            is_lost[joint_index] = bool(link_visuals) and not surfaces
            if surfaces:
                node_indices[joint_index] = len(mesh_nodes)
                mesh_nodes.append(
                    MeshNode(
                        skeleton.names[joint_index],
                        surfaces,
                        world.positions[joint_index],
                        world.rotations[joint_index],
                    )
                )
    if not mesh_nodes:
        return RobotAsset(None, tuple(node_indices), (True,) * len(skeleton), reader.list_notes())
    return RobotAsset(build_glb(mesh_nodes), tuple(node_indices), tuple(is_lost), reader.list_notes())


def _list_links(skeleton: Skeleton, visuals: RobotVisuals) -> list[tuple[int, str]]:
    """List the joints with their links. The first is the root link, the others have their joint's name."""
    children = visuals.link_by_joint
    child_links = [
        (joint_index, children[name])
        for joint_index, name in enumerate(skeleton.names)
        if joint_index and name in children
    ]
    return [(0, str(skeleton.source_ids[0])), *child_links]


class _ShapeReader:
    """Builder of surfaces of visual elements. A file is read once."""

    def __init__(self, urdf_path: Path, package_folders: Sequence[Path]) -> None:
        self.urdf_path, self.package_folders = urdf_path, package_folders
        self.surfaces_by_file: dict[Path, list[Primitive]] = {}
        self.reasons: dict[str, str] = {}  # mesh name in the file -> reason against it
        self.triangle_count = 0

    def build_surfaces(self, visual: Visual, materials: dict[str, str]) -> list[Primitive]:
        """Build the surfaces of one element in the link's frame.

        Where it cannot be shown there are none, and a note.
        """
        try:
            surfaces = self._build_shape(visual)
            transform = _parse_transform(visual)
            colour = _parse_colour(visual.rgba or materials.get(visual.material, ""))
        except FileError as error:
            self.reasons[error.path] = error.reason
            return []
        except ValueError as error:
            self.reasons[f"line {visual.line}: <visual>"] = str(error)
            return []
        self.triangle_count += sum(len(surface.faces) for surface in surfaces)
        if self.triangle_count > MAX_TRIANGLES:
            self.reasons[f"line {visual.line}: <visual>"] = f"the robot has more than {MAX_TRIANGLES:,} triangles"
            return []
        return [transform_surface(surface, transform)._replace(colour=colour or surface.colour) for surface in surfaces]

    def _build_shape(self, visual: Visual) -> list[Primitive]:
        attributes = visual.attributes
        if visual.shape == "mesh":
            scale = np.diag([*_parse_numbers(attributes, "scale", 3, "1 1 1"), 1.0])
            return [
                transform_surface(surface, scale) for surface in self._read_mesh_file(attributes.get("filename", ""))
            ]
        builders: dict[str, Callable[[], Primitive]] = {
            "box": lambda: build_box(np.array(_parse_numbers(attributes, "size", 3))),
            "cylinder": lambda: build_cylinder(
                *_parse_numbers(attributes, "radius", 1), *_parse_numbers(attributes, "length", 1)
            ),
            "capsule": lambda: build_capsule(
                *_parse_numbers(attributes, "radius", 1), *_parse_numbers(attributes, "length", 1)
            ),
            "sphere": lambda: build_sphere(*_parse_numbers(attributes, "radius", 1)),
        }
        return [builders[visual.shape]()] if visual.shape in builders else []

    def _read_mesh_file(self, mesh_name: str) -> list[Primitive]:
        if mesh_name in self.reasons:
            raise FileError(mesh_name, self.reasons[mesh_name])
        try:
            mesh_path = find_mesh_file(self.urdf_path, mesh_name, self.package_folders)
        except FileError as error:
            is_package = mesh_name.startswith(("package://", "model://")) and isinstance(error, MissingMeshError)
            raise FileError(error.path, error.reason + (_PACKAGE_HINT if is_package else "")) from error
        try:
            if mesh_path not in self.surfaces_by_file:
                self.surfaces_by_file[mesh_path] = read_mesh(mesh_path)
        except FileError as error:
            raise FileError(mesh_name, error.reason) from error
        return self.surfaces_by_file[mesh_path]

    def list_notes(self) -> tuple[str, ...]:
        """Format one note per reason, with its meshes."""
        names_by_reason: dict[str, list[str]] = {}
        for name, reason in self.reasons.items():
            names_by_reason.setdefault(reason, []).append(quoted(name.rpartition("/")[2]))
        return tuple(_format_reason(names, reason) for reason, names in names_by_reason.items())


def _format_reason(names: list[str], reason: str) -> str:
    """Format a reason with the names of its meshes.

    Of many meshes only the first are named, so that the note does not cover the robot.
    """
    remaining_count = len(names) - _MAX_NAMED_MESHES
    names_text = (
        join_names(names)
        if remaining_count <= 1
        else f"{join_names(names[:_MAX_NAMED_MESHES])} and {remaining_count} more"
    )
    verb, _, remainder = reason.partition(" ")
    if verb not in _PLURAL_VERBS:
        return f"{names_text}: {reason}"
    if len(names) > 1:
        verb, remainder = _PLURAL_VERBS[verb], remainder.replace("; it was", "; they were")
    return f"{names_text} {verb} {remainder}"


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
