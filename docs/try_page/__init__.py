"""Sources of the page docs/try.html, which solves in a browser; `_build.py` makes it."""
