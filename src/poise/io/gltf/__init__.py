"""glTF: `reader` turns documents into rigs, `writer` encodes rigs.

`container` and `accessors` decode the bytes, `extras` holds Poise's own keys, `draft` edits a document.
"""
