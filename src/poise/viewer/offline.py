"""Export a clip as one self-contained HTML file. It needs no server, no internet and no other file.

The file is web/player.html with its style sheets inside, its modules as data: URLs in an import map (located by the map
of index.html), and the data as elements <script type="application/json"> and <script
type="application/octet-stream;base64">:

    poise-data     {"title", "model": the message, "times": [s], "frames", "characters", "joints", "width"} and the
                   extras
    poise-frames   float32, little endian, (frames, characters, joints, width) as in a message of poses
    poise-asset    the GLB of the model, empty without one
    poise-terrain  the GLB of the terrain, empty without one

A content security policy in it forbids everything from outside.
"""

from __future__ import annotations

import base64
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
from poise.maths.arrays import Bools, Floats, finite
from poise.viewer.model import Model

WEB = Path(__file__).parent / "web"
FASTEST = 60.0  # [1/s] frame rate of the export: the rate of a screen
_TAG = r"<{name}\b(?P<attributes>[^>]*{attribute}[^>]*)>(?P<text>.*?)</{name}>"
_MAP = re.compile(_TAG.format(name="script", attribute=r'type="importmap"'), re.DOTALL)
_MAPPED = "index.html"  # page beside the player; its import map locates the modules
_ENTRY = re.compile(_TAG.format(name="script", attribute=r'type="module"'), re.DOTALL)
_DATA = re.compile(_TAG.format(name="script", attribute=r'id="poise-\w+"') + r"\s*", re.DOTALL)
_STYLE = re.compile(r'<link\b[^>]*rel="stylesheet"[^>]*href="(?P<path>[^"]*)"[^>]*>')
_TITLE = re.compile(r"<title>.*?</title>", re.DOTALL)
_HEAD = re.compile(r"<meta charset=[^>]*>", re.IGNORECASE)
_IMPORT = re.compile(r"""(?:\bfrom|\bimport)\s*\(?\s*(["'])(?P<name>[^"'\n]+)\1""")
_BYTES = "application/octet-stream;base64"


def offline_page(
    model: Model,
    frames: ArrayLike,
    times: ArrayLike,
    title: str,
    extras: Mapping[str, Any] | None = None,
    *,
    terrain: bytes | None = None,
    page: Path = WEB / "player.html",
) -> bytes:
    """Build the HTML file for frames (F, characters, joints, width). Their times (F,) are in seconds.

    At most 60 frames a second are kept. `extras` are further keys of the data, for the player.
    """
    rows, seconds = _checked(model, frames, times)
    kept = thinned(seconds)
    rows, seconds = np.ascontiguousarray(rows[kept], dtype="<f4"), seconds[kept]
    count, characters, joints, width = rows.shape
    data = {
        **(extras or {}),
        "title": title,
        "model": model.message,
        "times": np.round(seconds, 6).tolist(),
        "frames": count,
        "characters": characters,
        "joints": joints,
        "width": width,
    }
    elements = [
        _element("application/json", "data", json.dumps(data, allow_nan=False).replace("<", "\\u003c")),
        _element(_BYTES, "frames", _base64(rows.tobytes())),
        _element(_BYTES, "asset", _base64(model.asset or b"")),
        _element(_BYTES, "terrain", _base64(terrain or b"")),
    ]
    return encode_text(_whole(page, title, "\n".join(elements)))


def _checked(model: Model, frames: ArrayLike, times: ArrayLike) -> tuple[np.ndarray, Floats]:
    rows, seconds = np.asarray(frames), finite(times, "the times of frames")
    joints = len(model.message["joints"])
    if rows.ndim != 4 or rows.shape[2] != joints or rows.shape[3] not in (7, 12) or not np.isfinite(rows).all():  # noqa: PLR2004
        message = f"frames are finite numbers (frames, characters, {joints}, 7 or 12); got the shape {rows.shape}"
        raise InputError(message)
    if seconds.shape != rows.shape[:1] or not len(seconds) or (np.diff(seconds) < 0.0).any():
        message = f"{len(rows)} frames need as many times, at least one, in order; got the shape {seconds.shape}"
        raise InputError(message)
    return rows, seconds


def thinned(times: Floats) -> Bools:
    """Select at most 60 frames a second as a mask (F,). The first and the last frame stay."""
    slots = np.floor((times - times[0]) * FASTEST + 0.01)  # a frame late by rounding stays in its slot
    kept = np.diff(slots, prepend=-1.0) > 0.0
    kept[-1] = True
    return kept


# --- the page -----------------------------------------------------------------------------------------------------


def _whole(page: Path, title: str, elements: str) -> str:
    """Build the page with all its resources inlined."""
    text = page.read_text(encoding="utf-8")
    entry, imports = _ENTRY.search(text), _MAP.search((page.parent / _MAPPED).read_text(encoding="utf-8"))
    if entry is None or imports is None:
        message = f"{_MAPPED} has no import map, or {page.name} no module to start with"
        raise InputError(message)
    first = f"poise/{re.findall(r'([^/]+[.]js)', entry['attributes'])[-1]}"
    start = f'import "{first}";'
    names = json.dumps({"imports": _inlined(page.parent, json.loads(imports["text"])["imports"], first)})
    styles = [(page.parent / found["path"]).read_text(encoding="utf-8") for found in _STYLE.finditer(text)]
    text = _DATA.sub("", text)
    text = _ENTRY.sub(lambda _: f'{elements}\n<script type="module">{start}</script>', text, count=1)
    text = _MAP.sub(lambda _: f'<script type="importmap">{names}</script>', text, count=1)
    sheets = iter(styles)
    text = _STYLE.sub(lambda _: f"<style>{next(sheets)}</style>", text)
    text = _TITLE.sub(lambda _: f"<title>{html.escape(title)}</title>", text, count=1)
    policy = _policy([names, start], styles)
    return _HEAD.sub(
        lambda found: f'{found[0]}\n<meta http-equiv="Content-Security-Policy" content="{policy}">', text, count=1
    )


def _inlined(folder: Path, imports: dict[str, str], first: str) -> dict[str, str]:
    """Build the import map of `first` with data: URLs."""
    found: dict[str, str] = {}
    waiting = [first]
    while waiting:
        name = waiting.pop()
        if name in found or name not in imports:
            continue
        data = (folder / imports[name]).read_bytes()
        found[name] = f"data:text/javascript;base64,{_base64(data)}"
        waiting += [match["name"] for match in _IMPORT.finditer(data.decode("utf-8"))]
    if first not in found:
        message = f"the import map of the player has no {first!r}"
        raise InputError(message)
    return dict(sorted(found.items()))


def _policy(scripts: list[str], styles: list[str]) -> str:
    """Build a content security policy for inlined content only."""
    return "; ".join(
        [
            "default-src 'none'",
            " ".join(["script-src data:", *(hashed(text.encode()) for text in scripts)]),
            " ".join(["style-src", *(hashed(text.encode()) for text in styles)]),
            "img-src data: blob:",
            "connect-src data: blob:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def hashed(contents: bytes) -> str:
    """Hash a script or style for a content security policy."""
    return f"'sha256-{_base64(hashlib.sha256(contents).digest())}'"


def _element(kind: str, name: str, text: str) -> str:
    return f'<script type="{kind}" id="poise-{name}">{text}</script>'


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
