"""Links and includes of the Markdown pages, as they are in the repository."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
import check_links


@pytest.fixture(scope="module")
def links():
    return check_links.follow_links()


def test_every_link_of_the_repository_leads_somewhere(links):
    assert [f"{link.page}:{link.line}: {link.target}: {link.fault}" for link in links if link.fault] == []


def test_all_kinds_of_links_are_followed(links):
    assert {"link", "picture", "name", "toctree"} <= {link.kind for link in links}
    pages = {link.page for link in links}
    assert {"README.md", "docs/index.md", "docs/performance.md", "benchmarks/README.md"} <= pages
    figures = {link.target for link in links if "_figures/" in link.target}
    assert len(figures) > 30


def test_figures_of_the_repository_are_small():
    sizes = [path.stat().st_size for path in (ROOT / "docs" / "_figures").iterdir()]
    assert max(sizes) < 300_000
    assert sum(sizes) < 5_000_000


def test_no_page_needs_a_file_that_git_ignores():
    """What is followed lies in the repository, and nothing that git leaves out lies beside it."""
    command = [
        "git",
        "-C",
        str(ROOT),
        "check-ignore",
        "docs/_figures/x.svg",
        "docs/results/x.md",
        "docs/command-line/x.md",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 128:
        pytest.skip("this is no checkout of git")
    assert done.stdout == ""


BAD = """# One page

[gone](gone.md) [here](#one-page) [nowhere](#two) [there](b.md#its-heading) [not there](b.md#other) [out](../../x.md)
![picture](p.svg) [![nested](gone.png)](b.md) <img src="gone.svg"> `docs/gone.py` `docs/b.md` [web](https://example.org)

1. Create `docs/new.py`:

`[code](gone2.md)`

```python
[no link](gone3.md)
```

```{include} gone4.md
:start-after: x
```

```{figure} p.svg
[caption](gone5.md)
```

```{toctree}
:hidden:

b
gone6
part/*
Title <gone7>
```

```{note}
[inside](gone8.md)
```

```{eval-rst}
.. include:: gone9.txt
```

[reference]: gone10.md
"""
OTHER = """# Its heading

(explicit)=
## Its heading

[second](#its-heading-1) [explicit](#explicit) [class](#poise.Position) [absent](#poise.Gone)

```{eval-rst}
.. currentmodule:: poise
.. autoclass:: Position
```
"""


def test_dead_links_of_every_kind_are_found(tmp_path):
    docs = tmp_path / "docs"
    (docs / "part").mkdir(parents=True)
    for name, text in {"a.md": BAD, "b.md": OTHER, "part/c.md": "# c\n", "p.svg": "<svg/>"}.items():
        (docs / name).write_text(text, encoding="utf-8")
    found = check_links.follow_links(tmp_path)
    dead = [link.target for link in found if link.fault]
    gone = [
        "gone.md",
        "#two",
        "b.md#other",
        "../../x.md",
        "gone.png",
        "gone.svg",
        "docs/gone.py",
        "gone4.md",
        "gone5.md",
    ]
    gone += ["gone6", "gone7", "gone8.md", "gone9.txt", "gone10.md", "#poise.Gone"]
    assert sorted(dead) == sorted(gone)
    assert {"#one-page", "b.md#its-heading", "p.svg", "docs/b.md", "part/*", "b"} <= {link.target for link in found}


@pytest.mark.parametrize(
    ("heading", "slug"),
    [
        ("A `code` name", "a-code-name"),
        ("What, why?", "what-why"),
        ("[Text](x.md) here", "text-here"),
        ("a - b", "a---b"),
    ],
)
def test_anchors_are_those_of_github(heading, slug):
    assert check_links.make_slug(heading) == slug
