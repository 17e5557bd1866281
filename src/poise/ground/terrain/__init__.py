"""Ground of any kind: planes, slopes, stairs, bumps, height maps, meshes, functions."""
