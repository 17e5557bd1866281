"""One session of the viewer: the thread that owns the document, what follows from a change, saving."""
