"""Old names work for one version: they warn, name the new one and do the same."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import poise
from poise import plot

RIG = poise.load(poise.samples.path("humanoid.glb"))
REST = RIG.rest
GROUND = poise.Terrain.slope(10.0)
CALLS = {
    "Pose.blended": lambda call: call(REST, REST, 0.5).q,
    "Pose.unchecked": lambda call: call(REST.skeleton, REST.q, None, None).q,
    "Skeleton.way": lambda call: call(REST.skeleton, 5),
    "Skeleton.limited": lambda call: call(REST.skeleton, {"Head": None}).rest_q,
    "Direction.kept": lambda call: call("Head", [0.0, 1.0, 0.0], REST).direction,
    "Terrain.scaled": lambda call: call(GROUND, 2.0).heights([0.1, 0.2, 0.3]),
    "Terrain.lifted": lambda call: call(GROUND, 2.0).heights([0.1, 0.2, 0.3]),
    "Terrain.turned": lambda call: call(GROUND, "z").heights([0.1, 0.2, 0.3]),
    "rotations.normalised": lambda call: call([2.0, 0.0, 0.0, 0.0]),
}
NEW = {
    "Pose.blended": poise.Pose.blend,
    "Pose.unchecked": poise.Pose.make_unchecked,
    "Skeleton.way": poise.Skeleton.list_path,
    "Skeleton.limited": poise.Skeleton.with_limits,
    "Direction.kept": poise.Direction.from_pose,
    "Terrain.scaled": poise.Terrain.scale_by,
    "Terrain.lifted": poise.Terrain.lift_by,
    "Terrain.turned": poise.Terrain.with_up,
    "rotations.normalised": poise.rotations.normalise,
}


@pytest.mark.parametrize("name", CALLS)
def test_an_old_name_warns_and_does_the_same(name):
    owner, _, old = name.rpartition(".")
    alias, new = getattr(getattr(poise, owner), old), NEW[name]
    with pytest.warns(DeprecationWarning, match=f"{name} was renamed to {new.__name__};") as caught:
        result = CALLS[name](alias)
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(result, CALLS[name](new))
    assert inspect.signature(alias) == inspect.signature(new)


@pytest.mark.parametrize("function", ["save", "view"])
def test_an_old_parameter_warns_and_means_the_same(function, tmp_path):
    path = tmp_path / "pose.json"
    options = {"path": path} if function == "save" else {"open_browser": False}
    with pytest.warns(DeprecationWarning, match=rf"{function}\(thing=\.\.\.\) was renamed to content=") as caught:
        result = getattr(poise, function)(thing=REST, **options)
    assert caught[0].filename == __file__
    assert path.exists() if function == "save" else result.document.start is REST
    assert "thing" not in inspect.signature(getattr(poise, function)).parameters


@pytest.mark.parametrize(("old", "new"), [("bound", "without_free_root"), ("turn_columns", "quaternion_columns")])
def test_an_old_property_warns_and_has_the_same_value(old, new):
    with pytest.warns(DeprecationWarning, match=rf"Skeleton\.{old} was renamed to {new}") as caught:
        value = getattr(REST.skeleton, old)
    assert caught[0].filename == __file__
    assert value is getattr(REST.skeleton, new)


def test_an_old_property_of_a_viewer():
    view = poise.view(REST, open_browser=False)
    with pytest.warns(DeprecationWarning, match=r"View\.gone was renamed to page_closed"):
        assert view.gone is view.page_closed is False


def test_a_solver_by_its_old_function():
    with pytest.warns(DeprecationWarning, match=r"poise\.solvers\.named was renamed to make_solver"):
        assert poise.solvers.named("ccd", iterations=7) == poise.solvers.make_solver("ccd", iterations=7)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Track", "Channel"),
        ("read_values", "load_values"),
        ("read_contacts", "load_contacts"),
        ("write_contacts", "save_contacts"),
        ("humanoid", "find_roles"),
        ("Humanoid", "Roles"),
    ],
)
def test_an_old_public_name_warns_where_it_is_used(old, new):
    with pytest.warns(DeprecationWarning, match=rf"poise\.{old} was renamed to {new}") as caught:
        value = getattr(poise, old)
    assert caught[0].filename == __file__
    assert value is getattr(poise, new) or old == "write_contacts"
    assert old not in dir(poise)
    assert old not in poise.__all__


def test_an_old_public_name_is_imported_with_a_warning():
    with pytest.warns(DeprecationWarning, match=r"poise\.read_values was renamed to load_values") as caught:
        from poise import read_values
    assert {each.filename for each in caught} == {__file__}
    assert read_values is poise.load_values


def test_contacts_are_written_with_the_path_first_by_the_old_name(tmp_path):
    times = np.array([0.0, 0.1, 0.2])
    contacts = poise.Contacts.from_intervals({"left": {"heel": [[0.0, 0.1]], "ball": []}}, ["left"], times)
    poise.save_contacts(contacts, tmp_path / "new.json", "walk")
    with pytest.warns(DeprecationWarning, match=r"save_contacts\(contacts, path, clip\)"):
        poise.write_contacts(tmp_path / "old.json", contacts, "walk")
    assert (tmp_path / "old.json").read_bytes() == (tmp_path / "new.json").read_bytes()
    loaded = poise.load_contacts(tmp_path / "new.json", "walk", ["left"], times)
    np.testing.assert_array_equal(loaded.heel, contacts.heel)


def test_a_grounder_is_called_and_steps_by_its_old_method():
    ground = poise.Terrain.flat()
    shown = poise.Grounder(REST, ground)(REST, dt=0.1)
    with pytest.warns(DeprecationWarning, match=r"Grounder\.step was renamed to grounder\(pose, dt\)") as caught:
        stepped = poise.Grounder(REST, ground).step(REST, dt=0.1)
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(stepped.q, shown.q)


def test_what_is_called_for_each_target_names_its_skeleton():
    goal = poise.Position("LeftHand", [0.4, 1.2, 0.3])
    tracker, prepared = poise.Tracker(REST, goal), poise.prepare(REST, goal)
    grounder = poise.Grounder(REST, poise.Terrain.flat())
    assert tracker.skeleton == prepared.skeleton == grounder.skeleton == REST.skeleton


@pytest.mark.parametrize("name", ["blend", "pelvis", "lift"])
def test_half_lives_of_a_grounder_by_their_old_names(name):
    ground, pose = poise.Terrain.stairs(0.15, 0.3), RIG.clips[0].at(0.5)
    with pytest.warns(
        DeprecationWarning, match=rf"Grounder\({name}_halflife=\.\.\.\) was renamed to {name}_half_life="
    ) as caught:
        old = poise.Grounder(RIG.clips[0], ground, **{f"{name}_halflife": 0.5})
    assert caught[0].filename == __file__
    new = poise.Grounder(RIG.clips[0], ground, **{f"{name}_half_life": 0.5})
    np.testing.assert_array_equal(old(pose, dt=0.1).q, new(pose, dt=0.1).q)
    np.testing.assert_array_equal(old._live.settings, new._live.settings)
    assert not np.array_equal(new._live.settings, poise.Grounder(RIG.clips[0], ground)._live.settings)


def test_pictures_are_drawn_with_the_path_first(tmp_path):
    pytest.importorskip("matplotlib")
    solved = poise.solve(REST, poise.Position("LeftHand", [0.4, 1.2, 0.3]))
    planted = poise.plant_feet(RIG.clips[0], poise.Terrain.flat(), rig=RIG)
    for function, things in [
        (plot.draw_poses, ([("rest", REST)],)),
        (plot.draw_solve, (REST, solved)),
        (plot.draw_feet, (planted,)),
    ]:
        function(*things, tmp_path / "new.svg")
        with pytest.warns(DeprecationWarning, match=f"{function.__name__} takes the path last") as caught:
            function(tmp_path / "old.svg", *things)
        assert caught[0].filename == __file__
        old, new = ((tmp_path / f"{age}.svg").read_text().partition("<defs>")[2] for age in ("old", "new"))
        assert len(old) == len(new) > 0
