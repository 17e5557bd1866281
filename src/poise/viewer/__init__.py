"""Browser viewer: drag targets on a local page and watch the solvers.

`view.py` is the Python interface, `server.py` the web server, `document/` holds the edited state as frozen values,
`session/` runs actions and solves on one thread, `rig_message.py` and the `*_asset*.py` modules turn rigs into messages
and GLB files for the page in `web/`.
"""
