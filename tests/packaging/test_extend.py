"""`poise.extend`: everything for a solver, a goal, a limit or a format of one's own, and each of these at work."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import poise
from poise import extend, solvers
from poise.extend import Answer, Capabilities, FileError, Skeleton, checked_offset, read_bytes, write_atomically
from tests.conftest import ROOT

SOLVERS = [name for name in solvers.names() if name != "autodiff"]  # which takes 10 s to compile and reads the same


@pytest.fixture(scope="module")
def arm():
    """The sample robot."""
    return poise.load(poise.samples.path("arm.urdf"))


@pytest.fixture(scope="module")
def figure():
    """The sample character."""
    return poise.load(poise.samples.path("humanoid.glb"))


class TestThePlace:
    @pytest.mark.parametrize("name", extend.__all__)
    def test_every_name_is_public_explained_and_has_its_place_in_the_words_above(self, name):
        assert re.search(rf"`(Skeleton\.build|{name})`", extend.__doc__), name
        value = getattr(extend, name)
        assert name in {"Bools", "Floats", "Ints", "Goal", "Limit", "Saveable"} or inspect.getdoc(value), name

    def test_the_words_above_name_nothing_else(self):
        message_text = set(re.findall(r"`(\w+)`", extend.__doc__))
        known = {*extend.__all__, *poise.__all__, "poise", "name", "handles", "run", "measures", "read", "write"}
        assert message_text <= known, message_text - known

    def test_it_is_sorted(self):
        assert extend.__all__ == sorted(extend.__all__)

    @pytest.mark.parametrize("folder", ["examples", "docs", "README.md"])
    def test_what_people_copy_imports_public_places_only(self, folder):
        """The contributor's guide is for files inside the library, which import from its rooms."""
        root = ROOT / folder
        files = [root] if root.is_file() else sorted([*root.rglob("*.py"), *root.rglob("*.md")])
        shown = [path for path in files if path.name != "contributing.md" and not inside(path)]
        assert shown
        public = {"poise", "poise.extend", "poise.jax"}
        for path in shown:
            text = path.read_text(encoding="utf-8")
            found = set(re.findall(r"^\s*(?:from|import) (poise[\w.]*)", text, flags=re.MULTILINE))
            assert found <= public, (path.name, found - public)


def inside(path):
    """Whether a file of the documentation makes its pages and pictures, or tells of things that are not public."""
    parts = path.relative_to(ROOT).parts
    return "docs" in parts and (path.suffix == ".py" or "_build" in parts or path.name in DOCUMENTED_BY_MODULE)


DOCUMENTED_BY_MODULE = {
    "feet.md",
    "values.md",
}  # contacts and tables of numbers are read by functions of their own rooms


@dataclass(frozen=True)
class Steep:
    """Follows the gradient of the error, measured; slow and simple."""

    iterations: int = 300

    name = "steep"
    handles = Capabilities(goals=("Position",), several=False, joints=(poise.Kind.HINGE,), prefer=("first",))

    def run(self, problem, targets, tolerance, request):
        """Solve for each target, one after the other."""
        q = np.broadcast_to(problem.start.flat_q, (len(targets), problem.skeleton.nq)).copy()
        rounds = np.zeros(len(targets), dtype=int)
        step = 1e-6 * np.eye(problem.skeleton.nq)
        for i, target in enumerate(targets):
            for rounds[i] in range(1, self.iterations + 1):
                error = problem.compute_errors(q[i][None], target[None])[0, 0]
                if error <= tolerance.distance:
                    break
                slope = (problem.compute_errors(q[i] + step, np.tile(target, (len(step), 1)))[:, 0] - error) / 1e-6
                q[i] = problem.skeleton.legal(q[i] - slope * error / (slope @ slope + 1e-3))[0]
        return Answer(
            q, problem.compute_errors(q, targets)[:, 0] <= tolerance.distance, rounds, rounds * problem.skeleton.nq
        )


class TestASolver:
    """examples/18_own_solver.py has another one, with solve(); tutorial 8 compares a third."""

    def test_it_goes_wherever_a_solver_goes(self, arm):
        goal = poise.Position("tool", [0.3, 0.2, 0.5])
        solved = poise.solve(arm.rest, goal, solver=Steep())
        assert solved.reached
        assert solved.solver == "steep"
        assert (poise.prepare(arm.rest, goal, solver=Steep())(goal.target).q == solved.q).all()
        again = poise.solve(arm.rest, poise.Position("tool", np.tile(goal.target, (2, 1))), solver=Steep())
        assert (again.q == solved.q).all()
        assert poise.solve(arm.rest, goal, solver=poise.Anneal(solver=Steep(30), restarts=5)).reached
        tracker = poise.Tracker(arm.rest, goal, solver=Steep())
        for _ in range(60):
            shown = tracker(goal.target)
        assert shown.reached

    def test_what_it_does_not_handle_is_refused(self, arm, figure):
        with pytest.raises(poise.UnsupportedError, match=r"steep solves Position goals, not Place"):
            poise.solve(arm.rest, poise.Place("tool", [0.3, 0.2, 0.5], [1, 0, 0, 0]), solver=Steep())
        with pytest.raises(poise.UnsupportedError, match=r"steep moves hinge joints; '\w+' is a ball"):
            poise.solve(figure.rest, poise.Position("LeftHand", [0.4, 1.2, 0.3]), solver=Steep())


class Fingertip(poise.Position):
    """The end of the longest finger of a hand, beyond the joint of its wrist, is at `target`."""

    def __init__(self, joint, target, *, root=None, weight=1.0, offset=(0.02, -0.15, 0.0)):
        super().__init__(joint, target, root=root, weight=weight, offset=checked_offset(offset, joint))


class Drilled(poise.Position):
    """Measures more than what it derives from: no special case of it."""

    measures = ("position", "direction")
    axis = (0.0, 0.0, 1.0)


class TestAGoal:
    @pytest.mark.parametrize("solver", [*SOLVERS, "auto"])
    def test_a_special_case_is_solved_like_what_it_is_a_case_of(self, solver, figure):
        given = {
            "root": "LeftArm",
            "weight": 2.0,
            "offset": (0.0, 0.0, 0.0) if solver == "two_bone" else (0.1, 0.02, 0.0),
        }
        own, known = (kind("LeftHand", [0.4, 1.2, 0.3], **given) for kind in (Fingertip, poise.Position))
        a, b = (poise.solve(figure.rest, goal, solver=solver) for goal in (own, known))
        assert (a.q == b.q).all()
        assert a.message() == b.message()
        many = [[0.4, 1.2, 0.3], [0.5, 1.0, 0.2]]
        a, b = (poise.solve(figure.rest, goal.with_target(many), solver=solver) for goal in (own, known))
        assert (a.q == b.q).all()

    def test_beside_other_goals(self, figure):
        tips = (kind("LeftHand", [0.4, 1.2, 0.3], offset=(0.0, -0.1, 0.0)) for kind in (Fingertip, poise.Position))
        a, b = (poise.solve(figure.rest, [tip, poise.Pin("RightFoot"), poise.Near(figure.rest)]) for tip in tips)
        assert (a.q == b.q).all()

    def test_its_own_words_count(self, figure):
        found = poise.solve(figure.rest, Fingertip("LeftHand", [0.4, 1.2, 0.3])).require()
        hand = found.pose.world.matrices[figure.skeleton.index("LeftHand")]
        np.testing.assert_allclose((hand @ (0.02, -0.15, 0.0, 1.0))[:3], [0.4, 1.2, 0.3], atol=2e-4)

    @pytest.mark.parametrize("solver", SOLVERS)
    def test_what_measures_something_else_is_no_special_case(self, solver, figure):
        with pytest.raises(poise.UnsupportedError, match=rf"{solver} solves .* goals?, not Drilled"):
            poise.solve(figure.rest, Drilled("LeftHand", [0.4, 1.2, 0.3]), solver=solver)


class Cone(poise.SwingTwist):
    """A round cone about an axis; the twist is free."""

    def __init__(self, axis, angle):
        super().__init__(extend.unit_axis(axis), swing=angle)


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "two_bone"])
def test_a_limit_of_ones_own_is_kept(solver, figure):
    goal = poise.Position("LeftHand", [0.3, 1.3, 0.3], root="LeftShoulder")
    answers = []
    for limit in (Cone((0, 2, 0), 0.3), poise.SwingTwist((0, 1, 0), swing=0.3)):
        skeleton = figure.skeleton.with_limits({"LeftShoulder": limit, "LeftArm": limit})
        answers.append(poise.solve(poise.Pose(skeleton, skeleton.rest_q), goal, solver=solver))
    assert (answers[0].q == answers[1].q).all()
    assert answers[0].violation <= 1e-9


def test_a_format_of_ones_own(tmp_path):
    """Its functions are called by hand; examples/19_own_format.py has a larger one."""

    def write(thing, path, like):
        skeleton = like or thing.skeleton
        write_atomically(path, " ".join(skeleton.names).encode())

    def read(path):
        names = read_bytes(path).decode().split()
        skeleton = Skeleton.build(names, range(-1, len(names) - 1), [poise.Kind.BALL] * len(names))
        return poise.Rig(skeleton, poise.Pose(skeleton, skeleton.rest_q), path=Path(path))

    skeleton = Skeleton.build(["a", "b"], [-1, 0], [poise.Kind.BALL] * 2)
    write(poise.Pose(skeleton, skeleton.rest_q), tmp_path / "two.names", None)
    assert read(tmp_path / "two.names").skeleton == skeleton
    with pytest.raises(FileError, match="No such file"):
        read(tmp_path / "none.names")
    with pytest.raises(FileError, match="cannot write"):
        write(read(tmp_path / "two.names").pose, tmp_path / "no folder" / "two.names", None)
