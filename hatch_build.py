"""What hatchling computes when it builds Poise: the README for a package index, and the platform of a wheel."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

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


class ReadmeHook(MetadataHookInterface):
    """Hook for the dynamic field `readme`."""

    def update(self, metadata: dict[str, object]) -> None:
        """Set the README."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": make_index_readme(text)}


class PlatformHook(BuildHookInterface):
    """Hook for the wheel of one platform, which POISE_WHEEL names: `POISE_WHEEL=manylinux_2_17_x86_64`.

    Without the variable the wheel is for any platform. It contains the library of Linux x86-64 all the same: other
    platforms do not load it, and their markers in pyproject.toml bring Numba.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Set the tag of the wheel."""
        platform = os.environ.get("POISE_WHEEL")
        if platform and version == "standard":
            build_data["tag"], build_data["pure_python"] = f"cp311-abi3-{platform}", False
