"""FBX reader.

`worker` reads a file with ufbx in a subprocess and returns numbers, `scene` builds the skeleton and the clips from
them.
"""
