"""Settings of the documentation: `scripts/docs` builds it."""

import pkgutil
import shutil
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.ext.napoleon.docstring import NumpyDocstring
from sphinx.util.inspect import TypeAliasForwardRef

import poise

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
sys.modules["poise.rotations"] = poise.rotations  # autodoc imports the name; the module stands elsewhere

project = "Poise"
author = "the authors of Poise"
copyright = author  # noqa: A001 (Sphinx's own name)
html_title = "Poise"

extensions = [
    "myst_parser", "sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon", "mathml",
]  # fmt: skip
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "results/_*", "_figures", "figures", "images"]

myst_enable_extensions = ["dollarmath", "amsmath", "deflist", "colon_fence"]
myst_heading_anchors = 3  # [text](page.md#a-heading)

default_role = "code"  # `name` in a docstring
autosummary_generate = False  # its tables only: docs/api has a page for each topic
autoclass_content = "both"  # so that types of arguments stand beside what is said of them
autodoc_typehints, autodoc_typehints_description_target = "description", "documented_params"
autodoc_type_aliases = {name: f"poise.extend.{name}" for name in ("Bools", "Floats", "Ints", "Goal", "Limit", "Solver")}
autodoc_type_aliases["ArrayLike"] = "numpy.typing.ArrayLike"
autodoc_default_options = {
    "members": True,
    "member-order": "bysource",
    "inherited-members": "object, int, IntEnum, tuple, Exception, UserWarning, Protocol",
}
TypeAliasForwardRef.__repr__ = lambda alias: alias.name  # as it shows an alias that stands alone
napoleon_google_docstring = False
# "Cost of a pose: ..." is a sentence about a property, and no type before a colon.
setattr(NumpyDocstring, "_consume_inline_attribute", lambda self: ("", self._dedent(self._consume_to_end())))  # noqa: B010
python_use_unqualified_type_names = True
html_domain_indices = False  # the index of names is enough

html_theme = "furo"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files, html_js_files = ["poise.css"], ["poise.js"]
html_extra_path = ["try.html"]  # the page that solves, shown by the first page
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False  # it would fetch every page that is found, which a browser refuses for files
html_last_updated_fmt = None  # the same sources give the same pages
pygments_style, pygments_dark_style = "friendly", "github-dark"
smartquotes = False  # quotes in code and names stay what they are typed as
nitpicky = True
nitpick_ignore = [
    ("py:class", "jax.jaxlib._jax.Array"),  # JAX's own name of jax.Array, which no module has
    ("py:class", "GazeDirection"),  # of a module that is not imported before it is needed
]
suppress_warnings = [
    "misc.highlighting_failure",  # recipes show single lines of a file, which are no whole TOML
    "myst.xref_missing",  # links to names of the API; tests follow each in the repository and in the site
]


def _skip(_app: Sphinx, _kind: str, _name: str, value: Any, *_: Any) -> bool | None:
    """Leave out old names, and what Python itself writes as the docstring of a NamedTuple's field."""
    is_old = getattr(getattr(value, "__func__", value), "is_alias", False)
    return True if is_old or str(value.__doc__).startswith("Alias for field number") else None


def _leave_unlinked(_app: Sphinx, _environment: Any, node: Any, text: nodes.TextElement) -> nodes.TextElement | None:
    """Leave the name of a type without a page unlinked; a name that does not exist is a warning.

    Such types are those of other libraries and inner ones of Poise, in signatures.
    """
    return text if node.get("refdomain") == "py" and _exists(node["reftarget"]) else None


def _exists(name: str) -> bool:
    """Whether a dotted name can be imported, or a module of Poise has a type of this name."""
    if "." not in name:
        modules = [module for path, module in sys.modules.items() if path.startswith("poise")]
        return name.lstrip("_")[:1].isupper() and any(hasattr(module, name) for module in modules)
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError, ValueError):
        return False
    return True


def _write_pages(app: Sphinx, error: Exception | None) -> None:
    """Write the pages and pictures of docs/solving_pages.md and docs/scene_gallery.md.

    They are those of `poise view --html`, made anew with each build, so that none is stored.
    """
    if error is not None or app.builder.name != "html":
        return
    from poise.viewer import scenes  # noqa: PLC0415
    from poise.viewer.document.document import build_document  # noqa: PLC0415
    from poise.viewer.session.downloads import build_document_page  # noqa: PLC0415

    folder = Path(app.outdir) / "pages"
    folder.mkdir(exist_ok=True)
    for name, document in {
        "humanoid": build_document(poise.load(poise.sample("humanoid.glb"))),
        "arm": build_document(poise.load(poise.sample("arm.urdf"))),
        **{name: scenes.build_scene(name) for name in scenes.names()},
    }.items():
        (folder / f"{name}.html").write_bytes(build_document_page(document))
    for picture in (Path(scenes.__file__).parent.parent / "web" / "scenes").glob("*.png"):
        shutil.copy(picture, folder)


def setup(app: Sphinx) -> None:
    """Connect what the settings above need."""
    app.connect("build-finished", _write_pages)
    app.connect("missing-reference", _leave_unlinked)
    app.connect("autodoc-skip-member", _skip)
