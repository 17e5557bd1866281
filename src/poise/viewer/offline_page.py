"""Export a clip as one self-contained HTML file. It needs no server, no internet and no other file.

The file is web/player.html with its style sheets inside, and elements <script type="application/json"> and <script
type="application/gzip;base64">:

    poise-modules  the modules by name (located by the import map of index.html), as JSON
    poise-data     {"title", "model": the message, "times": [s], "frames", "characters", "joints", "width"} and the
                   extras
    poise-frames   float32, little endian, (frames, characters, joints, width) as in a message of poses
    poise-asset    the GLB of the model, empty without one
    poise-terrain  the GLB of the terrain, empty without one
    poise-kernels  the kernels in WebAssembly, where the page solves
    poise-numbers  numbers of the arrays that these work on, see viewer/offline

web/unpack.js makes an import map of data: URLs from the modules, which the policy knows by its hash, and starts the
page. The content security policy forbids everything from outside.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from poise.errors import InputError
from poise.io.files import encode_text
from poise.maths.arrays import Bools, Floats, check_finite
from poise.viewer.rig_message import RigMessage

WEB_FOLDER = Path(__file__).parent / "web"
MAX_FPS = 60.0  # [1/s] frame rate of the export: the rate of a screen
_ELEMENT_PATTERN = r"<{name}\b(?P<attributes>[^>]*{attribute}[^>]*)>(?P<text>.*?)</{name}>"
_IMPORT_MAP = re.compile(_ELEMENT_PATTERN.format(name="script", attribute=r'type="importmap"'), re.DOTALL)
_IMPORT_MAP_PAGE = "index.html"  # page beside the player; its import map locates the modules
_ENTRY_MODULE = re.compile(_ELEMENT_PATTERN.format(name="script", attribute=r'type="module"'), re.DOTALL)
_DATA_ELEMENT = re.compile(_ELEMENT_PATTERN.format(name="script", attribute=r'id="poise-\w+"') + r"\s*", re.DOTALL)
_STYLE_LINK = re.compile(r'<link\b[^>]*rel="stylesheet"[^>]*href="(?P<path>[^"]*)"[^>]*>')
_TITLE = re.compile(r"<title>.*?</title>", re.DOTALL)
_CHARSET = re.compile(r"<meta charset=[^>]*>", re.IGNORECASE)
_IMPORT = re.compile(r"""(?:\bfrom|\bimport)\s*\(?\s*(["'])(?P<name>[^"'\n]+)\1""")
_COMMENT = re.compile(r"/\*\*.*?\*/", re.DOTALL)  # types in comments are no imports
_BINARY_TYPE = "application/gzip;base64"
_UNPACKER = "unpack.js"  # script beside the page
_KERNELS = "kernels.wasm"  # made by docs/try_page/_build.py


def build_offline_page(
    model: RigMessage,
    frames: ArrayLike,
    times: ArrayLike,
    title: str,
    extras: Mapping[str, Any] | None = None,
    *,
    terrain: bytes | None = None,
    numbers: bytes = b"",
    page: Path = WEB_FOLDER / "player.html",
) -> bytes:
    """Build the HTML file for frames (F, characters, joints, width). Their times (F,) are in seconds.

    At most 60 frames a second are kept. `extras` are further keys of the data, for the player. With `numbers`,
    those of packed arrays, the page has kernels and solves.
    """
    rows, seconds = _check_frames(model, frames, times)
    is_selected = select_frames(seconds)
    rows, seconds = np.ascontiguousarray(rows[is_selected], dtype="<f4"), seconds[is_selected]
    frame_count, character_count, joint_count, width = rows.shape
    data = {
        **(extras or {}),
        "title": title,
        "model": model.message,
        "times": np.round(seconds, 6).tolist(),
        "frames": frame_count,
        "characters": character_count,
        "joints": joint_count,
        "width": width,
    }
    elements = [
        _build_element("application/json", "data", json.dumps(data, allow_nan=False).replace("<", "\\u003c")),
        _build_element(_BINARY_TYPE, "frames", _pack(rows.tobytes())),
        _build_element(_BINARY_TYPE, "asset", _pack(model.asset or b"")),
        _build_element(_BINARY_TYPE, "terrain", _pack(terrain or b"")),
    ]
    if numbers:
        elements.append(_build_element(_BINARY_TYPE, "numbers", _pack(numbers)))
        elements.append(_build_element(_BINARY_TYPE, "kernels", _pack((WEB_FOLDER / _KERNELS).read_bytes())))
    return encode_text(_build_html(page, title, "\n".join(elements)))


def _check_frames(model: RigMessage, frames: ArrayLike, times: ArrayLike) -> tuple[np.ndarray, Floats]:
    rows, seconds = np.asarray(frames), check_finite(times, "the times of frames")
    joint_count = len(model.message["joints"])
    if rows.ndim != 4 or rows.shape[2] != joint_count or rows.shape[3] not in (7, 12) or not np.isfinite(rows).all():  # noqa: PLR2004
        message = f"frames are finite numbers (frames, characters, {joint_count}, 7 or 12); got the shape {rows.shape}"
        raise InputError(message)
    if seconds.shape != rows.shape[:1] or not len(seconds) or (np.diff(seconds) < 0.0).any():
        message = f"{len(rows)} frames need as many times, at least one, in order; got the shape {seconds.shape}"
        raise InputError(message)
    return rows, seconds


def select_frames(times: Floats) -> Bools:
    """Select at most 60 frames a second as a mask (F,). The first and the last frame stay."""
    time_slots = np.floor((times - times[0]) * MAX_FPS + 0.01)  # a frame late by rounding stays in its slot
    is_selected = np.diff(time_slots, prepend=-1.0) > 0.0
    is_selected[-1] = True
    return is_selected


# --- the page -----------------------------------------------------------------------------------------------------


def _build_html(page: Path, title: str, elements: str) -> str:
    """Build the page with all its resources inlined."""
    text = page.read_text(encoding="utf-8")
    entry, import_map = (
        _ENTRY_MODULE.search(text),
        _IMPORT_MAP.search((page.parent / _IMPORT_MAP_PAGE).read_text(encoding="utf-8")),
    )
    if entry is None or import_map is None:
        message = f"{_IMPORT_MAP_PAGE} has no import map, or {page.name} no module to start with"
        raise InputError(message)
    entry_name = f"poise/{re.findall(r'([^/]+[.]js)', entry['attributes'])[-1]}"
    start_script = f'import "{entry_name}";'
    modules = _collect_modules(page.parent, json.loads(import_map["text"])["imports"], entry_name)
    inlined_map = _build_import_map(modules)
    elements += "\n" + _build_element(_BINARY_TYPE, "modules", _pack(_format_json(modules).encode()))
    unpacker = (WEB_FOLDER / _UNPACKER).read_text(encoding="utf-8")
    styles = [(page.parent / match["path"]).read_text(encoding="utf-8") for match in _STYLE_LINK.finditer(text)]
    text = _DATA_ELEMENT.sub("", text)
    text = _IMPORT_MAP.sub("", text, count=1)
    text = _ENTRY_MODULE.sub(
        lambda _: f'{elements}\n<script data-start="{html.escape(start_script)}">{unpacker}</script>', text, count=1
    )
    style_iterator = iter(styles)
    text = _STYLE_LINK.sub(lambda _: f"<style>{next(style_iterator)}</style>", text)
    text = _TITLE.sub(lambda _: f"<title>{html.escape(title)}</title>", text, count=1)
    policy = _build_policy([unpacker, inlined_map, start_script], styles)
    return _CHARSET.sub(
        lambda match: f'{match[0]}\n<meta http-equiv="Content-Security-Policy" content="{policy}">', text, count=1
    )


def _collect_modules(folder: Path, imports: dict[str, str], entry_name: str) -> dict[str, str]:
    """Collect the texts of a module and its imports, by name."""
    modules: dict[str, str] = {}
    remaining_names = [entry_name]
    while remaining_names:
        name = remaining_names.pop()
        path = _locate_module(name, imports)
        if name in modules or path is None:
            continue
        modules[name] = (folder / path).read_bytes().decode("utf-8")
        remaining_names += [match["name"] for match in _IMPORT.finditer(_COMMENT.sub("", modules[name]))]
    if entry_name not in modules:
        message = f"the import map of the player has no {entry_name!r}"
        raise InputError(message)
    return dict(sorted(modules.items()))


def _build_import_map(modules: Mapping[str, str]) -> str:
    """Build the import map with data: URLs, as unpack.js does."""
    urls = {name: f"data:text/javascript;base64,{_encode_base64(text.encode())}" for name, text in modules.items()}
    return _format_json({"imports": urls})


def _format_json(value: Any) -> str:
    """Format a value as JSON.stringify does."""
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def _locate_module(name: str, imports: dict[str, str]) -> str | None:
    """Locate a module by its entry or its longest prefix."""
    prefixes = [prefix for prefix in imports if name == prefix or (prefix.endswith("/") and name.startswith(prefix))]
    if not prefixes:
        return None
    prefix = max(prefixes, key=len)
    return imports[prefix] + name[len(prefix) :]


def _build_policy(scripts: list[str], styles: list[str]) -> str:
    """Build a content security policy for inlined content only."""
    return "; ".join(
        [
            "default-src 'none'",
            " ".join(["script-src data: 'wasm-unsafe-eval'", *(hash_for_csp(text.encode()) for text in scripts)]),
            " ".join(["style-src", *(hash_for_csp(text.encode()) for text in styles)]),
            "img-src data: blob:",
            "connect-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def hash_for_csp(contents: bytes) -> str:
    """Hash a script or style for a content security policy."""
    return f"'sha256-{_encode_base64(hashlib.sha256(contents).digest())}'"


def _build_element(mime: str, element_name: str, text: str) -> str:
    return f'<script type="{mime}" id="poise-{element_name}">{text}</script>'


def _pack(data: bytes) -> str:
    return _encode_base64(gzip.compress(data, mtime=0))


def _encode_base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
