"""Every Python and shell block of the documentation runs: one test a page, its blocks in order in one namespace."""

from __future__ import annotations

import webbrowser
from itertools import islice
from pathlib import Path

import pytest

import poise
from poise import samples
from poise.cli import serving
from tests.docs.pages import Block, blocks, commands, name, pages, run_page

SAMPLES = ("humanoid.glb", "humanoid.bvh", "humanoid.ik.toml", "arm.urdf", "hills.npz")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the bundled samples, as `poise demo` leaves it."""
    for sample in SAMPLES:
        (tmp_path / sample).write_bytes((Path(samples.__file__).parent / sample).read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def nobody(monkeypatch):
    """Nobody looks at the viewer: no browser opens, loops and servers end soon."""
    frames = poise.View.frames
    monkeypatch.setattr(poise.View, "frames", lambda view, fps: islice(frames(view, fps), 3))
    monkeypatch.setattr(serving, "_wait", lambda: None)
    monkeypatch.setattr(webbrowser, "open", bool)


@pytest.mark.usefixtures("folder", "nobody")
@pytest.mark.parametrize("path", pages(), ids=name)
def test_page_runs(path):
    run_page(path)


# --- the runner itself: what it must not let through ------------------------------------------------------------------

PAGE = """# A page

```python
x = 1
```

Text.

```python
assert x == {x}
```

```bash
cd somewhere
poise info {file} \\
    --json      # exits {code}
```
"""


@pytest.mark.usefixtures("folder")
def test_blocks_share_a_namespace_and_commands_run(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(PAGE.format(x=1, file="arm.urdf", code=0))
    run_page(path)
    path.write_text(PAGE.format(x=1, file="missing.urdf", code=2))
    run_page(path)


@pytest.mark.usefixtures("folder")
def test_what_fails_names_the_line(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(PAGE.format(x=2, file="arm.urdf", code=0))
    with pytest.raises(AssertionError) as caught:
        run_page(path)
    assert caught.traceback[-1].lineno + 1 == 10
    path.write_text(PAGE.format(x=1, file="missing.urdf", code=0))
    with pytest.raises(AssertionError, match=r"page.md:15: exit code 2"):
        run_page(path)


def test_blocks_of_other_languages_are_left_alone():
    text = "```text\nno\n```\n\n```python\nyes = 1\n```\n\n```toml\n[no]\n```\n"
    assert blocks(text) == [Block("python", "yes = 1\n", 6)]


def test_pipes_are_refused(tmp_path):
    path = tmp_path / "page.md"
    path.write_text("```bash\npoise info arm.urdf | head\n```\n")
    with pytest.raises(AssertionError, match="plain commands"):
        run_page(path)
    assert commands(Block("bash", "poise solvers  # exits 1\nls\n", 1)) == [(1, ["solvers"], 1)]
