"""File formats, sidecars, robot motion and marker files.

`formats/` has one module per format, the registry; larger readers and writers have modules beside it, and glTF a
package. `registry` has `load` and `save`.
"""
