"""One tree of a rig with several: for formats that hold one, and where `root` names it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import poise
from poise.conversion.rig_edits import keep_one_root
from poise.errors import InputError, UnsupportedError
from poise.io import samples
from poise.maths import rotations
from poise.model.channels import Channel
from poise.model.clip import Clip, KeyedClip
from poise.model.joints import Coupling
from poise.model.pose import Pose
from poise.model.rig import Rig
from poise.model.skeleton import Kind, Skeleton
from tests.command_line import run


def scene():
    """A lamp, a sliding door that follows a hinge of the lamp, and a stone that does not move."""
    skeleton = Skeleton.build(
        ["stone", "lamp", "door", "arm", "bulb", "handle"], [-1, -1, -1, 1, 3, 2],
        [Kind.FIXED, Kind.FREE, Kind.SLIDE, Kind.HINGE, Kind.BALL, Kind.HINGE],
        offsets=[[9, 9, 9], [0, 0, 0], [4, 0, 0], [0, 1, 0], [0, 2, 0], [0, 1, 1]], axes=[[0, 0, 1]] * 6,
        couplings=[None, None, Coupling(3, 2.0, 0.5), None, None, Coupling(3, -1.0, 0.25)],
        aliases={"light": 4, "knob": 5}, chains={"reach": ("lamp", "bulb"), "open": ("door", "handle")},
    )  # fmt: skip
    rng = np.random.default_rng(3)
    q = rng.normal(size=(20, skeleton.nq))
    places = rng.normal(size=(20, 6, 3))
    clip = Clip.at_rate(Pose(skeleton, q, places), 30, "move")
    turns = rotations.normalise(rng.normal(size=(4, 4)))
    keys = (
        Channel(1, "translation", "LINEAR", np.arange(4.0), rng.normal(size=(4, 3))),
        Channel(4, "rotation", "LINEAR", np.arange(4.0), turns),
    )
    keyed = KeyedClip(skeleton, keys, "keyed")
    return Rig(
        skeleton, clip.poses[3], (clip, keyed), poses={"open": clip.poses[7]},
        disabled_pairs=(("arm", "light"), ("arm", "door")), humanoid={"head": "bulb", "jaw": "door"},
    )  # fmt: skip


class TestOneTree:
    @pytest.mark.parametrize(("root", "count"), [("lamp", 3), ("door", 2), ("stone", 1)])
    def test_every_joint_of_it_is_where_it_was(self, root, count):
        rig = scene()
        part, (left,) = keep_one_root(rig, root, needs_one_root=False)
        rows = [rig.skeleton.index(name) for name in part.skeleton.names]
        assert len(rows) == count
        assert left.startswith(f"{6 - count} joints that do not hang on '{root}': ")
        times = np.linspace(0, 3, 50)
        pairs = [(rig.rest, part.rest), (rig.pose, part.pose), (rig.poses["open"], part.poses["open"])]
        pairs += [(a.at(times), b.at(times)) for a, b in zip(rig.clips, part.clips, strict=True)]
        for old, new in pairs:
            np.testing.assert_allclose(new.world.affine, old.world.affine[..., rows, :, :], atol=1e-12)

    def test_what_it_holds_of_names(self):
        part, _ = keep_one_root(scene(), "lamp", needs_one_root=False)
        s = part.skeleton
        assert (s["light"].name, s.chains, s.source) == ("bulb", {"reach": ("lamp", "bulb")}, None)
        assert "knob" not in s
        assert part.humanoid == {"head": "bulb"}
        assert part.disabled_pairs == (("arm", "light"),)
        assert [clip.name for clip in part.clips] == ["move", "keyed"]
        assert len(part.clips[1].tracks) == 2
        door, _ = keep_one_root(scene(), "door", needs_one_root=False)
        assert door.skeleton.couplings == (None, None)  # their leader is in the other tree: they have their own values
        assert door.clips[1].tracks == ()

    def test_a_rig_of_one_tree_stays_what_it_is(self):
        rig = poise.load(samples.path("humanoid.glb"))
        assert keep_one_root(rig, None, needs_one_root=True) == (rig, [])
        walk = poise.load(samples.path("humanoid.bvh"))
        assert keep_one_root(walk, walk.skeleton.names[0], needs_one_root=True)[0] is walk
        assert keep_one_root(scene(), None, needs_one_root=False)[0].skeleton.names == scene().skeleton.names

    def test_couplings_within_it_stay(self):
        rig = scene()
        s = dataclasses.replace(rig.skeleton, parents=np.array([-1, -1, 1, 1, 3, 2]))  # the door hangs on the lamp
        part, _ = keep_one_root(Rig(s, Pose(s, s.rest_q)), "lamp", needs_one_root=False)
        assert part.skeleton.couplings[1] == Coupling(2, 2.0, 0.5)
        assert part.skeleton.nq == s.nq

    def test_a_freed_root_stays_free(self):
        rig = poise.load(samples.path("humanoid.glb"))
        s = dataclasses.replace(rig.skeleton, source=None).with_free_root()
        part, _ = keep_one_root(several(TestConverted.BOX, s), "Hips_1", needs_one_root=False)
        assert part.skeleton.kinds[0] == Kind.FREE
        both = Skeleton.build(["a", "b", "c"], [-1, -1, 1], [Kind.BALL] * 3).with_free_root("b")
        part, _ = keep_one_root(Rig(both, Pose(both, both.rest_q)), "b", needs_one_root=False)
        assert part.skeleton.freed == (0, Kind.BALL)
        assert part.skeleton.without_free_root.kinds.tolist() == [Kind.BALL, Kind.BALL]


def several(*figures):
    """Figures beside each other in one rig, their joints renamed where there are several."""
    names, parents, kinds, offsets = [], [], [], []
    for k, s in enumerate(figures):
        parents += [row + len(names) if row >= 0 else -1 for row in s.parents.tolist()]
        names += [f"{name}_{k}" if k else name for name in s.names]
        kinds += s.kinds.tolist()
        offsets += s.A[:, :3].tolist()
    skeleton = Skeleton.build(names, parents, kinds, offsets=offsets, up="y")
    return Rig(skeleton, Pose(skeleton, skeleton.rest_q))


class TestConverted:
    FIGURE = poise.load(samples.path("humanoid.bvh")).skeleton
    BOX = Skeleton.build(["box", "lid"], [-1, 0], [Kind.FREE, Kind.BALL], offsets=[[0, 0, 0], [0, 1, 0]])

    def test_the_figure_is_taken_where_there_is_one(self, tmp_path):
        rig = several(self.BOX, self.FIGURE)
        done = poise.convert(rig, tmp_path / "a.bvh")
        hips = f"{self.FIGURE.names[0]}_1"
        assert done.lost[0] == f"2 joints that do not hang on {hips!r}: box, lid"
        assert poise.load(tmp_path / "a.bvh").skeleton.names[0] == hips
        assert "box" in poise.load(poise.convert(rig, tmp_path / "a.glb").files[0]).skeleton

    def test_where_none_or_several_could_be_meant_the_root_is_requested(self, tmp_path):
        two = several(self.FIGURE, self.FIGURE)
        names = f"{self.FIGURE.names[0]!r}, '{self.FIGURE.names[0]}_1'"
        with pytest.raises(UnsupportedError, match=f"2 of them have hips: name one as root .*: {names}"):
            poise.convert(two, tmp_path / "a.bvh")
        boxes = several(self.BOX, self.BOX)
        with pytest.raises(UnsupportedError, match="none of them has hips: .* 'box', 'box_1'"):
            poise.convert(boxes, tmp_path / "a.bvh")
        assert not list(tmp_path.iterdir())
        assert poise.convert(boxes, tmp_path / "a.bvh", root="box_1").lost[0].endswith("'box_1': box, lid")

    def test_what_is_no_root(self, tmp_path):
        with pytest.raises(InputError, match="root: 'lid' is no root of this rig; its roots are: 'box', 'box_1'"):
            poise.convert(several(self.BOX, self.BOX), tmp_path / "a.glb", root="lid")

    def test_save_names_the_way_out(self, tmp_path):
        with pytest.raises(UnsupportedError, match="has 2: box, box_1; poise.convert"):
            poise.save(several(self.BOX, self.BOX).pose, tmp_path / "a.bvh")

    def test_a_vrm_animation_with_expressions(self, data, tmp_path):
        file = data / "vrma" / "walk_cmu.vrma"
        done = poise.convert(file, tmp_path / "a.bvh")
        assert done.share < 1e-6
        assert done.lost[0] == "3 joints that do not hang on 'hips': happy, blink, lookAt"
        message = run("convert", file, tmp_path / "b.bvh", "--root", "hips")
        assert message.returncode == 0, message.stderr
        assert (tmp_path / "a.bvh").read_bytes() == (tmp_path / "b.bvh").read_bytes()
