"""Help panels: groups of options in the help of a command.

A panel has the same title and options in every command.
"""

from __future__ import annotations

from typing import Any

_MAX_UNGROUPED_OPTIONS = 14  # options; the help of a command with at most this many fits on one screen, without panels


PANELS: dict[str, tuple[str, ...]] = {
    "Joints and goals": (
        "joint", "root", "to", "rotation", "direction", "axis", "look_at", "pole", "near", "goal", "targets",
    ),
    "Start": ("clip", "from_pose", "time", "every_frame", "scene"),
    "Solver": (
        "solver", "option", "iterations", "restarts", "damping", "order", "hinge", "prefer", "seeds", "threads",
        "tolerance", "angle_tolerance",
    ),
    "Poses": ("natural", "floor", "free_root", "limits", "no_limits"),
    "Measurement": ("peers", "effort", "seed"),
    "Terrain": (
        "terrain", "terrain_size", "terrain_height", "terrain_origin", "terrain_up", "terrain_unit",
        "terrain_direction", "plant", "ground",
    ),
    "Feet": ("legs", "contacts", "in_place", "stride", "feet_only", "stretch", "strict"),
    "Match": ("onto", "match", "save_match", "dry_run"),
    "Motion": ("hands", "first"),
    "Character": ("fps", "scale", "up", "rest", "units_per_metre"),
    "Input": ("include_root", "package_path", "robot"),
    "Output": ("out", "plot", "report", "save_contacts", "html", "as_json"),
    "Batch": ("suffix", "overwrite", "processes", "cluster"),
    "Server": ("host", "port", "no_browser", "list_scenes"),
}  # fmt: skip


_PANEL_BY_OPTION = {name: title for title, names in PANELS.items() for name in names}


def arrange_panels(command: Any) -> Any:
    """Assign the options of a command to help panels. Return the command; a command of few options has no panels."""
    options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
    if len(options) > _MAX_UNGROUPED_OPTIONS:
        for option in options:
            option.rich_help_panel = _PANEL_BY_OPTION.get(option.name)
    return command
