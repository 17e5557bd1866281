"""`--include-root DIR` of each verb that reads a rig: the permission reaches the reader, in every process."""

from __future__ import annotations

import pytest

from tests.command_line import run
from tests.io.mjcf_samples import body, model

pytestmark = pytest.mark.long

pytest.importorskip("mujoco", reason="mujoco is not installed")

# The words of each verb, without the permission, and whether it ends well: the robot has no animation.
VERBS = {
    "info": (("info", "kit/models/main.xml"), True),
    "limits": (("limits", "kit/models/main.xml"), True),
    "solve": (("solve", "kit/models/main.xml", "--joint", "tip", "--to", "0", "1", "0"), True),
    "convert": (("convert", "kit/models/main.xml", "a.glb"), True),
    "convert many": (("convert", "kit/models", "-o", "new", "--format", "glb", "--processes", "1"), True),
    "view": (("view", "kit/models/main.xml", "--html", "a.html"), True),
    "compare": (("compare", "kit/models/main.xml", "--chain", "j", "tip", "--solvers", "unattended"), False),
    "plant": (("plant", "kit/models/main.xml", "--terrain", "slope:5", "-o", "a.glb"), False),
    "plant all": (("plant", "kit/models/main.xml", "--terrain", "slope:5", "--clip", "all", "-o", "a.glb"), False),
    "lock": (("lock", "kit/models/main.xml", "-o", "a.glb"), False),
    "solve many": (
        (
            "solve",
            "kit/models",
            "--every-frame",
            "--joint",
            "tip",
            "--to",
            "0",
            "1",
            "0",
            "-o",
            "new",
            "--format",
            "json",
        ),
        False,
    ),
}
HINT = "--include-root DIR on the command line"


@pytest.fixture
def kit(tmp_path):
    """A model whose parts are in a sibling folder."""
    for name, text in (
        ("models/main.xml", '<mujoco><include file="../parts/arm.xml"/></mujoco>'),
        ("parts/arm.xml", model(body('<joint name="j"/><geom size="0.1"/><site name="tip" pos="1 0 0"/>'))),
    ):
        (tmp_path / "kit" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "kit" / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_takes_the_permission(kit, verb):
    words, ends_well = VERBS[verb]
    refused = run(*words, cwd=kit)
    assert refused.returncode in ((1,) if "many" in verb else (2,))
    assert HINT in refused.stderr
    if (kit / "new").exists():  # the table of the files that failed
        (kit / "new").rename(kit / "old")
    done = run(*words, "--include-root", "kit", cwd=kit)
    assert HINT not in done.stderr
    assert "leads out" not in done.stderr
    assert (done.returncode == 0) == ends_well


def test_a_permission_that_is_no_folder(kit):
    done = run("info", "kit/models/main.xml", "--include-root", "kit/none", cwd=kit)
    assert (done.returncode, done.stdout) == (2, "")
    assert "include_root is a folder with files that may be included, and 'kit/none' is none" in done.stderr
