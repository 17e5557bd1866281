"""USD reader.

`worker` opens a stage with usd-core in a subprocess and returns numbers, `skel` builds a skeleton and clips of UsdSkel,
`physics` a skeleton of UsdPhysics.
"""
