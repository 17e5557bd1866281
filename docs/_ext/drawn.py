"""Draw the figures before the pages are read."""

from __future__ import annotations

import sys
from pathlib import Path

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent.parent))
from figures import _build


def draw(_app: Sphinx) -> None:
    """Draw what is out of date."""
    _build.draw(_build.out_of_date())


def setup(app: Sphinx) -> dict[str, bool]:
    """Draw at the start of every build."""
    app.connect("builder-inited", draw)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
