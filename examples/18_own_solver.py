"""A custom solver as a value, and a solver with false claims."""

from dataclasses import dataclass

import numpy as np

import poise
from poise.extend import Answer, Capabilities, Floats, Kind, Problem, Request, Tolerance


@dataclass(frozen=True, kw_only=True)
class Nudge:
    """Coordinate search: step each joint both ways, keep improvements, halve the step without any.

    Parameters
    ----------
    iterations
        Largest number of rounds over the joints.
    first
        [rad] First step.
    """

    iterations: int = 200
    first: float = 0.5

    name = "nudge"
    handles = Capabilities(
        goals=("Position",), several=False, joints=(Kind.HINGE, Kind.SLIDE), limits=("Range",), prefer=("first",)
    )  # everything else is refused with a message

    def run(self, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request) -> Answer:
        """Solve for each target; the batch may be empty."""
        q = np.broadcast_to(problem.start.flat_q, (len(targets), problem.skeleton.nq)).copy()
        rounds = np.zeros(len(targets), dtype=int)
        for i, target in enumerate(targets):
            q[i], rounds[i] = self._one(problem, q[i], target[None], tolerance.distance)
        met = problem.compute_errors(q, targets)[:, 0] <= tolerance.distance
        return Answer(q, met, rounds, rounds * len(problem.joints))

    def _one(self, problem: Problem, q: Floats, target: Floats, close: float) -> tuple[Floats, int]:
        """Solve for one target (1, 3). Returns the pose and the number of rounds."""
        skeleton, step = problem.skeleton, self.first
        columns = [skeleton.q_slice(name).start for name in problem.joints]
        error = problem.compute_errors(q[None], target)[0, 0]
        for rounds in range(self.iterations):
            if error <= close:
                return q, rounds
            before = error
            for column in columns:
                tries = np.array([q, q])
                tries[:, column] += [step, -step]
                tries = skeleton.legal(tries)[0]
                errors = problem.compute_errors(tries, np.vstack([target, target]))[:, 0]
                if errors.min() < error:
                    q, error = tries[errors.argmin()], errors.min()
            if error == before:
                step /= 2
        return q, self.iterations


@dataclass(frozen=True)
class Boast:
    """Moves one joint beyond its range, and says that every target is met."""

    name = "boast"
    handles = Capabilities()

    def run(self, problem: Problem, targets: Floats, tolerance: Tolerance, request: Request) -> Answer:
        """Claim success."""
        q = np.tile(problem.start.q, (len(targets), 1))
        q[:, 1] = 9.0  # [rad] the shoulder's range ends at 2.3
        ones = np.ones(len(targets), dtype=int)
        return Answer(q, ones > 0, ones, ones)


arm = poise.load(poise.samples.path("arm.urdf"))
goal = poise.Position("tool", [0.3, 0.2, 0.5])

result = poise.solve(arm.rest, goal, solver=Nudge(), tolerance=1e-4)
print(result)  # reached: 0.09 mm left, 20 iterations, ... (nudge)
assert result.reached
assert result.violation <= 1e-9

caught = poise.solve(arm.rest, goal, solver=Boast())
print(caught, f"limits exceeded by {caught.violation:.2f} rad")  # stalled: ... (boast) limits exceeded by 6.73 rad
assert not caught.reached
assert caught.violation > 1

character = poise.load(poise.samples.path("humanoid.glb")).rest
try:
    poise.solve(character, poise.Position("LeftHand", [0.4, 1.2, 0.3]), solver=Nudge())
except poise.UnsupportedError as error:
    print(error)  # nudge moves hinge joints and slide joints; 'LeftShoulder' is a ball
