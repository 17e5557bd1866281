"""Poses of the gallery: hands behind and across."""

from pathlib import Path

from figures._gallery import AHEAD, BEHIND, draw_section


def draw(path: Path) -> None:
    """Draw the poses of a section of docs/pose_gallery.md."""
    draw_section(path, "Hands behind and across", BEHIND, AHEAD)
