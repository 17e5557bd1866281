"""Compilation of kernels by Numba, where the library lacks their code.

Only this folder imports Numba. `compiler` has the passes and dispatchers, `lane_lowering` the code of lanes, and
`compilation` the cache on disk and the report of progress.
"""

from poise.kernels.jit import lane_lowering as lane_lowering  # so that every kernel finds the code of lanes
