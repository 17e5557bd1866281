"""Poses of the gallery: down."""

from pathlib import Path

from figures._gallery import AHEAD, LEFT, draw_section


def draw(path: Path) -> None:
    """Draw the poses of a section of docs/pose_gallery.md."""
    draw_section(path, "Down", AHEAD, LEFT)
