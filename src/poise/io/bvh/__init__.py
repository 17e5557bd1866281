"""BVH: `reader` parses files into documents, `writer` formats clips.

The hierarchy and the motion rows of the source document are kept where possible.
"""
