"""What hatchling computes when it builds Poise: the README for a package index, and the platform of a wheel."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

_PLATFORM_VARIABLE = "POISE_WHEEL"
_ANY = "any"  # value of the variable
_COMPILER = "numba"  # requirement where a wheel has no library of kernels
_LIBRARY_FOLDER = "src/poise/kernels/libraries"
_CHECKOUT_SECTION = "## Where to read on\n"  # the last one: its links lead to pages of the repository
_CHECKOUT_BLOCK = re.compile(r"^```bash\nscripts/.*?^```\n+", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->\n+", re.DOTALL)
_PICTURE = re.compile(r"^!\[[^\]]*\]\([^)]*\)\n+", re.MULTILINE)
_REFERENCE = re.compile(r" \([^()]*\[[^\]]*\]\((?!https?:)[^)]*\)[^()]*\)")  # words in brackets around a link
_RELATIVE_LINK = re.compile(r"\[([^\]]*)\]\((?!https?:)[^)]*\)")


def make_index_readme(text: str) -> str:
    """Make the README of a package index from the README of a checkout.

    An index shows neither files nor folders of the repository. Pictures and parts for a checkout are left out, relative
    links become plain text, and the package is installed by its name.
    """
    text = text.partition(_CHECKOUT_SECTION)[0]
    for pattern in (_CHECKOUT_BLOCK, _COMMENT, _PICTURE, _REFERENCE):
        text = pattern.sub("", text)
    text = _RELATIVE_LINK.sub(r"\1", text)
    return text.replace("'.[", "'poise[").replace("pip install .", "pip install poise").rstrip() + "\n"


class ContentHook(MetadataHookInterface):
    """Hook for the dynamic field `readme`, and for the requirements of a wheel from scripts/wheels."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the README, and the requirements of the wheel that POISE_WHEEL names."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": make_index_readme(text)}
        platform = os.environ.get(_PLATFORM_VARIABLE)
        if platform:
            metadata["dependencies"] = list_requirements(metadata["dependencies"], has_library=platform != _ANY)


def list_requirements(requirements: list[str], *, has_library: bool) -> list[str]:
    """List the requirements of a wheel: Numba unless the wheel has a library of kernels.

    The marker in pyproject.toml is that of builds from the sources, which have the library of Linux x86-64.
    """
    others = [text for text in requirements if not text.startswith(_COMPILER)]
    (compiler,) = (text.partition(";")[0] for text in requirements if text.startswith(_COMPILER))
    return others if has_library else [*others, compiler]


class PlatformHook(BuildHookInterface):
    """Hook for the library of kernels in a wheel.

    POISE_WHEEL unset    what pip builds from the sources: any platform, the library of Linux x86-64, Numba elsewhere
    POISE_WHEEL=any      any platform, no library, Numba
    POISE_WHEEL=PLATFORM e.g. manylinux_2_17_x86_64: one platform, the library in the file POISE_LIBRARY, no Numba
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Set the tag of the wheel and the library in it."""
        if version != "standard":  # an editable installation uses the source folder
            return
        platform, libraries = os.environ.get(_PLATFORM_VARIABLE), sorted(Path(self.root, _LIBRARY_FOLDER).iterdir())
        if platform:
            libraries = [] if platform == _ANY else [Path(os.environ["POISE_LIBRARY"])]
        if platform and platform != _ANY:
            build_data["tag"], build_data["pure_python"] = f"cp311-abi3-{platform}", False
        for path in libraries:
            build_data["force_include"][str(path)] = f"{_LIBRARY_FOLDER.removeprefix('src/')}/{path.name}"
