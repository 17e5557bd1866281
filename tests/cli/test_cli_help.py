"""Help of the commands: options stand in panels, with their units."""

from __future__ import annotations

import re

import pytest

from poise import cli
from poise.cli.help_panels import PANELS
from tests.command_line import run

TITLE = re.compile(r"^╭─ (.+?) ─+╮$")


@pytest.mark.parametrize("verb", ["solve", "plant", "lock", "view", "compare"])
def test_options_stand_in_panels(verb):
    titles = [found[1] for line in run(verb, "--help").stdout.splitlines() if (found := TITLE.match(line.strip()))]
    assert len(titles) == len(set(titles))
    assert len(set(titles) & set(PANELS)) >= 4
    alone = [
        one.name for one in cli.load_command(verb).params if one.param_type_name == "option" and not one.rich_help_panel
    ]
    assert alone == []


def test_a_panel_is_read_at_once_and_an_option_is_in_one():
    names = [name for names in PANELS.values() for name in names]
    assert len(names) == len(set(names))
    assert max(map(len, PANELS.values())) <= 16
    used = {option.name for verb in cli.COMMANDS for option in cli.load_command(verb).params}
    assert set(names) <= used


@pytest.mark.parametrize(
    ("verb", "option", "unit"),
    [
        ("solve", "to", "file units"),
        ("solve", "look_at", "file units"),
        ("solve", "pole", "file units"),
        ("solve", "time", "seconds"),
        ("solve", "tolerance", "file units"),
        ("solve", "angle_tolerance", "radians"),
        ("compare", "tolerance", "file units"),
        ("compare", "angle_tolerance", "radians"),
        ("plant", "terrain_size", "clip units"),
        ("plant", "terrain_height", "clip units"),
        ("plant", "terrain_origin", "clip units"),
        ("plant", "units_per_metre", "file units per metre"),
        ("convert", "fps", "frames per second"),
    ],
)
def test_a_length_an_angle_and_a_time_say_their_unit(verb, option, unit):
    (parameter,) = [one for one in cli.load_command(verb).params if one.name == option]
    assert unit in parameter.help
