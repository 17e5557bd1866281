"""Document of the viewer as frozen values, and the actions on it.

`document.py` has the complete document. Its parts are in `chains.py`, `clip_keys.py` and `program_widgets.py`, and
its clip and ground in `playhead.py`, `contact_intervals.py` and `terrain.py`. `actions.py` has the changes.
"""
