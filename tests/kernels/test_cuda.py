"""The kernels stay compilable for CUDA: their source becomes PTX without a GPU, and gives the same in a simulator."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from poise.kernels import arm_lm
from poise.kernels.lanes import LANES8
from poise.kernels.layout import LIMIT_ROW
from poise.maths.arrays import allocate_aligned
from tests.kernels.cuda_build import NOT_HERE
from tests.kernels.test_lanes import arm_driver
from tests.kernels.tree_cases import settings, solve, work_of
from tests.reference.kernel_tree import random_tree, random_u
from tests.shared_kernel_cache import once
from tests.workload import amount, is_drawn

pytestmark = pytest.mark.long

ROOT = Path(__file__).parent.parent.parent
ENTRIES = ("place_arm", "solve_arms", "solve_trees")
CAPABILITIES = ("8.0", "9.0")  # A100, H100
#: Code for both is the same, as a test finds on what is small; the rest is compiled for both in full amounts only. That
#: of the engine takes minutes, and is compiled where the commit draws it.
CODE = [
    f"{entry}:{capability}"
    for entry in ENTRIES
    for capability in amount(CAPABILITIES[: 2 if entry == "place_arm" else 1], CAPABILITIES)
    if entry != "solve_trees" or is_drawn("CUDA's engine", 6)
]


def run(*arguments, **environment):
    command = [sys.executable, "-m", "tests.kernels.cuda_build", *map(str, arguments)]
    return subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=ROOT, env=os.environ | environment
    )  # fmt: skip


# --- PTX ---------------------------------------------------------------------------------------------------------


def wheel():
    """Folder of the package nvidia-cuda-nvcc-cu12, None where it is not installed."""
    try:
        spec = importlib.util.find_spec("nvidia.cuda_nvcc")
    except ModuleNotFoundError:
        return None
    return spec and Path(next(iter(spec.submodule_search_locations)))


@pytest.fixture(scope="module")
def ptx(tmp_path_factory):
    """PTX by entry point and capability, made once for all workers."""
    made = json.loads(once(tmp_path_factory, "ptx.json", compile_to).read_text(encoding="utf-8"))
    if "not here" in made:
        pytest.skip(f"pip install nvidia-cuda-nvcc-cu12, or a CUDA toolkit, to compile for CUDA: {made['not here']}")
    return made


def compile_to(path):
    """Write what the compiler answers, as JSON."""
    here, environment = wheel(), {"NUMBA_DISABLE_JIT": "0"}
    if here:  # else Numba looks for a CUDA toolkit by itself
        paths = [str(here / "nvvm" / "lib64"), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        environment |= {"CUDA_HOME": str(here), "LD_LIBRARY_PATH": os.pathsep.join(paths)}
    done = run("ptx", *CODE, **environment)
    assert done.returncode in (0, NOT_HERE), done.stderr
    path.write_text(done.stdout if done.returncode == 0 else json.dumps({"not here": done.stderr}), encoding="utf-8")


@pytest.mark.parametrize("each", CODE)
def test_kernels_compile_to_ptx(ptx, each):
    code, (entry, capability) = ptx[each], each.split(":")
    assert f".target sm_{capability.replace('.', '')}\n" in code
    assert len(re.findall(rf"^\.visible \.entry \w*{entry}\w*\($", code, re.MULTILINE)) == 1
    assert ".f64" in code
    assert ".f32" not in code


@pytest.mark.parametrize("entry", [each.partition(":")[0] for each in CODE if each.endswith(":8.0")])
def test_ptx_calls_only_what_it_defines(ptx, entry):
    code = ptx[f"{entry}:8.0"]
    assert ".extern" not in code
    called = set(re.findall(r"call(?:\.uni)?\s+(?:\([^)]*\),\s*)?(\w+)", code))
    assert called <= set(re.findall(r"^\.func [^;{]*?(\w+)\(\n[^;]*?\)\s*\{", code, re.MULTILINE))


@pytest.mark.parametrize("entry", amount(ENTRIES[:1], ENTRIES))
def test_ptx_is_the_same_for_every_gpu(ptx, entry):
    """But for the GPU that is named, and names that number what is compiled."""
    first, second = (
        re.sub(r"\b_ZN\w+", "name", ptx[f"{entry}:{capability}"]).replace(f"sm_{capability.replace('.', '')}", "sm")
        for capability in CAPABILITIES
    )
    assert first == second


def assembler():
    return (wheel() and shutil.which("ptxas", path=wheel() / "bin")) or shutil.which("ptxas")


@pytest.mark.parametrize("each", CODE)
def test_ptx_assembles_for_a_gpu(ptx, each, tmp_path, record_property):
    if assembler() is None:
        pytest.skip("pip install nvidia-cuda-nvcc-cu12, or a CUDA toolkit, for ptxas")
    (tmp_path / "code.ptx").write_text(ptx[each])
    target = f"sm_{each.partition(':')[2].replace('.', '')}"
    how = ["-v", f"-arch={target}", *amount(("-O0",), ())]  # what is no code is refused before any is optimised
    command = [assembler(), *how, tmp_path / "code.ptx", "-o", tmp_path / "code.cubin"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    registers = re.findall(r"Used (\d+) registers", done.stderr)
    assert registers
    record_property("registers", max(map(int, registers)))


# --- simulator ---------------------------------------------------------------------------------------------------


def simulated(entry, arrays, folder):
    """What the arrays hold after Numba's CUDA simulator ran the entry point on them."""
    np.savez(folder / "before.npz", *arrays)
    done = run(
        "simulate", entry, folder / "before.npz", folder / "after.npz", NUMBA_ENABLE_CUDASIM="1", NUMBA_DISABLE_JIT="1"
    )
    assert done.returncode == 0, done.stderr
    with np.load(folder / "after.npz") as after:
        return list(after.values())


def placed(links, x):
    places = np.zeros((len(x), 7))
    arm_lm.compute_tip_transforms(links, x, places)
    return places


def arm(rng):
    """Links (m + 1, 10) of six hinges and a slide, and seeds."""
    m = 7
    links = np.zeros((m + 1, 10))
    links[:, :3] = rng.uniform(-0.4, 0.4, (m + 1, 3))
    turns = rng.normal(size=(m + 1, 4))
    links[:, 3:7] = turns / np.linalg.norm(turns, axis=1, keepdims=True)
    links[:, 7:9] = -2.5, 2.5
    links[3, 7:] = 0.0, 0.3, 1.0
    x = rng.uniform(links[:m, 7], links[:m, 8], (64, m))
    return links, np.hstack([x, placed(links, x)])


def test_simulated_threads_place_the_tip_where_the_cpu_does(tmp_path):
    links, seeds = arm(np.random.default_rng(1))
    x = np.ascontiguousarray(seeds[:10, :7])
    *_, positions, rotations = simulated("place_arm", [links, x, np.zeros((10, 3)), np.zeros((10, 4))], tmp_path)
    np.testing.assert_allclose(np.hstack([positions, rotations]), placed(links, x), atol=1e-14)


def test_simulated_threads_solve_an_arm_as_the_cpu_does(tmp_path):
    rng = np.random.default_rng(2)
    links, seeds = arm(rng)
    k, m = amount(4, 7), 7
    targets = placed(links, rng.uniform(links[:m, 7], links[:m, 8], (k, m)))
    targets[-1, :3] = 9.0  # out of reach: restarts and a last polish
    options = np.array([1e-14, 1e-14, 1, 1, 0.03, 1e-8, 25, 6, 8, 0, 3, 6.0, 0])
    values, tips = seeds[:, :m].copy(), allocate_aligned(7 * len(seeds))
    tips[:] = seeds[:, m:].T.ravel()
    before = [links, values, tips, targets, values[:1], options]
    found = [np.zeros((k, m)), np.zeros(k), np.zeros((k, 3), dtype=np.int64)]
    after = simulated("solve_arms", [*before, *found], tmp_path)[len(before) :]
    arm_driver(LANES8)(*before, 0, k, *found, np.zeros((0, m + 1)))
    assert found[2][:, 2].tolist() == [1] * (k - 1) + [0]
    for got, want in zip(after, found, strict=True):
        np.testing.assert_allclose(got, want, atol=1e-9)


def test_simulated_threads_solve_a_tree_as_the_cpu_does(tmp_path):
    rng = np.random.default_rng(3)
    tree = random_tree(rng, n=6, terms=2)
    k = amount(2, 5)
    targets, start = tree.targets_at(random_u(rng, tree, k, 0.6)), random_u(rng, tree, 1, 0.5)
    options, seeds = settings(20, 2, 3), rng.random((2, len(tree.dofs)))
    found = [np.zeros((k, tree.nu)), np.zeros(k), np.zeros((k, 3), dtype=np.int64)]
    after = simulated(
        "solve_trees",
        [
            tree.nodes, tree.frames, tree.dofs, tree.terms, tree.effectors, tree.paths, tree.row_ranges, targets, start,
            seeds, np.zeros(tree.nu), np.zeros(len(tree.dofs)), np.zeros((len(tree.nodes), LIMIT_ROW)), options,
            np.tile(work_of(tree), (k, 1)), *found,
        ],
        tmp_path,
    )  # fmt: skip
    *want, _ = solve(tree, targets, start, options, seeds=seeds)
    for got, wanted in zip(after[-3:], want, strict=True):
        np.testing.assert_allclose(got, wanted, atol=1e-9)
