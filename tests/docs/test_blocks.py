"""Python and shell blocks of the documentation run: one test a page, its blocks in order in one namespace.

A commit draws half of the pages; those that it changes run in any case.
"""

from __future__ import annotations

import re

import pytest

import poise
from poise.io import samples
from tests.docs.pages import Block, agree, blocks, commands, name, pages, run_page
from tests.workload import draw_files


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the bundled samples, as `poise samples` leaves it."""
    samples.copy_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def empty(tmp_path, monkeypatch):
    """A folder with nothing in it, where a reader begins."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("empty", "unattended")
@pytest.mark.parametrize("path", draw_files("pages that run", pages(), len(pages()) // 2), ids=name)
def test_page_runs(path):
    run_page(path)


@pytest.mark.parametrize("path", [path for path in pages() if name(path) != "contributing"], ids=name)
def test_a_page_imports_public_names_only(path):
    code = "\n".join(block.code for block in blocks(path.read_text(encoding="utf-8")) if block.language == "python")
    found = re.findall(r"^\s*(?:from|import) (poise\.\S+)", code, flags=re.MULTILINE)
    assert set(found) <= {*(f"poise.{module}" for module in poise._PUBLIC_MODULES), "poise.jax"}


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


def test_agreeing_looks_at_words_and_not_at_digits():
    assert agree("reached: 7.85e-14 mm left\n[ 0.4  1.2]\n", "reached: 1e-13 mm left\n[0.4 1.2]\n")
    assert agree("joints: Hips, Spine, Chest\n", "joints: Hips, ...\n")
    assert not agree("reached: 1 mm left\n", "stalled: 1 mm left\n")
    assert not agree("one\n", "one\ntwo\n")


def test_a_comment_behind_a_print_is_what_it_prints(tmp_path):
    page = tmp_path / "page.md"
    for printed in ("'one', 2", "'one, two and three',\n    2"):
        page.write_text(f"```python\nfor _ in range(2):\n    print({printed})  # one...2\n```\n", encoding="utf-8")
        run_page(page)
    page.write_text("```python\nx = 'two'\nprint(x)  # one\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match=r"page.md:3: prints\ntwo"):
        run_page(page)
    page.write_text("```python\nif False:\n    print('one')  # one\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match=r"page.md:3: prints nothing"):
        run_page(page)


def test_a_text_below_a_block_is_what_it_prints(tmp_path):
    page = tmp_path / "tutorials" / "page.md"
    page.parent.mkdir()
    page.write_text("```python\nprint('one')\n```\n\n```text\none\n```\n", encoding="utf-8")
    run_page(page)
    page.write_text("```python\nprint('one')\n```\n\n```text\ntwo\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError, match="the block prints"):
        run_page(page)
