"""One session of the viewer: document, poses, messages, downloads.

`session_thread.py` owns the document and runs `commands.py`, `session_state.py` solves, packs frames and describes the
document to the page, and `message_queues.py` connects the thread to the server.
"""
