"""One session of the viewer: document, poses, messages, downloads.

`session_thread.py` owns the document and runs `commands.py`. `pose_state.py` says what is solved next, and packs
frames; `answers.py` says how it went, and `state_messages.py` describes the document to the page. `message_queues.py`
connects the thread to the server. Solves and answers are computed on another thread, from values; only the session's
thread writes state.
"""
