"""Answers of the viewer at its socket while parts of figures are pulled, half of the time beyond reach.

`poise view` serves each file in a fresh process without a cache of kernels. A page without a browser says hello, waits
until the figure stands, and pulls hand, foot, head and hips of a whole body, 200 moves each, or the targets of the
limbs of a robot. It sends the next move when the answer to the last one has come, and acknowledges what comes as a
page does. With --beside, servers with the package of another checkout take turns.

Waiting times grow with what else the machine does; the processor time of the server for an answer hardly does. Both are
told for each answer, beside the load of the machine.

    python benchmarks/viewer_socket.py [--beside FOLDER/src] [--moves 200] [--rounds 1] [FILE ...]
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import harness
import numpy as np
from websockets.sync.client import ClientConnection, connect

from poise import samples

MOVES = 200  # of each part
LOOPS = 4  # ways out and back again, each in a direction of its own
REST_S = 0.4  # [s] without a message after which a page is at rest
LOADED_S = 1.0  # [s] before somebody pulls for the first time
PATIENCE_S = 60.0  # [s] for one answer
SEED = 11
# Parts of a whole body by role, with the farthest distance of their targets in extents of the figure. About half of the
# moves are beyond reach then.
PARTS = {"leftHand": 1.0, "rightFoot": 0.8, "head": 0.6, "hips": 0.6}
LIMB_DISTANCE = 1.2  # of the targets of a robot's limbs
MAX_LIMBS = 4
PROCESS_CLOCK = 2  # of Linux: a clock id is made of it and a process number
OLD_HEADER = 48  # bytes before the poses, before there were more than two views
BEYOND = 1e-3  # an answer is beyond reach where this share of the figure's extent is left
FIGURES = (
    "glb/knight_kaykit.glb", "glb/human_female_m2m.glb", "glb/human_anim_m2m.glb", "glb/mixamo_human_makehuman.glb",
    "glb/mannequiny_gdquest.glb", "glb/cryptovoxels.vrm", "field/roll_bones.glb", "fbx/arnaud_skinned.fbx",
    "fbx/cmu_91_49_m2m.fbx", "fbx/kenney_character.fbx", "fbx/pab_jog.fbx", "fbx/pab_walk.fbx", "asf/02.asf",
    "bvh/bvhio_example.bvh", "bvh/cmu_01_03_climb_ladder.bvh", "bvh/cmu_12_01_walk.bvh",
    "bvh/jumping_jacks_cmu1.bvh", "bvh/mocapbank.bvh", "bvh/rest/walk_T.bvh", "bvh/run_mass.bvh",
    "bvh/walk_mass.bvh", "bvh/walk_makehuman_zup.bvh", "usd/humanoid_mimickit.usd", "glb/fox.glb",
    "glb/robot_quaternius.glb", "mjcf/allegro_right.xml", "mjcf/shadow_right_hand.xml", "mjcf/h1.xml",
    "mjcf/humanoid_CMU_V2020.xml", "mjcf/ur5e.xml", "urdf/g1_29dof.urdf", "urdf/panda.urdf", "urdf/solo12.urdf",
    "urdf/ur5.urdf",
)  # fmt: skip
WANTED = (
    "`work` is the processor time of the server for an answer (mean and 95th percentile; what it does between two "
    "answers, such as the sentences, counts to the later one), `KB` what the page gets for it, `load` the mean number "
    "of processes that wanted one of the machine's cores, the server's among them. Wanted: 60 answers a "
    "second, a median of 10 ms, a 95th percentile of 20 ms, targets beyond reach included, and a first answer that "
    "does not stall."
)


class Answer(NamedTuple):
    """How an answer came: milliseconds since the move was sent, the server's work, the error left [file units]."""

    milliseconds: float
    work: float  # [ms] since the answer before
    error: float


class Page:
    """A page without a browser."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.kinds: dict[str, Any] = {}
        self.serial = 0
        self.error = 0.0
        self.rows = np.zeros((0, 3))
        self.got = 0  # bytes
        self.process = 0  # number of the server's
        self.work = 0.0  # [ms] at the last answer

    def send(self, do: str, **arguments: Any) -> None:
        """Send an action."""
        self.socket.send(json.dumps({"do": do, **arguments}))

    def take(self, timeout: float) -> bool:
        """Take the next message, or none within the timeout."""
        try:
            message = self.socket.recv(timeout=timeout)
        except TimeoutError:
            return False
        self.got += len(message)
        if isinstance(message, str):
            content = json.loads(message)
            known = self.kinds.get("state", {}) if content["kind"] == "state" else {}  # a state has what has changed
            self.kinds[content["kind"]] = known | content
            if content["kind"] == "message" and content["level"] == "error" and "'watch'" not in content["text"]:
                raise RuntimeError(content["text"])
            return True
        kind, _, views, width, characters, joints, frame, serial = struct.unpack_from("<BBBBHHII", message)
        if kind == 1:
            header = len(message) - 4 * views * characters * joints * width
            rows = np.frombuffer(message, "<f4", offset=header).reshape(views, characters, joints, width)[0, 0]
            self.rows = rows[:, :3] if width == 7 else rows[:, 3::4]  # a row of seven numbers, or of an affine map
            self.serial, self.error = serial, struct.unpack_from("<f", message, 32 if header == OLD_HEADER else 36)[0]
            self.send("seen", frame=frame)
        return True

    def read_work(self) -> float:
        """Read the processor time of the server [ms]. What else the machine does is not in it."""
        return 1e3 * time.clock_gettime((~self.process << 3) | PROCESS_CLOCK)

    def settle(self, seconds: float = REST_S) -> None:
        """Take messages until none has come for a while, and nothing is at work."""
        while self.take(seconds) or (self.kinds.get("busy") or {"text": None})["text"] is not None:
            pass

    def ask(self, serial: int, do: str, **arguments: Any) -> Answer:
        """Send a move and wait for its pose."""
        began = time.perf_counter()
        self.send(do, serial=serial, **arguments)
        while self.serial != serial:
            if time.perf_counter() - began > PATIENCE_S:
                message = f"no answer to {arguments}"
                raise RuntimeError(message)
            self.take(1.0)
        milliseconds, before, self.work = 1e3 * (time.perf_counter() - began), self.work, self.read_work()
        return Answer(milliseconds, self.work - before, self.error)


@contextlib.contextmanager
def served(path: Path, source: Path | None) -> Iterator[Page]:
    """A page of a fresh `poise view`, with the package of another checkout or of this one."""
    with tempfile.TemporaryDirectory() as cache:
        words = os.environ | {"NUMBA_CACHE_DIR": cache} | ({} if source is None else {"PYTHONPATH": str(source)})
        command = [sys.executable, "-W", "ignore", "-m", "poise", "view", str(path), "--no-browser"]
        with subprocess.Popen(command, env=words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as run:
            try:
                assert run.stdout is not None
                host, _, token = run.stdout.readline().split()[-1].partition("/?token=")
                with connect(host.replace("http", "ws") + "/socket", origin=host, max_size=None) as socket:
                    page = Page(socket)
                    page.process = run.pid
                    page.send("hello", token=token)
                    while not len(page.rows) or "state" not in page.kinds:
                        page.take(1.0)
                    page.send("play", on=False)
                    page.send("watch", curve=False)  # its panels are closed
                    page.settle(LOADED_S)
                    yield page
            finally:
                run.kill()


def make_ways(start: np.ndarray, distance: float, moves: int, rng: np.random.Generator) -> np.ndarray:
    """Targets from a place out and back, in a direction of its own each time."""
    steps = np.arange(moves) * LOOPS / moves
    directions = rng.normal(size=(LOOPS, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return start + distance * np.sin(np.pi * steps)[:, None] ** 2 * directions[steps.astype(int)]


def pull_parts(page: Page, moves: int) -> dict[str, list[Answer]]:
    """Pull each part of a whole body, or move the target of each limb."""
    joints, rng, serial = page.kinds["model"]["joints"], np.random.default_rng(SEED), 1
    extent = float(np.ptp(page.rows, axis=0).max())
    rows = {joint["role"]: row for row, joint in enumerate(joints) if joint.get("role")}
    handles: list[tuple[str, str, dict[str, Any], np.ndarray, float]] = []
    if page.kinds["state"]["scope"] == "body":
        for role, distance in PARTS.items():
            if role in rows:
                joint = {"joint": joints[rows[role]]["name"]}
                handles.append((role, "pull", joint, page.rows[rows[role]], distance * extent))
    else:
        chains = [chain for chain in page.kinds["state"]["chains"] if chain["kind"] in ("position", "place")]
        for chain in chains[:MAX_LIMBS]:
            start = np.array(chain["position"])
            handles.append((chain["id"], "target", {"chain": chain["id"]}, start, LIMB_DISTANCE * extent))
    answers: dict[str, list[Answer]] = {}
    for name, do, handle, start, distance in handles:
        if do == "target":
            page.send("chain_change", **handle, enabled=True)
        found = answers[name] = []
        page.work = page.read_work()
        for i, target in enumerate(make_ways(start, distance, moves, rng)):
            phase = "start" if i == 0 else "move"
            found.append(page.ask(serial, do, **handle, position=target.tolist(), phase=phase))
            serial += 1
        page.send(do, **handle, position=target.tolist(), phase="end", serial=serial)
        serial += 1
        page.settle()
    return answers


def measure(path: Path, source: Path | None, moves: int, rounds: int) -> harness.Row:
    """A row of a file, its rounds together."""
    answers: list[Answer] = []
    firsts: list[float] = []
    worst: list[float] = []
    works: list[float] = []
    loads: list[float] = []
    sizes: list[int] = []
    for _ in range(rounds):
        with served(path, source) as page:
            extent, joints = float(np.ptp(page.rows, axis=0).max()), len(page.rows)
            work, got = page.read_work(), page.got
            parts = pull_parts(page, moves)
            works.append(page.read_work() - work)
            sizes.append(page.got - got)
            loads.append(os.getloadavg()[0])
        firsts.append(next(iter(parts.values()))[0].milliseconds)
        found = [answer for part in parts.values() for answer in part]
        worst.append(max(answer.milliseconds for answer in found[1:]))
        answers += found
    times, each = (np.array([getattr(answer, name) for answer in answers]) for name in ("milliseconds", "work"))
    beyond = np.mean([answer.error > BEYOND * extent for answer in answers])
    return {
        "figure": path.name, "joints": joints, "pulled": len(parts), "beyond reach [%]": round(100 * float(beyond)),
        "work [ms]": sum(works) / len(answers), "work p95 [ms]": float(np.percentile(each, 95)),
        "KB": sum(sizes) / len(answers) / 1e3,
        "answers [1/s]": 1e3 / float(times.mean()), "median [ms]": float(np.median(times)),
        "p95 [ms]": float(np.percentile(times, 95)), "worst [ms]": max(worst), "first [ms]": max(firsts),
        "load": round(float(np.mean(loads)), 1),
    }  # fmt: skip


def list_files(words: list[str]) -> list[Path]:
    """The files that are pulled: those that were asked for, or of the test data, or a bundled one."""
    data = harness.data_folder()
    if words:
        return [Path(word) if Path(word).is_file() or data is None else data / word for word in words]
    found = [data / figure for figure in FIGURES if (data / figure).is_file()] if data is not None else []
    return [samples.path("humanoid.glb"), *found]


def main() -> int:
    """Measure all files and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--beside", type=Path, help="folder src of another checkout")
    parser.add_argument("--moves", type=int, default=MOVES)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("files", nargs="*", metavar="FILE")
    asked = parser.parse_args()
    rows: list[harness.Row] = []
    for path in list_files(asked.files):
        for label, source in (("before", asked.beside), ("now", None)):
            if label == "now" or source is not None:
                row = {"package": label, **measure(path, source, asked.moves, asked.rounds)}
                print(row, flush=True)
                rows.append(row)
    if asked.beside is None:
        rows = [{name: value for name, value in row.items() if name != "package"} for row in rows]
    harness.report("viewer_socket", "Viewer at its socket", rows, [WANTED])
    return 0


if __name__ == "__main__":
    sys.exit(main())
