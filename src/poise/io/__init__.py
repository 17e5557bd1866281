"""File formats, sidecars, robot motion and marker files.

`formats/` has one module per format, the registry; larger readers and writers have packages or modules beside it.
`registry` has `load` and `save`.
"""
