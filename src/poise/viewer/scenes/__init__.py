"""Registry of demo scenes, one per file. The file name is the scene's name.

A scene file has a TITLE, a TEXT of one or two sentences, a HINT (what to try, on the stage), an ORDER in the menu, and
`make() -> Document`. It is imported when scenes are listed, and its rig is built on demand. Common rigs are in
`scene_rigs.py`. `scripts/make_scene_pictures.py` draws the picture of the menu.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import Any, NamedTuple

from poise.errors import UnknownNameError
from poise.viewer.document.document import Document


class SceneInfo(NamedTuple):
    """Menu entry of a scene."""

    name: str
    title: str
    text: str
    hint: str


@cache
def names() -> tuple[str, ...]:
    """List the scene names in the order of the menu."""
    scene_names = [module.name for module in pkgutil.iter_modules(__path__) if not module.ispkg]
    return tuple(sorted(scene_names, key=lambda name: _load_module(name).ORDER))


def describe_scene(name: str) -> SceneInfo:
    """Return name, title and text of a scene. UnknownNameError lists all scenes."""
    module = _load_module(_check_name(name))
    return SceneInfo(name, module.TITLE, module.TEXT, module.HINT)


def build_scene(name: str) -> Document:
    """Build a scene. UnknownNameError lists all scenes."""
    module = _load_module(_check_name(name))
    return module.make().replace(scene_name=name, name=module.TITLE)


def _check_name(name: str) -> str:
    if name not in names():
        raise UnknownNameError("scene", name, names())
    return name


def _load_module(name: str) -> Any:
    return importlib.import_module(f"{__name__}.{name}")
