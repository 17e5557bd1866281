"""One session of the viewer: document, poses, messages, downloads.

`session_thread.py` owns the document and runs `commands.py`, `pose_state.py` solves and packs frames,
`state_messages.py` describes the document to the page, and `message_queues.py` connects the thread to the server.
"""
