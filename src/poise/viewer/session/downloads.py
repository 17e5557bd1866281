"""Downloads of the page: posed rig, clip and sidecar, by `poise.save()`."""

from __future__ import annotations

import dataclasses
import re
import tempfile
import tomllib
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from poise.comparison.live import describe_live_columns
from poise.errors import FileError, PoiseError, PoiseWarning, UnknownNameError, UnsupportedError
from poise.io.files import build_sidecar_path, is_file, read_bytes
from poise.io.gltf.source_document import GltfDocument
from poise.io.registry import save
from poise.io.sidecar import format_sidecar
from poise.io.urdf_xml import UrdfDocument
from poise.model.clip import Clip
from poise.model.pose import Pose
from poise.model.rig import Rig, Saveable
from poise.model.skeleton import Skeleton
from poise.viewer.document.actions import place_on_ground
from poise.viewer.document.contact_intervals import list_contacts
from poise.viewer.document.document import Document
from poise.viewer.document.match_table import describe_retargeting
from poise.viewer.document.terrain import build_ground_mesh, plant_clip
from poise.viewer.offline.body import export_body
from poise.viewer.offline.chains import export_chains
from poise.viewer.offline.program import ArrayStore
from poise.viewer.offline.races import export_race, list_races
from poise.viewer.offline_page import MAX_FPS, build_offline_page, select_frames
from poise.viewer.rig_message import build_rig_message, find_row_width, pack_frame_rows
from poise.viewer.session.state_messages import describe_chain
from poise.viewer.view_solver import ViewOutcome, ViewSolver, build_pose

_MIME_BY_FORMAT = {
    "glb": "model/gltf-binary",
    "gltf": "model/gltf+json",
    "bvh": "text/plain",
    "urdf": "application/xml",
    "json": "application/json",
    "csv": "text/csv",
    "toml": "application/toml",
}
_UNSAFE_CHARACTERS = re.compile(r"[^\w.-]+")
_MAX_STEM_LENGTH = 100  # characters of a download's stem
_CONTACTS_HEADER = re.compile(r"""\s*\[\s*(contacts|"contacts"|'contacts')\s*[.\]]""")


class Download(NamedTuple):
    """A file for download."""

    name: str
    mime: str
    data: bytes


def list_formats(rig: Rig) -> tuple[str, ...]:
    """List the save formats of a rig, its own first. "toml" is the sidecar."""
    source = rig.skeleton.source
    own_formats = (
        ("glb", "gltf") if isinstance(source, GltfDocument) else ("urdf",) if isinstance(source, UrdfDocument) else ()
    )
    other_formats = [
        name for name in ("glb", "gltf", "bvh", "json", "csv") if name not in own_formats and _can_save(rig, name)
    ]
    if type(source).__name__ == "BvhDocument":
        other_formats.sort(key=lambda name: name != "bvh")
    return (*own_formats, *other_formats, "toml")


def _can_save(rig: Rig, format: str) -> bool:  # noqa: A002
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoiseWarning)  # what a format loses is told when it is saved
        try:
            save_pose(rig, rig.rest, format)
        except PoiseError:
            return False
    return True


def save_pose(rig: Rig, pose: Pose, format: str) -> Download:  # noqa: A002  (the name in the page's messages)
    """Write the rig's file in a pose.

    Everything else in it is kept. As "urdf": with the current limits. Raise UnsupportedError for content that the
    format cannot hold.
    """
    name = f"{_build_stem(rig)}_posed"
    if format == "toml":
        return save_sidecar(rig, pose.skeleton, None)
    if format == "urdf":
        return _save_download(dataclasses.replace(rig.with_skeleton(pose.skeleton), clips=()), rig, name, format)
    return _save_download(pose, rig, name, format)


def save_clip(rig: Rig, clip: Clip, format: str) -> Download:  # noqa: A002
    """Write the rig's file with a clip.

    It is appended to a glTF document, or becomes the frames of a BVH file or joint values.
    """
    if format in ("toml", "urdf"):
        raise UnsupportedError(f"a {format} file holds no clip; save a pose, or the clip to glb, bvh, json or csv")
    stem, clip_name = _build_stem(rig), _UNSAFE_CHARACTERS.sub("_", clip.name)[:_MAX_STEM_LENGTH].strip("._")
    return _save_download(clip, rig, f"{stem}_{clip_name if clip_name not in ('', stem) else 'clip'}", format)


def save_sidecar(rig: Rig, skeleton: Skeleton, chains: Mapping[str, tuple[str, str]] | None) -> Download:
    """Write the sidecar with limits and chains. `chains` None keeps the rig's own; entries of other joints stay.

    Its name is the one that load() searches beside the rig's file.
    """
    joints = [
        name
        for name, old_limit, new_limit in zip(skeleton.names, rig.skeleton.limits, skeleton.limits, strict=True)
        if old_limit is not None or new_limit is not None
    ]
    roles = {role: joint for role, joint in rig.humanoid.items() if role in rig.sidecar_roles}
    text = format_sidecar(skeleton, joints, chains, roles) + _read_contact_tables(rig)
    return Download(f"{_build_stem(rig)}.ik.toml", _MIME_BY_FORMAT["toml"], text.encode())


def _save_download(content: Saveable, rig: Rig, stem: str, format: str) -> Download:  # noqa: A002
    if format not in _MIME_BY_FORMAT:
        raise UnknownNameError("format", format, _MIME_BY_FORMAT)
    is_vrm = (
        rig.path is not None and rig.path.suffix.lower() == ".vrm" and isinstance(rig.skeleton.source, GltfDocument)
    )
    name = f"{stem}.{'vrm' if is_vrm and format == 'glb' else format}"
    with tempfile.TemporaryDirectory(prefix="poise-") as folder:
        path = Path(folder) / name
        try:
            save(content, path, like=rig)
        except FileError as error:  # without the path of the temporary folder
            raise FileError(name, error.reason, place=error.place) from error
        except UnsupportedError as error:
            raise UnsupportedError(str(error).replace(str(path), name)) from error
        return Download(name, _MIME_BY_FORMAT[format], path.read_bytes())


def _build_stem(rig: Rig) -> str:
    stem = rig.path.stem if rig.path is not None else "rig"
    return _UNSAFE_CHARACTERS.sub("_", stem)[:_MAX_STEM_LENGTH].strip("._") or "rig"


def _read_contact_tables(rig: Rig) -> str:
    """Read the `contacts` tables of the rig's sidecar as text. The viewer does not edit them."""
    path = build_sidecar_path(rig.path) if rig.path is not None else None
    if path is None or not is_file(path):
        return ""
    try:
        text = read_bytes(path, may_be_empty=True).decode("utf-8")
        contacts = tomllib.loads(text).get("contacts")
        lines, is_inside = list[str](), False
        for line in text.splitlines(keepends=True):
            is_inside = bool(_CONTACTS_HEADER.match(line)) if line.lstrip().startswith("[") else is_inside
            lines += [line] if is_inside else []
        tables_text = "".join(lines)
        return tables_text if tomllib.loads(tables_text).get("contacts") == contacts else ""
    except (PoiseError, ValueError, RecursionError):
        return ""


# --- Build the files for download: pose, solved clip, sidecar, page --------------------------------------------------


_CLIP_FORMATS = ("glb", "gltf", "bvh")  # formats with motion


def build_download(document: Document, pose: Pose, clip: Clip | None, format_name: str) -> Download:
    """Build the download of a pose or a clip. Of a crowd the first pose counts, but all of them in a page.

    Chains are solved on every frame of a clip. Raise UnsupportedError where the format cannot hold it.
    """
    if format_name == "html":
        return _build_page_download(document, pose, clip)
    if format_name == "toml":
        if document.scope == "body":  # its chains are made from roles, not chosen
            return save_sidecar(document.rig, document.skeleton, None)
        chains = {chain.name: (chain.list_joints(document.skeleton)[0], chain.tip) for chain in document.chains}
        return save_sidecar(document.rig, document.skeleton, chains)
    if clip is not None and format_name in _CLIP_FORMATS:
        return save_clip(document.rig, solve_clip(document, clip).on(document.skeleton), format_name)
    # all limits, in any mode
    single_pose = (pose[0] if pose.shape else pose).on(document.skeleton)
    return save_pose(document.rig, single_pose, format_name)


def solve_clip(document: Document, clip: Clip) -> Clip:
    """Solve the chains of view A on every frame. Each frame starts from its own pose."""
    if not document.active_chains:
        return clip
    q = np.array(clip.poses.q)
    for i in range(len(clip)):
        base_pose = Pose(document.solver_skeleton, *_read_pose_arrays(clip.poses, i))
        q[i] = ViewSolver(document, base_pose, document.solvers[0])(document.active_chains, base_pose.q[None]).q[0]
    return Clip(clip.times, clip.poses.with_q(q), clip.name)


def _read_pose_arrays(poses: Pose, frame: int) -> list[Any]:
    return [None if array is None else array[frame] for array in (poses.q, poses.translations, poses.scales)]


def _thin_out(clip: Clip) -> Clip:
    """Reduce a clip to the frames of a page."""
    clip = clip.resample(MAX_FPS) if clip.fps > MAX_FPS else clip
    is_kept = select_frames(clip.times)
    return clip if is_kept.all() else Clip(clip.times[is_kept], clip.poses[is_kept], clip.name)


def _build_page_download(document: Document, pose: Pose, clip: Clip | None) -> Download:
    """Build an offline page of the clip or the poses."""
    solved_clip = None
    if clip is None or not len(clip):
        times, rows = np.zeros(1), pack_frame_rows(pose, find_row_width(pose))[None]
    else:
        solved_clip = solve_clip(document, _thin_out(clip))
        times, rows = solved_clip.times, pack_frame_rows(solved_clip.poses, find_row_width(solved_clip.poses))
    if rows.ndim == 3:  # noqa: PLR2004  (frames of one character)
        rows = rows[:, None]
    rig_message = build_rig_message(
        document.rig, document.character_positions[: rows.shape[1]], document.package_folders
    )
    extras: dict[str, Any] = {
        "chains": [describe_chain(document, chain) for chain in document.active_chains],
        "contacts": list_contacts(clip),
        "retargeting": describe_retargeting(document),
    }
    terrain_glb = None
    if document.terrain_spec is not None:
        terrain_glb = build_ground_mesh(document.rig, document.terrain_spec, document.solver_start)
    store = ArrayStore()
    races = _export_races(document, store)
    if solved_clip is None and not pose.shape:
        document = document.replace(start=pose.on(document.skeleton))  # the page goes on from what is shown
    body = export_body(document, store, solved_clip)
    chains = export_chains(document, store) if body is None else None
    extras |= {"body": body, "solved": chains, "scope": document.scope, "races": races}
    numbers = store.get_bytes() if body or chains or races else b""
    page = build_offline_page(rig_message, rows, times, document.name, extras, terrain=terrain_glb, numbers=numbers)
    stem = document.rig.path.stem if document.rig.path is not None else (document.scene_name or "rig")
    return Download(f"{stem}.html", "text/html", page)


def _export_races(document: Document, store: ArrayStore) -> dict[str, Any] | None:
    """Pack the races of methods of a page. None where no chain has methods for it."""
    races: list[dict[str, Any]] = []
    for race in list_races(document):
        packed = export_race(race, store)
        if packed is not None:
            races.append({"chain": describe_chain(race, race.active_chains[0]), **packed})
    if not races:
        return None
    columns = describe_live_columns(document.rig.skeleton.metres_per_unit)
    return {"chains": races, "columns": columns, "opens": document.pace == "race"}


# --- Solve a document without a browser, and export it ---------------------------------------------------------------


def solve_document(document: Document) -> ViewOutcome:
    """Solve all chains of view A from the start pose. It covers every character."""
    chains = [place_on_ground(document, chain) for chain in document.active_chains]
    q = np.repeat(document.solver_start.q[None], len(document.character_positions), axis=0)
    if not chains:
        return ViewOutcome(q, q)
    return ViewSolver(document, document.solver_start, document.solvers[0])(chains, q)


def solve_document_pose(document: Document) -> Pose:
    """Solve the first character and return its pose."""
    return document.solver_start.with_q(solve_document(document).q[0])


def build_document_page(document: Document) -> bytes:
    """Build an offline page (HTML) of a document. It plays the clip, or goes on from the reached targets."""
    return build_download(
        document, build_pose(document.solver_start, solve_document(document).q), _find_clip(document), "html"
    ).data


def _find_clip(document: Document) -> Clip | None:
    if document.clip_name is None:
        return None
    clip = document.rig.clip(document.clip_name)
    if document.plants_feet and document.terrain_spec is not None:
        return plant_clip(document.rig, clip, document.terrain_spec)
    return clip
