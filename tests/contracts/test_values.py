"""Every public value survives pickle, copy and a trip to another process, and says the same afterwards."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import signal
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numba
import numpy as np
import pytest

import poise
from poise import Position, Terrain
from poise.problem.goals import GOAL_CLASSES
from tests.contracts import values
from tests.contracts.problems import FEW, PROBLEMS, same_bits
from tests.timeouts import NO_HANG, PROCESS

# JAX, where other tests have imported it, and Python from 3.12 on warn of every fork beside threads: these are meant
pytestmark = [
    pytest.mark.filterwarnings("ignore:os.fork\\(\\) was called:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:.*use of fork\\(\\) may lead to deadlocks:DeprecationWarning"),
]
TRAVELLING = [name for name in values.EVERY if name not in values.NEVER]
WAYS = {
    **{f"pickle {protocol}": lambda value, protocol=protocol: pickled(value, protocol) for protocol in (2, 3, 4, 5)},
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


def pickled(value, protocol=5):
    return pickle.loads(pickle.dumps(value, protocol))  # noqa: S301  (written here)


def test_the_table_has_every_public_class():
    assert set(values.public_classes()) == set(values.VALUES)
    for name, kind in values.public_classes().items():
        if name not in values.NEVER:
            assert type(values.VALUES[name]()) is kind, name


@pytest.mark.parametrize("name", TRAVELLING)
def test_copies_say_the_same(name):
    value = values.EVERY[name]()
    copies = {way: make(value) for way, make in WAYS.items()}  # before it is asked, which moves some on
    requested = pickled(copy.deepcopy(value))
    wanted = values.reported(value)
    assert values.reported(requested) == wanted, "deepcopied, then pickled"
    for way, other in copies.items():
        assert type(other) is type(value), way
        assert values.reported(other) == wanted, way


@pytest.mark.parametrize("name", values.NEVER)
@pytest.mark.parametrize("way", WAYS)
def test_what_cannot_be_copied_says_so(name, way):
    with pytest.raises(poise.PoiseError, match=values.NEVER[name]):
        WAYS[way](values.EVERY[name]())


def test_a_terrain_of_a_function_without_a_name_says_why_it_cannot_be_pickled():
    terrain = Terrain.function(lambda x, y: 0.1 * x + y, up="z")
    for protocol in (2, 5):
        with pytest.raises(poise.UnsupportedError, match="cannot be pickled: define it with a name"):
            pickle.dumps(terrain, protocol)
    assert values.reported(copy.deepcopy(terrain)) == values.reported(copy.copy(terrain)) == values.reported(terrain)


@pytest.mark.parametrize("name", TRAVELLING)
def test_what_was_requested_before_is_in_no_pickle(name):
    value = values.EVERY[name]()
    if isinstance(value, poise.Tracker | poise.Grounder | poise.Retargeter):
        value.reset()  # its state is its own
        before = len(pickle.dumps(value))
        values.reported(value)
        value.reset()
    else:
        before = len(pickle.dumps(pickled(value)))
        values.reported(value)
        for ask in ("world", "report", "poses", "times", "rest", "codes", "pose", "cost"):
            getattr(getattr(value, ask, None), "world", None)
    assert len(pickle.dumps(value)) <= before + 600


FROZEN = (
    "Baked", "Clip", "Fitted", "KeyedClip", "Planted", "Pose", "Result", "Rig", "Skeleton", "Transforms",
    "batch", "every solution", "trace", "batch of a clip", *(kind.__name__ for kind in GOAL_CLASSES if kind.width),
)  # fmt: skip


@pytest.mark.parametrize("name", FROZEN)
@pytest.mark.parametrize("way", ["pickle 5", "copy", "deepcopy"])
def test_what_is_read_only_stays_so(name, way):
    value = values.EVERY[name]()
    for path, array in arrays_of(WAYS[way](value), ""):
        assert not array.flags.writeable, path


def arrays_of(thing, path):
    """The arrays that a value hands out by its attributes, with the way to them."""
    if isinstance(thing, np.ndarray):
        yield path, thing
    elif isinstance(thing, tuple):
        for i, each in enumerate(thing):
            yield from arrays_of(each, f"{path}[{i}]")
    elif type(thing).__name__ in FROZEN:
        names = [name for name in vars(thing) if name[0] != "_" and name not in ("problem", "source")]
        for name in names:
            yield from arrays_of(getattr(thing, name), f"{path}.{name}")


def test_a_copy_of_a_tracker_or_a_grounder_goes_its_own_way():
    for name, ask in (("Tracker", lambda t: t.pose.q), ("Grounder", lambda g: g.offsets)):
        for way, copied in WAYS.items():
            value = values.VALUES[name]()
            values.reported(value)
            other, before = copied(value), ask(value).copy()
            values.reported(other)
            values.reported(other)
            np.testing.assert_array_equal(ask(value), before, err_msg=f"{name} {way}")


def test_a_copied_rig_still_knows_its_document(tmp_path):
    rig = values.rig("glb")
    for way in ("copy", "deepcopy"):
        poise.save(WAYS[way](rig), tmp_path / "copied.glb")
        poise.save(rig, tmp_path / "own.glb")
        assert (tmp_path / "copied.glb").read_bytes() == (tmp_path / "own.glb").read_bytes()


# --- other processes and threads -------------------------------------------------------------------------------------


def answered(name, value):
    """Asked in another process: what it says there, what one says that was made there, and the value come back."""
    back = copy.copy(value)
    return values.reported(value), values.reported(values.EVERY[name]()), back


def raising(error):
    raise error


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.long
def test_values_travel_to_a_process_and_back(method):
    names = [name for name in TRAVELLING if name not in ("Autodiff", "Comparison")]
    sent = [values.EVERY[name]() for name in names]
    kept = [copy.copy(value) for value in sent]
    wanted = [values.reported(value) for value in kept]
    with ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
        found = pool.map(answered, names, sent, timeout=PROCESS, chunksize=16)
        for name, want, (there, made_there, back) in zip(names, wanted, found, strict=True):
            assert there == made_there, name
            assert values.reported(back) == want, name
        for name in ("FileError", "UnknownNameError", "InputError"):
            with pytest.raises(poise.PoiseError) as error:
                pool.submit(raising, values.EVERY[name]()).result(PROCESS)
            assert str(error.value) == str(values.EVERY[name]())


@pytest.mark.parametrize("problem", FEW)
def test_threads_that_share_values_get_the_same_bits(problem):
    requested = PROBLEMS[problem]
    go, rows = requested.prepared("auto"), range(8)
    wanted = [(go(requested.targets(row)), requested.solved("auto", row)) for row in rows]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            found = pool.map(lambda row: (go(requested.targets(row)), requested.solved("auto", row)), rows)
            for one, other in zip(found, wanted, strict=True):
                same_bits(one[0], other[0])
                same_bits(one[1], other[1])


def test_a_process_forked_among_busy_threads_solves():
    stop, targets = threading.Event(), np.random.default_rng(1).uniform(-0.5, 0.5, (5000, 3))

    def busy(solver):
        while not stop.is_set():
            poise.solve(values.arm(), Position("tool", targets), solver=solver, threads=2)

    threads = [threading.Thread(target=busy, args=(solver,)) for solver in ("levenberg_marquardt", "ccd")]
    for thread in threads:
        thread.start()
    try:
        codes = [forked(lambda: values.reported(values.solved())) for _ in range(5)]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert codes == [0] * 5


def test_a_process_forked_while_another_thread_works_out_a_property_has_it():
    stop, poses = threading.Event(), values.rig("glb").clips[0].poses
    many = poise.Pose(poses.skeleton, np.tile(poses.q, (2000, 1)))

    def asking():
        while not stop.is_set():
            assert len(many[:].world.affine) == len(many)

    thread = threading.Thread(target=asking)
    thread.start()
    try:
        codes = [forked(lambda: values.reported(poses[1:].world)) for _ in range(5)]
    finally:
        stop.set()
        thread.join()
    assert codes == [0] * 5


@pytest.mark.long
def test_a_process_forked_while_another_thread_compiles_solves():
    stop = threading.Event()

    def compiling():
        while not stop.is_set():
            numba.njit(lambda x: 2.0 * x + np.sin(x))(1.0)

    thread = threading.Thread(target=compiling)
    values.reported(values.solved())
    numba.njit(lambda x: x + 1.0)(1.0)  # Numba itself is loaded before: kernels of the library do not need it
    thread.start()
    try:
        codes = [forked(lambda: numba.njit(lambda x: x + 1.0)(1.0)) for _ in range(5)]
    finally:
        stop.set()
        thread.join()
    assert codes == [0] * 5


def forked(work):
    """The exit code of a forked process that does some work: 0 where it was done."""
    child = os.fork()
    if not child:  # which must end whatever happens
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return ended(child)


def ended(child):
    """The exit code of a process; 1 for one that hangs."""
    waited = threading.Event()
    for _ in range(int(NO_HANG * 10)):
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        waited.wait(0.1)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return 1
