"""Make docs/try.html from this folder, the packing of solvers, and the kernels.

    python docs/try_page/_build.py              make it; kernels with unchanged sources are taken from the present page
    python docs/try_page/_build.py --compile    compile the kernels anyway, as after a change of tools/native
    python docs/try_page/_build.py --check      1 where it is behind

The page is one file: style sheet, modules, scenes and kernels are inside it. tools/native/build.py compiles the kernels
to WebAssembly, which needs Numba and zig. They are written to src/poise/viewer/web/kernels.wasm, too, for pages of
the viewer.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import html
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

os.environ["POISE_LEVEL"] = "portable"  # the bits of WebAssembly; this module belongs to a process of its own
sys.path.insert(0, str(Path(__file__).parent.parent))

from poise.kernels import stamps
from poise.viewer.offline.program import ArrayStore
from try_page import export

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[1]
PAGE = FOLDER.parent / "try.html"
_ENTRY_MODULE = "main.js"
_IMPORT = re.compile(
    r'^import \{[^}]*\} from "(?:\./|\.\./\.\./src/poise/viewer/web/js/)(?P<name>[\w/]+\.js)";\n', re.MULTILINE
)
_VIEWER_WEB = ROOT / "src" / "poise" / "viewer" / "web"
KERNELS = _VIEWER_WEB / "kernels.wasm"  # of the viewer's pages, too
_ELEMENT = '<script type="{}" id="poise-{}">{}</script>'
_SCENE_TEXTS = {  # for each scene: title, about the arm, and what to try
    "ccd": (
        "Ball joints",
        "Five joints, and each turns in every direction, like a shoulder.",
        "Drag the cube round the arm. Then pull it out of reach: the arm stretches towards it.",
    ),
    "ccd_hinge": (
        "Hinges",
        "The same arm, but each joint turns about one axis only, like a door, as far as it likes.",
        "Drag the cube behind the arm, and compare the poses of the methods.",
    ),
    "ccd_hinge_range": (
        "Hinges with stops",
        "Now each hinge has stops, shown by the rings; a ring turns red when its joint is at one.",
        "Drag the cube low and close to the stand until rings turn red.",
    ),
    "five_axes": (
        "Five axes, one direction",
        "A robot arm of five hinges: three carry the tool to the cube, two point it along the arrow.",
        "Drag the ball at the end of the arrow to turn the tool.",
    ),
}


# The tools that decide about the bytes of the WebAssembly.
_COMPILING_TOOLS = "capture.py", "link.py", "optimise.py", "platforms.py", "portable_code.py", "portable_math.c"


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--output", type=Path, default=PAGE)
    options = parser.parse_args()
    if options.check:
        behind = find_behind(options.output.read_text(encoding="utf-8"))
        print("\n".join(f"{options.output.name} is behind: {part}" for part in behind) or "the page is up to date")
        return bool(behind)
    data = collect_data()
    present = None if options.compile or not PAGE.exists() else PAGE.read_text(encoding="utf-8")
    built = {} if present is None else json.loads(read_element(present, "scenes"))
    if present is not None and all(built.get(name) == data[name] for name in ("stamps", "tools")):
        kernels = base64.b64decode(read_element(present, "kernels"))
    else:
        kernels = build_kernels([*data["stamps"]])
    options.output.write_text(assemble(data, kernels), encoding="utf-8")
    KERNELS.write_bytes(kernels)
    print(f"{options.output}: {options.output.stat().st_size / 1e6:.2f} MB, {len(data['stamps'])} kernels")
    return 0


def collect_data() -> dict[str, Any]:
    """Collect the scenes, the stamps of their kernels, and the numbers of their arrays."""
    store = ArrayStore()
    packed_scenes = [export.export_scene(name, store) for name in export.SCENE_NAMES]
    for scene in packed_scenes:
        scene["title"], scene["text"], scene["hint"] = _SCENE_TEXTS[scene["name"]]
    present = stamps.compute_kernel_stamps()
    tools = [ROOT / "tools" / "native" / name for name in _COMPILING_TOOLS]
    return {
        "tools": hashlib.sha256(b"".join(path.read_bytes() for path in tools)).hexdigest()[:16],
        "stamps": {name: present[name] for name in sorted(set(_list_kernels(packed_scenes)))},
        "methods": [{"name": name, "title": title} for name, title in export.METHODS.items()],
        "scenes": packed_scenes,
        "numbers": store.get_bytes(),
    }


def _list_kernels(packed: Any) -> Iterable[str]:
    """List the kernels called anywhere in packed scenes."""
    if isinstance(packed, dict):
        if "call" in packed:
            yield packed["call"]
        for value in packed.values():
            yield from _list_kernels(value)
    elif isinstance(packed, list):
        for value in packed:
            yield from _list_kernels(value)


def build_kernels(names: list[str]) -> bytes:
    """Build the WebAssembly module of kernels."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernels.wasm"
        command = [sys.executable, str(ROOT / "tools" / "native" / "build.py"), "--wasm", str(path), *names]
        environment = {name: value for name, value in os.environ.items() if name != "POISE_LEVEL"}
        subprocess.run(command, check=True, env=environment)  # noqa: S603  (our own script)
        return path.read_bytes()


def assemble(data: dict[str, Any], kernels: bytes) -> str:
    """Assemble the page."""
    script, style = bundle(_ENTRY_MODULE), (FOLDER / "style.css").read_text(encoding="utf-8")
    scenes = json.dumps(
        {key: value for key, value in data.items() if key != "numbers"}, allow_nan=False, separators=(",", ":")
    )
    elements = "\n".join((
        _ELEMENT.format("application/json", "scenes", scenes.replace("<", "\\u003c")),
        _ELEMENT.format("application/octet-stream;base64", "numbers", base64.b64encode(data["numbers"]).decode()),
        _ELEMENT.format("application/octet-stream;base64", "kernels", base64.b64encode(kernels).decode()),
    ))  # fmt: skip
    policy = (
        f"default-src 'none'; script-src {_hash(script)} 'wasm-unsafe-eval'; style-src {_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    text = (FOLDER / "page.html").read_text(encoding="utf-8")
    parts = {"policy": html.escape(policy, quote=False), "style": style, "elements": elements, "script": script}
    return re.sub(r"\{(policy|style|elements|script)\}", lambda match: parts[match[1]], text)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def bundle(entry: str) -> str:
    """Join a module and all that it imports to one, in the order of their use.

    Names at the top level are unique, so imports and exports are left out.
    """
    texts: dict[str, str] = {}

    def add(name: str) -> None:
        if name in texts:
            return
        folder = _VIEWER_WEB / "js" if "/" in name else FOLDER
        text = (folder / name).read_text(encoding="utf-8")
        texts[name] = ""  # its place is behind what it imports
        for match in _IMPORT.finditer(text):
            add(match["name"])
        del texts[name]
        texts[name] = re.sub(r"^export ", "", _IMPORT.sub("", text), flags=re.MULTILINE)

    add(entry)
    return "\n" + "\n".join(texts.values())


def read_element(page: str, name: str) -> str:
    """Read the text of an element with data."""
    match = re.search(rf'<script type="[^"]*" id="poise-{name}">(.*?)</script>', page, re.DOTALL)
    if match is None:
        sys.exit(f"the page has no element poise-{name}: build it anew")
    return match[1]


def find_behind(page: str) -> list[str]:
    """List what the page has from other sources than the present ones."""
    data = collect_data()
    built = json.loads(read_element(page, "scenes"))
    behind = [f"kernel {name}" for name, stamp in data["stamps"].items() if built["stamps"].get(name) != stamp]
    built_numbers, kernels = (base64.b64decode(read_element(page, name)) for name in ("numbers", "kernels"))
    if json.loads(json.dumps({key: value for key, value in data.items() if key not in ("numbers", "stamps")})) != {
        key: value for key, value in built.items() if key != "stamps"
    }:
        behind.append("the scenes")
    if not KERNELS.exists() or KERNELS.read_bytes() != kernels:
        behind.append(f"{KERNELS.name} of the viewer")
    if built_numbers != data["numbers"]:
        behind.append("the numbers of the scenes")
    if not behind and assemble(data, kernels) != page:
        behind.append("the files of docs/try_page")
    return behind


if __name__ == "__main__":
    sys.exit(main())
