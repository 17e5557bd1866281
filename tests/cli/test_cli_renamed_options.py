"""Options that had another name in the version before: they work once more, with a warning."""

from __future__ import annotations

import json

import pytest

from poise import cli
from poise.cli.renamed_options import RENAMED_OPTIONS, replace_old_options
from poise.errors import InputError
from tests.command_line import ARM, run


@pytest.mark.parametrize(
    ("verb", "typed", "today"),
    [
        ("compare", "a.glb --chain A B --json", "a.glb --root A --joint B --json"),
        ("compare", "--quick", "--effort quick"),
        ("compare", "a.glb --full", "a.glb --effort full"),
        ("bench", "--quick", "--effort quick"),
        ("solve", "a.glb --from-clip walk", "a.glb --clip walk"),
        ("lock", "a.glb --from-clip=walk -o b.glb", "a.glb --clip walk -o b.glb"),
        ("plant", "a.glb --feet left,right -o b.glb", "a.glb --legs left,right -o b.glb"),
        ("lock", "--feet=left a.glb", "--legs left a.glb"),
        ("solve", "-- --from-clip", "-- --from-clip"),
        ("view", "a.glb --quick", "a.glb --quick"),
    ],
)
def test_old_names_are_written_with_those_of_today(verb, typed, today, capsys):
    assert replace_old_options(verb, typed.split()) == today.split()
    message = capsys.readouterr().err
    assert message.count("the next version does not know the old name") == (0 if typed == today else 1)


@pytest.mark.parametrize(("verb", "old"), [(verb, old) for verb in RENAMED_OPTIONS for old in RENAMED_OPTIONS[verb]])
def test_old_names_are_in_no_help_and_those_of_today_are_options(verb, old):
    options = {text for parameter in cli.load_command(verb).params for text in parameter.opts}
    assert old not in options
    assert {word for word in RENAMED_OPTIONS[verb][old].new_arguments if word.startswith("--")} <= options


def test_two_old_names_of_one_option_contradict_each_other():
    with pytest.raises(InputError, match="give --full or --quick, not both"):
        replace_old_options("compare", ["--full", "--quick"])


@pytest.mark.parametrize(
    ("words", "both"),
    [
        ("--quick --effort full", "--quick or --effort"),
        ("--effort=full --quick", "--quick or --effort"),
        ("--chain A B --joint C", "--chain or --joint"),
        ("--root C --chain A B", "--chain or --root"),
    ],
)
def test_an_old_name_contradicts_that_of_today(words, both):
    with pytest.raises(InputError, match=f"give {both}, not both"):
        replace_old_options("compare", words.split())


@pytest.mark.long
def test_an_old_call_gives_what_todays_gives():
    limb, targets = ("base_turn", "tool"), ("--goal", "position", "--targets", "path", "--json", "--solvers", "ccd")
    old = run("compare", ARM, "--chain", *limb, "--quick", *targets)
    new = run("compare", ARM, "--root", limb[0], "--joint", limb[1], "--effort", "quick", *targets)
    assert old.stderr.splitlines() == [
        "note: --chain is written --root ROOT --joint JOINT now; the next version does not know the old name",
        "note: --quick is written --effort quick now; the next version does not know the old name",
    ]
    assert new.stderr == ""
    assert json.loads(old.stdout)["task"] == json.loads(new.stdout)["task"]
