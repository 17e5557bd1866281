"""How kernels are compiled: what they call is inside them, what only they call has no code of its own. Numba is free to
change all that this rests on."""

from __future__ import annotations

import copy
import gc
import os
import subprocess
import sys

import pytest
from numba import njit
from numba.core.compiler import Flags
from numba.core.errors import TypingError
from numba.core.event import Listener, install_listener

from poise.kernels.device_functions import device_function, inline, never_inline
from poise.kernels.jit.compiler import KernelCompiler, _CachedFlags, _make_fixed_target, get_device_dispatcher
from tests.workload import amount, draw


def kernel_and_piece():
    """A kernel that calls a piece that calls another one, and that piece."""

    @device_function
    def inner(a):
        return a + 1.0

    @device_function
    def piece(a):
        return inner(a)

    @njit(pipeline_class=KernelCompiler)
    def kernel(a):
        return piece(a) + piece(2.0 * a)

    assert kernel(0.5) == 3.5
    return kernel, get_device_dispatcher(piece)


def only(dispatcher):
    (overload,) = dispatcher.overloads.values()
    return overload


OWN_COPIES = """
from llvmlite.binding import Linkage
import poise
from poise.kernels import entries, posture
from poise.kernels.jit import compiler

dispatcher = compiler.make_kernel_dispatcher(entries.ENTRIES["posture.compute_poles"].function, releases_gil=True)
posture.compute_poles = dispatcher
rig = poise.load(poise.sample("humanoid.bvh"))
assert poise.solve(rig.rest, poise.Position("LeftHand", [0.4, 1.2, 0.35])).reached
(made,) = dispatcher.overloads.values()
functions = [each for each in made.library._get_module_for_linking().functions if not each.is_declaration]
observed = {each.name for each in functions if each.linkage != Linkage.internal}
assert observed == {made.fndesc.llvm_func_name, made.fndesc.llvm_cpython_wrapper_name}
assert len(functions) > len(observed)  # not all was built in
"""


@pytest.mark.long
def test_a_kernel_calls_its_own_copies_of_pieces():
    done = subprocess.run([sys.executable, "-c", OWN_COPIES], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.long
@pytest.mark.parametrize("decorator", [never_inline, device_function, inline])
def test_a_piece_stays_a_function_where_that_was_requested(decorator):
    @decorator
    def piece(a):
        return a + 1.0

    @inline
    def between(a):
        return piece(a) + piece(2.0 * a)

    @njit(pipeline_class=KernelCompiler)
    def kernel(a):
        return between(a) + between(3.0 * a)

    assert kernel(0.5) == 3.5 + 6.5
    made = only(get_device_dispatcher(piece))
    names = [each.name for each in only(kernel).library.get_defined_functions()]
    assert (made.fndesc.llvm_func_name in names) is (decorator is never_inline)
    assert ("alwaysinline" in str(made.library._final_module)) is (decorator is inline)


def test_a_piece_has_no_machine_code_of_its_own():
    kernel, piece = kernel_and_piece()
    library, name = only(piece).library, only(piece).fndesc.llvm_func_name
    engine = library.codegen._engine
    assert engine.is_symbol_defined(only(kernel).fndesc.llvm_func_name)
    assert not engine.is_symbol_defined(name)
    assert library._object_caching_enabled is False
    assert "inner" in str(library.get_function(name))  # which a kernel builds in, when that is optimised


class Passes(Listener):
    """The names of the passes that run."""

    def __init__(self):
        self.names = set()

    def on_start(self, event):
        self.names.add(event.data["name"].partition(" [")[0])

    def on_end(self, event):
        pass


def test_passes_for_what_no_kernel_has_are_left_out():
    passes = Passes()
    with install_listener("numba:run_pass", passes):
        kernel_and_piece()
    assert {"translate_bytecode", "nopython_type_inference", "native_lowering"} <= passes.names
    assert passes.names.isdisjoint({"inline_closure_likes", "nopython_rewrites"})


def test_python_collects_cycles_again_after_a_compile():
    @njit(pipeline_class=KernelCompiler)
    def observed(a):
        return a + 1.0

    @njit(pipeline_class=KernelCompiler)
    def refused(a):
        return a.not_there

    assert gc.isenabled()
    assert observed(1.0) == 2.0
    with pytest.raises(TypingError):
        refused(1.0)
    assert gc.isenabled()
    gc.disable()
    try:
        assert observed(1) == 2.0
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_target_context_looks_for_what_is_new_once_a_compile():
    requested = []

    class Context:
        def refresh(self):
            requested.append("refresh")

        def get_abi_sizeof(self, of):
            requested.append(of)
            return len(of)

    context = Context()
    settled = _make_fixed_target(context)
    for each in (settled, copy.copy(settled), settled):
        each.refresh()
        assert (settled.get_abi_sizeof("i64"), settled.get_abi_sizeof("double")) == (3, 6)
    assert requested == ["refresh", "i64", "double"]
    _make_fixed_target(context).refresh()
    assert requested.count("refresh") == 2


def test_flags_say_what_was_set_last():
    given = Flags()
    given.nrt = True
    flags = _CachedFlags(given)
    for change in (
        lambda each: setattr(each, "error_model", "numpy"),
        lambda each: delattr(each, "nrt"),
        lambda each: setattr(each, "release_gil", True),
        lambda each: each.discard("release_gil"),
    ):
        assert flags == given
        assert hash(flags) == hash(given)
        assert flags.values() == given.values()
        change(flags)
        assert flags != given
        change(given)
    assert flags.values() == given.values()


FAR_APART = """
import ctypes, math
from numba import njit
from poise.kernels.jit.compiler import KernelCompiler

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]

def reserve(size):
    return libc.mmap(None, size, 0, 0x4022, -1, 0)  # private, anonymous, without memory behind it

def fill_addresses():
    # what is asked for next lies more than 2 GB from all that is there
    below = reserve(3 << 30)
    for size in (1 << 28, 1 << 24, 1 << 20, 1 << 16, 1 << 12):
        while reserve(size) > below:
            pass

for i in range(3):
    @njit(pipeline_class=KernelCompiler)
    def kernel(a):
        return math.sin(a) + i
    print(kernel(0.0))
    fill_addresses()
"""


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="the test reserves addresses as Linux does")
def test_kernels_load_where_no_address_is_near():
    done = subprocess.run([sys.executable, "-c", FAR_APART], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.split()) == (0, ["0.0", "1.0", "2.0"]), done.stderr


REQUESTED = """
import sys
import numpy as np
import poise
rig = poise.load(poise.sample("arm.urdf"))
tip = rig.rest.skeleton.names[-1]
targets = np.random.default_rng(1).uniform(-0.6, 0.6, (300, 3))
for solver in sys.argv[1:]:
    print(poise.solve(rig.rest, poise.Position(tip, targets), solver=solver).q.tobytes().hex())
"""


@pytest.mark.long
def test_a_process_that_compiles_answers_as_one_that_finds_the_kernels(tmp_path):
    """Also with another order of Python's sets; in the long run, compiled with that order."""
    solvers = draw("compiled solvers", ("levenberg_marquardt", "ccd", "fabrik"), 1)

    def answers(folder, hash_seed):
        done = subprocess.run(
            [sys.executable, "-c", REQUESTED, *solvers], check=True, capture_output=True, text=True,
            env=os.environ
            | {"POISE_KERNELS": "jit", "NUMBA_CACHE_DIR": str(tmp_path / folder), "PYTHONHASHSEED": hash_seed},
        )  # fmt: skip
        return done.stdout.split()

    first = answers("a", "1")
    assert len(first) == len(solvers)
    assert any((tmp_path / "a").rglob("*.nbc"))
    assert answers("a", "2") == first
    if amount(False, True):
        assert answers("b", "2") == first
