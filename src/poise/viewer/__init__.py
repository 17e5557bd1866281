"""Browser viewer: drag targets on a local page and watch the solvers.

`view.py` is the Python interface, `server.py` the web server, `document/` holds the edited state as frozen values,
`session/` runs actions and solves on one thread, `rig_message.py` and `glb_assets.py` turn rigs into messages
and GLB files for the page in `web/`.

    page --actions--> Inbox --> session thread: Document -> Document', pose state -> poses --> Outbox --> page

The page holds no state of its own: it sends actions and draws the received state. The session thread solves when the
document has changed and the page has acknowledged the last pose, so only the newest target is solved. Poses are world
transforms, float32, seven numbers a joint, twelve with shear. `web/` contains plain JavaScript modules without a build
step, found through one import map; `js/state/store.js` holds the received state, `js/stage/viewport.js` draws it, and
`third_party/` has three.js and uPlot as published. `js/README.md` lists the folders of `js/`.
"""
