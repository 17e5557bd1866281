"""The kernels for CUDA, one problem per thread, from the very source that the CPU runs; test_cuda.py calls it.

   python -m tests.kernels.cuda_build ptx solve_arms:8.0 solve_arms:9.0    PTX of entry points for compute capabilities,
                                                     as JSON; needs NVIDIA's libnvvm, but neither a GPU nor its driver
   python -m tests.kernels.cuda_build simulate NAME a b    run an entry point in Numba's CUDA simulator on the arrays of
                                                     a.npz, in the order of its arguments; b.npz: what they hold then

Each kernel's plain Python function becomes a device function. What lanes.py and lane_types.py teach Numba (`select`,
`room`, `part_of`, ...) holds for Numba's CUDA target too; only what is named below is replaced.
"""

from __future__ import annotations

import builtins
import json
import sys
from types import CellType, FunctionType, ModuleType, SimpleNamespace

import numpy as np
from numba import config, cuda, types, void

from poise.kernels import arm_lm, lanes, vec_quat
from poise.kernels import arm_lm as serial_many
from poise.kernels import tree_lm as tree_many
from poise.kernels.arm_lm import ArmProblems
from poise.kernels.device_functions import DEVICE_KINDS
from poise.kernels.jit import lane_lowering  # noqa: F401  (what Numba has to know of lanes)
from poise.kernels.lanes import SCALAR, stack_matrix
from poise.kernels.problem_arrays import TreeArrays, TreeProblems

NOT_HERE = 77  # exit status: there is no libnvvm

# --- device functions --------------------------------------------------------------------------------------------


def smaller(a, b):
    return a if a <= b else b  # noqa: FURB136  (stands for min)


def larger(a, b):
    return a if a >= b else b  # noqa: FURB136


class Device:
    """Makes device functions, one of each kernel."""

    def __init__(self):
        from numba.cuda import libdevice

        self._made, self._rint = {}, libdevice.rint
        # Numba 0.68's own min and max take any number of arguments, which its CUDA target does not compile
        self._builtins = {"min": cuda.jit(device=True)(smaller), "max": cuda.jit(device=True)(larger)}

    def __call__(self, value):
        """The value as device code sees it: a kernel as a device function, anything else as it is."""
        if isinstance(value, FunctionType) and value in DEVICE_KINDS:
            return self._function(value)
        if isinstance(value, ModuleType) and value.__name__.startswith("poise.kernels."):
            return self._module(value)
        return self._rint if value is lanes.round_half_even else value  # libnvvm knows no llvm.rint

    def _module(self, module):
        """A module whose kernels are device functions."""
        if module not in self._made:
            self._made[module] = copy = ModuleType(module.__name__)
            vars(copy).update(
                {name: self(value) for name, value in vars(module).items() if not isinstance(value, ModuleType)}
            )
        return self._made[module]

    def _function(self, plain):
        """A device function with the code of `plain`, for which the kernels it calls are device functions too."""
        if plain not in self._made:
            called = {
                name: self(plain.__globals__[name]) for name in plain.__code__.co_names if name in plain.__globals__
            }
            names = called | self._builtins | {"__name__": plain.__module__, "__builtins__": builtins}
            closure = tuple(CellType(self(cell.cell_contents)) for cell in plain.__closure__ or ())
            copy = FunctionType(plain.__code__, names, plain.__name__, plain.__defaults__, closure)
            self._made[plain] = cuda.jit(device=True)(copy)
        return self._made[plain]


# The simulator runs kernels as they are, provided that Numba compiles nothing.
device = (lambda kernel: kernel) if config.DISABLE_JIT else Device()
forward, solve_range, solve_tree = map(device, (arm_lm.compute_tip, serial_many.solve_range, tree_many.solve_lanes))
put_vec, put_quat = device(vec_quat.write_vec), device(vec_quat.write_quat)

# --- entry points ------------------------------------------------------------------------------------------------


def place_arm(links, x, positions, rotations):
    """Where the values x (k, m) put the tip of an arm."""
    k = cuda.grid(1)
    if k < x.shape[0]:
        axes, origins = stack_matrix(SCALAR, 1, 3), stack_matrix(SCALAR, 1, 3)
        position, rotation = forward(SCALAR, links, x[k], False, axes, origins)
        put_vec(positions, k, position)
        put_quat(rotations, k, rotation)


def solve_arms(links, seeds, poses, targets, starts, settings, x, errors, counts):
    """Solve targets (k, 7) of an arm, restarts included; without a trace."""
    k = cuda.grid(1)
    if k < targets.shape[0]:
        problems = ArmProblems(links, seeds, poses, targets, starts, settings, x, errors, counts)
        solve_range(SCALAR, problems, k, k + 1, x[:0])


def solve_trees(
    nodes, frames, dofs, terms, effectors, paths, row_ranges, targets, starts, seeds, near_u, near_on, limits, settings,
    work, u, errors, counts,
):  # fmt: skip
    """Solve targets (k, W) of a tree; as `tree_many.solve8`, without a trace; `work` has a row for each."""
    k = cuda.grid(1)
    if k < targets.shape[0]:
        tree = TreeArrays(nodes, dofs, terms, effectors, paths, row_ranges, near_u, near_on)
        problems = TreeProblems(frames, targets, starts, seeds, settings, u, errors, counts)
        solve_tree(SCALAR, tree, problems, limits, work[k], k, k + 1, u[:0])


F1, F2, F3 = (types.Array(types.float64, n, "C") for n in (1, 2, 3))
I1, I2 = (types.Array(types.int64, n, "C") for n in (1, 2))
ENTRIES = {
    place_arm: (F2, F2, F2, F2),
    solve_arms: (F2, F2, F1, F2, F2, F1, F2, F1, I2),
    solve_trees: (I2, F3, F2, I2, F2, I1, I2, F2, F2, F2, F1, F1, F2, F1, F2, F2, F1, I2),
}

# --- what can be done with them ----------------------------------------------------------------------------------


def ptx(*wanted):
    """Print the PTX of entry points, each for GPUs of a compute capability: by these names."""
    from numba.cuda.cudadrv import error, nvvm

    try:
        nvvm.NVVM()
    except error.NvvmSupportError as reason:
        sys.stderr.write(str(reason))
        sys.exit(NOT_HERE)
    sys.stdout.write(json.dumps({each: ptx_of(*each.split(":")) for each in wanted}))


def ptx_of(name, capability):
    """PTX of an entry point. Numba asks the GPU and the CUDA runtime what they can do; here it is told."""
    from numba.cuda import dispatcher

    entry, capability = globals()[name], tuple(map(int, capability.split(".")))
    config.FORCE_CUDA_CC = capability
    dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=capability)
    return cuda.compile_ptx(entry, void(*ENTRIES[entry]), cc=capability)[0]


def simulate(name, before, after):
    """Run an entry point in blocks of four threads, of which the last has some to spare."""
    entry = globals()[name]
    with np.load(before) as given:
        arrays = list(given.values())
    threads = 4
    problems = len(arrays[-1])  # what comes last has a row for each
    cuda.jit(entry)[problems // threads + 1, threads](*arrays)
    np.savez(after, *arrays)


if __name__ == "__main__":
    {"ptx": ptx, "simulate": simulate}[sys.argv[1]](*sys.argv[2:])
