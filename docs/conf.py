"""Settings of the documentation: `scripts/docs` builds it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "Poise"
author = "the authors of Poise"
copyright = author  # noqa: A001 (Sphinx's own name)
html_title = "Poise"

extensions = ["myst_parser", "mathml", "drawn", "reference", "results"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "results/_*", "_figures", "figures", "images"]

myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence"]
myst_heading_anchors = 3  # [text](page.md#a-heading)

html_theme = "furo"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["poise.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False  # it would fetch every page that is found, which a browser refuses for files
html_last_updated_fmt = None  # the same sources give the same pages
pygments_style, pygments_dark_style = "friendly", "github-dark"
smartquotes = False  # quotes in code and names stay what they are typed as
nitpicky = True
suppress_warnings = ["misc.highlighting_failure"]  # recipes show single lines of a file, which are no whole TOML
