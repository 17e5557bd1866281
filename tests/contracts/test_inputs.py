"""What is given to the library stays as it is, and what it gives back is not what it was given."""

from __future__ import annotations

import numpy as np
import pytest

import poise
from poise import Clip, Grounder, Pose, Position, Terrain
from tests.contracts.clips import VERBS, reached_for, walk
from tests.contracts.problems import PROBLEMS, TRIED, accepted
from tests.terrain.terrains import KINDS, ground, points_over, rays_over


def arrays_in(*things):
    """Every array that can be reached from some values by their fields, as bytes."""
    found, observed, waiting = [], {}, list(things)  # `seen` keeps what it saw: a number of its own for each
    while waiting:
        thing = waiting.pop()
        if id(thing) in observed:
            continue
        observed[id(thing)] = thing
        if isinstance(thing, np.ndarray):
            found.append((thing.shape, thing.tobytes()) if thing.dtype != object else repr(thing))
        elif isinstance(thing, list | tuple):
            waiting.extend(thing)
        elif isinstance(thing, dict):
            waiting.extend(thing.values())
        elif isinstance(thing, poise.Skeleton):
            waiting += [getattr(thing, name) for name in ("names", "parents", "kinds", "A", "B", "axes", "limits")]
        elif isinstance(thing, Pose):
            waiting += [thing.skeleton, thing.q, thing.translations, thing.scales]
        elif isinstance(thing, Clip):
            waiting += [thing.times, thing.poses]
        elif thing is not None and type(thing).__module__.startswith("poise.problem.goals"):
            waiting += [repr(thing), *vars(thing).values()]
        else:
            found.append(repr(thing))
    return found


def mine(array):
    """A writable copy, as a caller's own array is."""
    return np.array(array, dtype=float)


def overwrite(*arrays):
    """Write into a caller's own arrays."""
    for array in arrays:
        np.add(array, 1.0, out=array)


@pytest.mark.parametrize(("problem", "name"), TRIED)
def test_solve_and_prepare(problem, name):
    """Poses, goals, targets and starts; and a result stays as it is when the caller writes into them afterwards."""
    requested = PROBLEMS[problem]
    if not accepted(problem, name):
        return
    reach = requested.prepared(name)
    targets, q = requested.targets(2), mine(requested.start.q)
    targets = [mine(t) for t in targets] if isinstance(targets, list) else mine(targets)
    before = arrays_in(requested.start, requested.goals, targets, q)
    requested.solved(name, slice(None))
    result = reach(targets, start=q)
    assert arrays_in(requested.start, requested.goals, targets, q) == before
    kept = arrays_in(result.q, result.errors, result.goals)
    overwrite(*(targets if isinstance(targets, list) else [targets]), q)
    assert arrays_in(result.q, result.errors, result.goals) == kept


def test_poses_goals_and_clips_keep_copies():
    s = walk().skeleton
    arrays = [
        mine(a) for a in (walk().poses.q, np.tile(s.A[:, :3], (31, 1, 1)), np.ones((31, len(s), 3)), walk().times)
    ]
    target = np.ones(3)
    made = Clip(arrays[3], Pose(s, *arrays[:3])), Position("LeftHand", target), poise.Aim("Head", target)
    before = arrays_in(*made)
    overwrite(*arrays, target)
    assert arrays_in(*made) == before


@pytest.mark.parametrize("verb", VERBS)
def test_verbs_for_clips(verb):
    clip = walk(".glb")
    before = arrays_in(clip)
    made = VERBS[verb](clip)
    assert arrays_in(clip) == before
    assert not np.shares_memory(made.poses.q, clip.poses.q)
    assert not np.shares_memory(made.times, clip.times)
    with pytest.raises(ValueError, match="read-only"):
        made.poses.q[:] = 0.0


def test_a_live_figure_keeps_its_pose():
    live, pose = Grounder(walk(".glb"), Terrain.slope(10)), walk(".glb").poses[3]
    before = arrays_in(pose)
    shown = live(pose, 1 / 60)
    assert arrays_in(pose) == before
    kept = arrays_in(shown)
    live(walk(".glb").poses[9], 1 / 60)
    assert arrays_in(shown) == kept


def test_a_tracker_keeps_its_targets_and_what_it_showed():
    goal = reached_for(walk())
    follow, target = poise.Tracker(walk().poses[0], goal.with_target(goal.target[0])), mine(goal.target[4])
    shown = follow(target)
    kept, before = arrays_in(shown.q, shown.goals), target.tobytes()
    follow(mine(goal.target[9]))
    assert (arrays_in(shown.q, shown.goals), target.tobytes()) == (kept, before)
    target += 1.0
    assert arrays_in(shown.q, shown.goals) == kept


@pytest.mark.parametrize("kind", KINDS)
def test_terrains(kind):
    """Points, origins and directions."""
    given = points_over(1), *rays_over(2)
    before = arrays_in(given)
    ground(kind).sample(given[0])
    ground(kind).heights(given[0])
    ground(kind).hit(*given[1:])
    assert arrays_in(given) == before


def test_grounds_keep_copies():
    posts, points = mine(np.random.default_rng(1).normal(size=(4, 5))), points_over(3)
    terrain = Terrain.heightmap(posts, size=(3, 4), up="z")
    before = terrain.heights(points).tobytes()
    posts += 1.0
    assert terrain.heights(points).tobytes() == before


def test_planting_keeps_the_contacts_and_soles_it_is_given():
    first = poise.lock_feet(walk())
    given = vars(first.contacts), vars(first.soles)
    before = arrays_in(*given)
    poise.plant_feet(walk(), Terrain.noise(0.05), contacts=first.contacts, soles=first.soles)
    assert arrays_in(*given) == before
