"""Poses of the gallery: work."""

from pathlib import Path

from figures._gallery import AHEAD, LEFT, draw_section


def draw(path: Path) -> None:
    """Draw the poses of a section of docs/pose_gallery.md."""
    draw_section(path, "Work", AHEAD, LEFT)
