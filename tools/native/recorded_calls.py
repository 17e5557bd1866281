"""Recorded calls of kernels, for comparing native code with the JIT.

    python tools/native/recorded_calls.py record FILE     run solvers, and keep 12 calls of each kernel
    python tools/native/recorded_calls.py compare FILE    repeat the calls on the kernels of POISE_KERNELS

Scratch memory (`s` and `a` in a signature) is not compared: kernels leave in it what they like.
"""

from __future__ import annotations

import argparse
import itertools
import json
import pickle
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

_MAX_CALLS = 12  # of each kernel
_MAX_BYTES = 8_000_000  # of the arrays of a recorded call


class RecordedCall(NamedTuple):
    """A call: arguments before, written arrays after, and the result."""

    before: tuple[Any, ...]
    after: tuple[Any, ...]
    result: Any


RECORDED: dict[str, list[RecordedCall]] = {}


def start_recording() -> None:
    """Record the calls of all kernels imported from here on."""
    from poise.kernels import entries  # noqa: PLC0415  (before any kernel)

    choose = entries._choose  # noqa: SLF001  (the one place where a kernel's callable is chosen)

    def choose_recorded(name: str, function: Any, *, releases_gil: bool) -> tuple[Any, Any]:
        backend, call = choose(name, function, releases_gil=releases_gil)
        return backend, _record_calls(name, call)

    entries._choose = choose_recorded  # noqa: SLF001


def _record_calls(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    kept = RECORDED.setdefault(name, [])

    def call_recorded(*arguments: Any) -> Any:
        size = sum(each.nbytes for each in arguments if isinstance(each, np.ndarray))
        if len(kept) >= _MAX_CALLS or size > _MAX_BYTES:
            return call(*arguments)
        before = _copy(arguments)
        result = call(*arguments)
        kept.append(RecordedCall(before, _copy(arguments), result))
        return result

    return call_recorded


def _copy(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(each.copy() if isinstance(each, np.ndarray) else each for each in arguments)


def run_workload() -> None:
    """Solve with every solver and verb, single and batch."""
    import poise  # noqa: PLC0415  (after `start_recording`)
    from poise import precompile  # noqa: PLC0415
    from poise.ground.terrain.terrain import Terrain  # noqa: PLC0415

    for _, step in precompile.list_steps():
        step()
    rig, arm = poise.load(poise.sample("humanoid.bvh")), poise.load(poise.sample("arm.urdf")).rest
    figure = rig.rest
    hands = [poise.Position("LeftHand", (0.5, 1.1, 0.3)), poise.Position("RightHand", (-0.5, 1.2, 0.2))]
    poise.solve(figure, hands, natural=True, free_root=True)
    poise.solve(figure, [poise.Position("LeftHand", (0.2, 0.1, 0.4)), *hands[1:]], natural=True, free_root=True)
    half_turns = [(0.0, 1.0, 0.0, 0.0), (0.6, 0.8, 0.0, 0.0), (0.8, -0.6, 0.0, 0.0)]
    elbow = {"LeftForeArm": None}  # which is a hinge in the sample
    for start in (figure, poise.Pose(figure.skeleton.with_limits(elbow), figure.q)):
        poise.solve(start, poise.Place("LeftHand", (0.4, 1.2, 0.35), half_turns), natural=True)
    for solver in (
        "jacobian_transpose",
        "pseudo_inverse",
        "selectively_damped",
        "damped_least_squares",
        "ccd",
        "fabrik",
    ):
        for count in (1, 9):
            targets = np.linspace((0.3, 1.0, 0.3), (0.6, 1.3, 0.1), count)
            poise.solve(figure, hands[0].with_target(targets), solver=solver)
    targets = np.random.default_rng(44).uniform(-0.5, 0.5, (40, 3))
    poise.solve(arm, poise.Position("tool", targets), solver="ccd")
    for start, goal in ((arm, poise.Position("tool", targets[0])), (figure, hands[0])):
        tracker = poise.Tracker(start, goal, speed=2.0, damping=0.1)
        for target in targets[:12]:
            tracker(target, dt=1 / 30)
    poise.solve(arm, poise.Place("tool", targets[:3], np.tile(np.eye(3), (3, 1, 1))))
    poise.solve(arm, poise.Direction("tool", targets[:3]))
    feet = [poise.Pin("LeftFoot"), poise.Pin("RightFoot")]
    floor = [poise.Position("LeftHand", (0.3, 0.1, 0.5)), poise.Position("RightHand", (-0.3, 0.2, 0.5))]
    poise.solve(figure, [*feet, *floor], natural=True, free_root=True)
    poise.solve(figure, [*feet, floor[0]], natural=True, free_root=True)
    poise.solve(figure, [*feet, floor[0]], free_root=True, floor=0.1)
    poise.solve(figure, [*feet, poise.Position("LeftHand", (0.2, 0.7, 1.0))], free_root=True)
    seat = poise.Position("Hips", (0.0, 0.6, -0.2))
    poise.solve(figure, [*feet, seat], free_root=True)
    poise.solve(figure, [*feet, seat, poise.Position("LeftHand", (0.2, 0.3, 0.6))], free_root=True)
    seen = [(2.0, 1.4, -1.0), (0.1, 1.5, 2.0), (0.0, 9.0, 0.1)]
    poise.solve(figure, [*feet, poise.LookAt("Head", seen)], natural=True, free_root=True)
    poise.solve(figure, [floor[0], poise.LookAt("Head", seen)], natural=True)
    poise.solve(figure, poise.Position("LeftHand", [(0.2, 1.4, depth) for depth in (0.4, 0.5, 0.55, 0.6, 0.7)]))
    limited = poise.Pose(figure.skeleton.with_limits(rig.roles.limits()), figure.q)
    poise.solve(limited, [*hands, *feet], prefer="closest", seeds=4)
    poise.solve(limited, poise.Near(limited), natural=False)
    poise.solve(limited, [hands[0], poise.Near(limited)])
    walk = poise.load(poise.sample("humanoid.glb")).clips[0]
    poise.plant_feet(walk, Terrain.stairs(0.1, 0.4))
    poise.plant_feet(walk, Terrain.stairs(0.15, 0.3, direction=(0, 0, 1)), stride="fit")
    between = poise.Position("LeftHand", np.full((80, 3), 0.1), relative_to="RightHand")
    poise.solve(figure, between, natural=False)
    _call_unreached_kernels()


def _call_unreached_kernels() -> None:
    """Call the kernels that no verb reaches on the samples."""
    from poise import kernels  # noqa: PLC0415  (after `start_recording`)
    from poise.model.limit_bounds import pack_limit  # noqa: PLC0415
    from poise.model.limits import SwingTwist  # noqa: PLC0415

    draw = np.random.default_rng(45)
    rotations = draw.normal(size=(20, 4))
    rotations /= np.linalg.norm(rotations, axis=1, keepdims=True)
    limits = np.array([pack_limit(SwingTwist((1, 0, 0), 0.8, (-0.5, 0.5)))])
    kernels.limits.clamp_rotations(np.zeros(1, dtype=np.int64), limits, rotations)
    bend = np.array([[0.0, -1.0, 0.0], [0.0, -0.99, 0.14], [1.0, 0.0, 0.0]])  # of a knee that is built backwards
    for call in RECORDED["limb_packing.pack_limbs"][:4]:
        constants, maps, q, offsets, _, map_rotations, limb_rows = call.after
        scratch = np.empty((1, maps.shape[1])), np.empty((1, q.shape[1])), np.empty((1, 16))
        known = constants, maps, q, offsets, map_rotations
        kernels.limb_packing.straighten_limbs(*known, bend, 0.9, *scratch, limb_rows.copy())
    for call in RECORDED["posture_root.carry_roots"][:4]:
        maps, limb_rows, _, _, _, limb_targets, is_leg, sizes = call.before[:8]
        shifts, ways = draw.normal(size=(len(limb_targets), 3)), np.empty((len(limb_targets), 3))
        first_positions = np.empty((len(limb_rows), 3))
        known = maps, limb_rows, limb_targets, is_leg, sizes[2].copy(), shifts
        kernels.posture_root.shift_roots(*known, first_positions, ways)
    for call in RECORDED["posture.compute_poles"][:4]:
        maps, map_indices, natural_bend = call.before[:3]
        poles, is_raised = np.zeros((len(maps), 3)), np.ones(len(maps), dtype=np.bool_)
        kernels.posture.lower_raised_poles(maps, map_indices, natural_bend, poles, is_raised)


def compare(path: Path, kernels: Mapping[str, Callable[..., Any]] | None = None) -> dict[str, Any]:
    """Repeat recorded calls on kernels, or on those of the process, and return the differing ones.

    Calls of other kernels are left out.
    """
    from native.kernel_modules import import_kernels  # noqa: PLC0415

    entries = import_kernels()
    kernels = {name: entry.call for name, entry in entries.items()} if kernels is None else kernels
    recorded: dict[str, list[tuple[Any, ...]]] = pickle.loads(path.read_bytes())  # noqa: S301  (our own file)
    recorded = {name: calls for name, calls in recorded.items() if name in kernels}
    equal, different, zeros = 0, {}, {}
    for name, calls in sorted(recorded.items()):
        words = entries[name].signature.partition("->")[0].split()
        for call in itertools.starmap(RecordedCall, calls):
            arguments = tuple(map(_align, call.before))
            result = kernels[name](*arguments)
            compared = [i for i, word in enumerate(words) if word[0] not in "sa" and len(word) > 1]
            pairs = [(result, call.result), *((arguments[i], call.after[i]) for i in compared)]
            if all(_get_bits(now) == _get_bits(then) for now, then in pairs):
                equal += 1
            elif all(_get_bits(now, 0.0) == _get_bits(then, 0.0) for now, then in pairs):
                zeros[name] = zeros.get(name, 0) + 1
            else:
                different[name] = different.get(name, 0) + 1
    missing = sorted(set(kernels) - {name for name, calls in recorded.items() if calls})
    return {"equal": equal, "signs of zero": zeros, "different": different, "without calls": missing}


def _get_bits(values: Any, added: float | None = None) -> bytes:
    """Return the bits of an array, or of a kernel's result. Adding zero makes all zeros positive."""
    if values is None or isinstance(values, tuple):
        return b"".join(_get_bits(each, added) for each in values or ())
    array = np.asarray(values)
    return (array if added is None else array + added).tobytes()


def _align(argument: Any) -> Any:
    """Copy an array to memory aligned to 64 bytes."""
    if not isinstance(argument, np.ndarray):
        return argument
    memory = np.empty(argument.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    aligned = memory[start : start + argument.nbytes].view(argument.dtype).reshape(argument.shape)
    aligned[...] = argument
    return aligned


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("action", choices=("record", "compare"))
    parser.add_argument("file", type=Path)
    options = parser.parse_args()
    if options.action == "record":
        start_recording()
        run_workload()
        plain = {name: [tuple(call) for call in calls] for name, calls in RECORDED.items()}
        options.file.write_bytes(pickle.dumps(plain))
        print(json.dumps({name: len(calls) for name, calls in sorted(RECORDED.items())}))
        return 0
    outcome = compare(options.file)
    print(json.dumps(outcome))
    return 1 if outcome["different"] else 0


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))
    sys.exit(main())
