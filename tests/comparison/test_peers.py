"""The adapters of other libraries: what they solve is judged by our forward kinematics beside their own claims.

A library that is not installed is skipped with the sentence that says how to get it; scripts/test --all installs all.
"""

from __future__ import annotations

import gc
import importlib.util
import logging
import os
import re
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest

import poise
from poise import Kind, Place, Pose, Position
from poise.comparison import peers
from poise.comparison.peers import NotInstalledError
from poise.comparison.peers.serial_chain import build_serial_chain
from poise.errors import PoiseError, UnknownNameError, UnsupportedError
from poise.io import samples
from poise.problem.problem import Tolerance
from tests.strategies import rng_of, straight_chain

NAMES = ("ikpy", "mink", "optik", "pinocchio", "pybullet", "roboticstoolbox", "three")
NOWHERE, UNTURNED = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
CLOSE = Tolerance(1e-4, 1e-4)
TARGETS = 20
# the least share [%] of targets that each reaches from the middle of its range: an arm, the Panda, a chain of balls
LEAST = {
    "ikpy": (50, 50, 90),
    "mink": (40, 40, 90),
    "optik": (95, 95, 95),
    "pinocchio": (95, 95, 95),
    "pybullet": (20, 20, 80),
    "roboticstoolbox": (95, 95, 95),
    "three": (60, 50, 90),
}
OUTSIDE = 1e-9  # [rad] what our judge allows


def here(name):
    """The adapter, or a skip with how to install its library."""
    peer = peers.load_adapter(name)
    sentence = peer.find_install_hint()
    if sentence is not None:
        pytest.skip(sentence)
    return peer


def nothing(*_):
    """A module that is not there."""


def anything(*_):
    """A module that seems to be there."""
    return True


def state():
    """What an import must leave alone."""
    signals = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGFPE)]
    numpy_prints = {name: str(value) for name, value in np.get_printoptions().items()}
    root = (logging.root.level, list(logging.root.handlers), logging.root.manager.disable)
    return signals, np.geterr(), numpy_prints, warnings.filters[:], root, dict(os.environ), sys.excepthook


def middle(skeleton):
    """A pose with every value in the middle of its range."""
    low, high = skeleton.value_ranges.T
    return Pose(skeleton, np.where(np.isfinite(low + high), (low + high) / 2, skeleton.rest_q))


def balls():
    """Six ball joints of 20 cm each, in centimetres, a little bent."""
    s = straight_chain(6, Kind.BALL, length=20.0)
    q = np.tile([1.0, 0.0, 0.0, 0.0], 6)
    q[1::4], q[3::4] = 0.1, -0.05
    return Pose(s, q)


class Scores:
    """Of some targets: how many are reached, by our judgement and by the peer's own."""

    def __init__(self, peer, start, goal, seed):
        self.arm = arm = build_serial_chain(start, goal)
        rng = rng_of(seed)
        low, high = np.where(np.isfinite(arm.low), arm.low, -1.2), np.where(np.isfinite(arm.high), arm.high, 1.2)
        wanted = arm.compute_world_tip(rng.uniform(low, high, size=(TARGETS, len(low))))
        close = Tolerance(CLOSE.distance * arm.unit, CLOSE.angle)
        made = peer(arm, type(goal).__name__, close)
        self.reached = self.false_claims = self.silent = self.seconds = 0
        try:
            for place in wanted:
                self._solve(made, start, goal, place, close)
        finally:
            made.close()

    def _solve(self, made, start, goal, place, close):
        target = self.arm.to_arm_frame(place[:3, 3] if isinstance(goal, Position) else place)
        before = target.copy()
        raw = made.solve(target, self.arm.q_to_values(start.q))
        np.testing.assert_array_equal(target, before)
        values, claims, iterations = made.read_output(raw)
        seconds = made.read_seconds(raw)
        self.seconds += seconds or 0.0
        assert iterations is None or iterations >= 0
        self.silent += claims is None
        if values is None:
            assert not claims
            return
        assert values.shape == (len(self.arm.links),)
        assert (values >= self.arm.low - OUTSIDE).all()
        assert (values <= self.arm.high + OUTSIDE).all()
        there = self._judged(start, goal, values, place, close)
        self.reached += there
        self.false_claims += bool(claims) and not there

    def _judged(self, start, goal, values, place, close):
        world = start.with_q(self.arm.values_to_q(values)).world[goal.joint].matrices
        turned = np.linalg.norm(world[:3, :3] - place[:3, :3]) / np.sqrt(2)  # 2 sin(angle / 2)
        near = np.linalg.norm(world[:3, 3] - place[:3, 3]) <= close.distance
        return bool(near and (isinstance(goal, Position) or turned <= close.angle))

    @property
    def share(self):
        return 100 * self.reached / TARGETS


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_peer_comes_in_quietly_and_solves_what_it_says(name, data, capfd):
    """One test for each library, because importing it takes longest."""
    peer, before = here(name), state()
    kind = "Place" if "Place" in peer.goals else "Position"
    reported = {
        "Place": lambda joint: Place(joint, NOWHERE, UNTURNED),
        "Position": lambda joint: Position(joint, NOWHERE),
    }
    rigs = [(samples.path("arm.urdf"), "tool"), (data / "urdf" / "panda.urdf", "panda_link8")]
    cases = [(middle(poise.load(path).skeleton), reported[kind](joint)) for path, joint in rigs]
    cases.append((balls(), Position("tip", NOWHERE)))
    scores = [Scores(peer, start, goal, seed) for seed, (start, goal) in enumerate(cases)]
    shares = [score.share for score in scores]
    assert all(share >= least for share, least in zip(shares, LEAST[name], strict=True)), shares
    assert [score.false_claims for score in scores] == [0, 0, 0]
    assert {score.silent for score in scores} == ({TARGETS} if name == "ikpy" else {0})
    assert all((score.seconds > 0) == (name == "three") for score in scores)
    gc.collect()  # what was started has ended: a process or file left open would be a warning, and so an error
    assert capfd.readouterr() == ("", "")
    assert state() == before


@pytest.mark.long
@pytest.mark.parametrize("name", ["optik", "pinocchio", "roboticstoolbox"])
def test_a_tip_that_is_there_or_turned_already(name):
    """No rotation left, to the last bit: some libraries' own formulas divide by it."""
    start = poise.load(samples.path("arm.urdf")).rest
    arm = build_serial_chain(start, Place("tool", NOWHERE, UNTURNED))
    made, values = here(name)(arm, "Place", CLOSE), arm.q_to_values(start.q)
    for moved in (0.0, 0.03):
        target = arm.compute_tip(values)
        target[:3, 3] -= moved
        found, claims, _ = made.read_output(made.solve(target, values))
        assert claims
        np.testing.assert_allclose(arm.compute_tip(found), target, rtol=0, atol=2e-4)


@pytest.mark.long
@pytest.mark.parametrize("name", ["mink", "optik", "pinocchio", "roboticstoolbox"])
def test_a_straight_chain_bends(name):
    s = straight_chain(4, Kind.BALL)
    arm = build_serial_chain(Pose(s, s.rest_q), Position("tip", NOWHERE))
    made, target = here(name)(arm, "Position", CLOSE), np.array([1.0, 2.0, -1.0])
    found, claims, _ = made.read_output(made.solve(target, np.zeros(12)))
    assert claims
    np.testing.assert_allclose(arm.compute_tip(found)[:3, 3], target, rtol=0, atol=2e-4)


@pytest.mark.long
def test_slides_are_solved_and_refused_by_what_only_turns():
    s = poise.Skeleton.build(
        ["turn", "slide", "lift", "tip"], [-1, 0, 1, 2], [1, 2, 2, 0],
        offsets=[(0, 0, 0), (1, 0, 0), (0, 0, 0), (0, 0, 0)], axes=[(0, 0, 1), (1, 0, 0), (0, 0, 1), (0, 0, 0)],
        limits=[poise.Range(-3, 3), poise.Range(-0.5, 0.5), poise.Range(-1, 1), None],
    )  # fmt: skip
    start, goal = Pose(s, [0.2, 0.1, 0.0]), Position("tip", NOWHERE)
    solved = {}
    for name in peers.find_installed()[0]:
        if name not in ("optik", "three"):
            solved[name] = Scores(peers.load_adapter(name), start, goal, 5).share
    assert all(share >= 90 for share in solved.values()), solved
    for name in ("optik", "three"):
        with pytest.raises(UnsupportedError, match="(supports hinges only|only rotates bones); 'slide' is a slide"):
            peers.load_adapter(name)(build_serial_chain(start, goal), "Position", CLOSE)


def test_the_folder_is_the_registry():
    assert peers.names() == NAMES
    for name in NAMES:
        peer = peers.load_adapter(name)
        assert peer.name == name
        assert set(peer.goals) <= {"Position", "Place"}
        assert name in peer.versioned_name
        assert len(peer.notes) > 20
        assert "install" in peer.source
    with pytest.raises(UnknownNameError, match="no peer 'ikpi'; did you mean 'ikpy'"):
        peers.load_adapter("ikpi")


def test_adapters_are_read_without_their_libraries():
    """Listing the peers must not import any of them."""
    libraries = ["ikpy", "mink", "mujoco", "optik", "pinocchio", "pybullet", "roboticstoolbox"]
    code = (
        "import sys; from poise.comparison import peers; peers.find_installed();"
        f"print(sorted(set({libraries}) & set(sys.modules)))"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


@pytest.fixture
def arm():
    return build_serial_chain(poise.load(samples.path("arm.urdf")).rest, Position("tool", NOWHERE))


def test_without_the_libraries_each_says_how_to_get_it(monkeypatch, tmp_path, arm):
    monkeypatch.setattr(importlib.util, "find_spec", nothing)
    monkeypatch.setenv("POISE_THREE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    found, missing = peers.find_installed()
    assert found == ()
    assert tuple(missing) == NAMES
    for name, sentence in missing.items():
        assert "npm install three" in sentence if name == "three" else "pip install" in sentence
        with pytest.raises(NotInstalledError) as caught:
            peers.load_adapter(name)(arm, "Position", CLOSE)
        assert str(caught.value) == sentence
    assert missing["mink"].endswith("pip install mink daqp")


@pytest.mark.long
def test_a_library_that_cannot_be_imported_says_so(monkeypatch, arm):
    here("optik")
    monkeypatch.setitem(sys.modules, "optik", None)
    monkeypatch.setattr(importlib.util, "find_spec", anything)  # which looks into sys.modules first
    with pytest.raises(NotInstalledError, match="optik-py cannot be imported .*: pip install optik-py"):
        peers.load_adapter("optik")(arm, "Position", CLOSE)


def test_three_without_node_says_so(monkeypatch, tmp_path):
    (tmp_path / "node_modules" / "three").mkdir(parents=True)
    (tmp_path / "node_modules" / "three" / "package.json").write_text("{}", encoding="utf-8")
    monkeypatch.setenv("POISE_THREE", str(tmp_path))
    assert (
        peers.load_adapter("three").find_install_hint() is None
        or "node" in peers.load_adapter("three").find_install_hint()
    )
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(importlib.util, "find_spec", nothing)
    assert "needs node" in peers.load_adapter("three").find_install_hint()


@pytest.mark.long
def test_three_that_breaks_says_why(monkeypatch, tmp_path, arm):
    here("three")
    (tmp_path / "node_modules" / "three").mkdir(parents=True)
    (tmp_path / "node_modules" / "three" / "package.json").write_text("{}", encoding="utf-8")
    monkeypatch.setenv("POISE_THREE", str(tmp_path))
    with pytest.raises(PoiseError, match="three.js ended in node: Error .*three.module.js"):
        peers.load_adapter("three")(arm, "Position", CLOSE)


@pytest.mark.long
def test_three_that_is_gone_says_so_and_a_place_is_refused(arm):
    made = here("three")(arm, "Position", CLOSE)
    assert re.fullmatch(r"three\.js 0\.\d+\.\d+ CCDIKSolver", made.versioned_name)
    made.process.kill()
    made.process.wait()
    with pytest.raises(PoiseError, match="three.js ended in node"):
        made.solve(np.zeros(3), np.zeros(6))
    made.close()
    with pytest.raises(UnsupportedError, match="solves Position goals, not Place"):
        peers.load_adapter("three")(arm, "Place", CLOSE)


@pytest.mark.long
def test_three_writes_quaternions_of_length_zero_and_nulls():
    start = balls()
    made = here("three")(build_serial_chain(start, Position("tip", NOWHERE)), "Position", CLOSE)
    made.close()
    assert made.process.returncode == 0
    raw = {"quaternions": [0.0] * 24, "left": 1.0, "sweeps": 3, "microseconds": 1.0}
    np.testing.assert_array_equal(made.read_output(raw).values, np.zeros(18))
    assert made.read_output(raw | {"quaternions": [None] * 24, "left": None}) == (None, False, 3)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "sentence"),
    [("pybullet", "up to 127 links; this chain has 130"), ("ikpy", "limited to 60 hinges.* this chain has 129")],
)
def test_chains_that_are_too_long_are_refused(name, sentence):
    s = straight_chain(43, Kind.BALL)
    with pytest.raises(UnsupportedError, match=sentence):
        here(name)(build_serial_chain(Pose(s, s.rest_q), Position("tip", NOWHERE)), "Position", CLOSE)
