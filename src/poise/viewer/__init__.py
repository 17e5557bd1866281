"""The browser viewer: a page on this machine where targets are dragged and the solvers answer live."""
