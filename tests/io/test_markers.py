"""Markers from C3D and TRC: real and synthetic files against their truth, and every variant of the formats."""

from __future__ import annotations

import struct
import time
import warnings

import numpy as np
import pytest

import poise
from tests.io.c3d_samples import DEC, INTEL, MIPS, c3d, cloud, parameter, texts

C3D = ("cmu_02_05", "walk41_int16", "walk41_noisy", "walk41_unlabelled")
PROCESSORS = {"Intel": INTEL, "DEC": DEC, "MIPS": MIPS}
HEAD = (
    "PathFileType\t4\t(X/Y/Z)\ta.trc\n"
    "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames\n"
    "60.00\t60.00\t3\t2\tmm\t60.00\t1\t3\n"
    "Frame#\tTime\tA\t\t\tB\t\t\n"
    "\t\tX1\tY1\tZ1\tX2\tY2\tZ2\n"
)
ROWS = "1\t0.0\t1\t2\t3\t4\t5\t6\n2\t0.016667\t\t\t\t4\t5\t6\n3\t0.033333\t1\t2\t3\t\t\t\n"


def found(path):
    """The markers of a file and what was warned of."""
    with warnings.catch_warnings(record=True, action="always") as reported:
        markers = poise.load_markers(path)
    assert [str(one.message) for one in reported] == [f"{path}: {note}" for note in markers.notes]
    return markers


@pytest.fixture
def put(tmp_path):
    """Write a file; return its markers."""

    def write(content, name="a.c3d"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return found(path)

    return write


def same(a, b):
    return np.array_equal(a, b, equal_nan=True)


class TestRealC3D:
    @pytest.mark.parametrize("name", C3D)
    def test_equal_to_what_two_other_readers_say(self, data, name):
        golden = np.load(data / "golden" / "points_c3d.npz")
        markers = found(data / ("c3d" if name.startswith("cmu") else "markers") / f"{name}.c3d")
        message_text = {key.partition("|")[2]: golden[key] for key in golden if key.startswith(f"{name}.c3d|")}
        assert list(markers.names) == message_text["labels"].tolist()
        assert (markers.fps, markers.first_frame, len(markers)) == (
            message_text["rate"],
            message_text["first_frame"],
            message_text["n_frames"],
        )
        assert same(markers.positions[message_text["frames"]], message_text["points"])
        gone = np.unpackbits(message_text["missing"], axis=0)[: len(markers)].astype(bool)
        assert np.array_equal(markers.gaps, gone)
        assert markers.gaps.sum() == message_text["n_missing"]
        assert np.array_equal(np.nanmean(markers.positions, axis=0), message_text["mean"])
        assert (markers.metres_per_unit, markers.up, markers.notes) == (1e-3, "z", ())

    def test_the_long_file_is_read_quickly(self, data):
        path = data / "c3d" / "cmu_02_05.c3d"
        poise.load_markers(path)
        times = []
        for _ in range(5):
            before = time.process_time()
            poise.load_markers(path)
            times.append(time.process_time() - before)
        assert min(times) < 0.05

    def test_real_markers_stand_where_the_skeleton_of_the_take_is(self, data):
        """The take's own skeleton, whose x y z are the file's y z x; markers sit on the skin, some centimetres away."""
        markers = found(data / "c3d" / "cmu_02_05.c3d")
        with pytest.warns(poise.PoiseWarning):
            rig = poise.load(data / "asf" / "02_05.amc")
        frames = np.arange(0, len(markers), 50)
        world, metres = rig.clips[0].poses[frames].world, rig.skeleton.metres_per_unit
        for marker, joint in (("LKNE", "ltibia"), ("RANK", "rfoot"), ("LELB", "lradius")):
            observed = markers[marker][frames][:, [1, 2, 0]] * markers.metres_per_unit
            apart = np.linalg.norm(observed - world[joint].positions * metres, axis=-1)
            assert np.nanmedian(apart) < 0.12, marker

    def test_integers_are_the_same_points_within_half_of_their_scale(self, data):
        fine, coarse = (found(data / "markers" / f"walk41_{kind}.c3d") for kind in ("noisy", "int16"))
        assert np.array_equal(fine.gaps, coarse.gaps)
        (scale,) = struct.unpack_from("<f", (data / "markers" / "walk41_int16.c3d").read_bytes(), 12)
        assert scale == pytest.approx(0.082, abs=1e-3)
        steps = coarse.positions[~coarse.gaps] / scale
        assert np.abs(steps - np.round(steps)).max() < 1e-9
        assert np.nanmax(np.abs(fine.positions - coarse.positions)) <= 0.5 * scale + 1e-4  # floats have 7 digits

    def test_two_formats_of_one_take(self, data):
        text, binary = (found(data / "markers" / f"walk41_noisy.{kind}") for kind in ("trc", "c3d"))
        assert [name.removeprefix("Walker:") for name in binary.names] == list(text.names)
        assert np.nanmax(np.abs(binary.positions - text.positions[..., [2, 0, 1]])) < 2e-4
        assert np.array_equal(binary.gaps, text.gaps)


class TestRealTRC:
    @pytest.mark.parametrize(
        ("name", "clean", "names"),
        [
            ("walk41_clean", "marker_clean_m", "markers"),
            ("gait2354_clean", "positions", "markers"),
            ("gait2354_scaled", "positions_scaled", "markers"),
        ],
    )
    def test_the_clean_takes_equal_their_truth(self, data, name, clean, names):
        truth = np.load(data / "markers" / f"{name.partition('_')[0]}_truth.npz")
        markers = found(data / "markers" / f"{name}.trc")
        assert np.abs(markers.positions * markers.metres_per_unit - truth[clean]).max() < 1e-7
        assert list(markers.names) == truth[names].tolist()
        assert markers.fps == 60.0
        assert not markers.gaps.any()
        assert markers.notes == ()
        assert markers.up is None

    @pytest.mark.parametrize(("take", "gaps"), [("walk41", "gap"), ("gait2354", "dropped")])
    def test_rows_that_end_in_empty_fields(self, data, take, gaps):
        path = data / "markers" / f"{take}_noisy.trc"
        ends = sum(line.endswith("\t") for line in path.read_text().splitlines()[5:])
        assert ends == {"walk41": 14}.get(take, ends)
        markers = found(path)
        assert np.array_equal(markers.gaps, np.load(data / "markers" / f"{take}_truth.npz")[gaps])
        assert markers.notes == ()

    def test_every_file(self, data):
        files = sorted((data / "markers").glob("*.trc"))
        assert len(files) == 11
        for path in files:
            markers = found(path)
            assert markers.notes == ()
            assert markers.metres_per_unit == (
                1.0 if "swaps" in path.name or path.name == "walk41_scaled.trc" else 1e-3
            )
            assert markers.gaps.sum() == path.read_text().count("nan") / 3 or "noisy" in path.name


class TestC3D:
    @pytest.mark.parametrize("name", PROCESSORS)
    @pytest.mark.parametrize("analog", [0, 5])
    def test_floats_of_every_processor(self, put, name, analog):
        points = cloud()
        markers = put(c3d(points, processor=PROCESSORS[name], analog=analog))
        assert same(markers.positions, points)
        assert markers.names == ("M0", "M1", "M2")
        assert (markers.fps, markers.metres_per_unit, markers.up, markers.notes) == (100.0, 1e-3, "z", ())

    @pytest.mark.parametrize("name", PROCESSORS)
    def test_integers_of_every_processor(self, put, name):
        points = cloud()
        markers = put(c3d(points, processor=PROCESSORS[name], scale=0.25, analog=3))
        assert same(markers.positions, np.round(points / 0.25) * 0.25)

    def test_dec_floats_at_their_ends(self, put):
        points = np.array([[[1.7e38, -3e-39, 0.0], [1.0, -1.0, 0.1]]])
        markers = put(c3d(points, processor=DEC))
        np.testing.assert_allclose(markers.positions, points, rtol=1e-7)

    @pytest.mark.parametrize("fourth", [-1.0, -32748.0])
    def test_a_negative_fourth_number_is_a_gap(self, put, fourth):
        points = cloud()
        assert np.array_equal(put(c3d(points, unseen=fourth)).gaps, np.isnan(points[..., 0]))
        if fourth == -1.0:
            assert np.array_equal(put(c3d(points, unseen=fourth, scale=0.5)).gaps, np.isnan(points[..., 0]))

    def test_points_that_are_nan_without_saying_so(self, put):
        data = bytearray(c3d(np.ones((2, 3, 3))))
        data[-512:-508] = np.float32(np.nan).tobytes()
        assert put(bytes(data)).gaps.sum() == 1

    def test_more_than_255_labels(self, put):
        markers = put(c3d(cloud(2, 600), labels=[f"L{i}" for i in range(600)]))
        assert markers.names[254:257] == ("L254", "L255", "L256")
        assert markers.names[599] == "L599"
        assert markers.notes == ()

    def test_labels_that_are_missing_or_alike(self, put):
        markers = put(c3d(cloud(2, 4), labels=["A", "", "A"]))
        assert markers.names == ("A", "point_2", "A_1", "point_4")
        assert any("2 of 4 points have no label" in note for note in markers.notes)
        assert any("duplicate" in note for note in markers.notes)

    def test_no_frames(self, put):
        markers = put(c3d(cloud()[:0], first=7))
        assert markers.positions.shape == (0, 3, 3)
        assert markers.notes == ("it holds no frames: the header says 7 to 6",)

    def test_the_first_frame(self, put):
        assert put(c3d(cloud(), first=31)).first_frame == 31

    @pytest.mark.parametrize("name", PROCESSORS)
    def test_more_frames_than_16_bits_can_count(self, put, name):
        points = np.tile(np.arange(70_000.0)[:, None, None], (1, 1, 3))

        def ends(n):
            return b"".join(
                parameter(n, 2, f"ACTUAL_{end}_FIELD", 2, [2], n.words([value % 65_536, value // 65_536]))
                for end, value in (("START", 1), ("END", 70_000))
            )

        markers = put(c3d(points, processor=PROCESSORS[name], more=[ends]))
        assert same(markers.positions, points)
        counted = put(c3d(points, more=[lambda n: parameter(n, 1, "FRAMES", 4, [], n.floats([70_000]))]))
        assert len(counted) == 70_000

    def test_a_last_frame_whose_number_16_bits_cannot_hold(self, put):
        """Its header says frames 65,000 to 464; the numbers of the trial stand in the parameters."""
        points = np.tile(np.arange(1001.0)[:, None, None], (1, 1, 3))
        ends = (("START", [65_000, 0]), ("END", [464, 1]))

        def trial(n):
            return b"".join(parameter(n, 2, f"ACTUAL_{end}_FIELD", 2, [2], n.words(words)) for end, words in ends)

        markers = put(c3d(points, first=65_000, last=464, more=[trial]))
        assert same(markers.positions, points)
        assert markers.first_frame == 65_000

    @pytest.mark.parametrize(
        ("unit", "metres"), [("m", 1.0), ("cm", 0.01), ("MM  ", 1e-3), ("in", 0.0254), ("furlong", None)]
    )
    def test_units(self, put, unit, metres):
        markers = put(c3d(cloud(), unit=unit))
        assert markers.metres_per_unit == metres
        assert bool(markers.notes) == (metres is None)

    def test_no_unit_and_no_screen(self, put):
        markers = put(c3d(cloud(), unit="", up=""))
        assert (markers.metres_per_unit, markers.up) == (None, None)
        assert markers.notes == ("its unit is missing",)
        assert put(c3d(cloud(), up="-Z")).up is None

    def test_a_rate_that_cannot_be_used(self, put):
        markers = put(c3d(cloud(), rate=0.0))
        assert markers.fps == 100.0
        assert any("a rate of 0" in note for note in markers.notes)

    def test_further_groups_and_locked_records(self, put):
        def more(n):
            record = bytearray(texts(n, 2, "NAME", ["x" * 100]))
            record[0] = 256 - record[0]
            return bytes(record) + parameter(n, 2, "BYTES", 1, [3], b"\1\2\xff") + parameter(n, 2, "NONE", 4, [0], b"")

        assert same(put(c3d(cloud(), more=[more])).positions, cloud())


class TestTRC:
    def test_the_small_file(self, put):
        markers = put(HEAD + ROWS, "a.trc")
        assert markers.names == ("A", "B")
        assert same(markers.positions[0], [[1, 2, 3], [4, 5, 6]])
        assert markers.gaps.tolist() == [[False, False], [True, False], [False, True]]
        assert (markers.fps, markers.first_frame, markers.metres_per_unit, markers.notes) == (60.0, 1, 1e-3, ())
        np.testing.assert_allclose(markers.times, [0, 1 / 60, 2 / 60])

    @pytest.mark.parametrize(
        "change",
        [
            lambda text: text.replace("\n", "\r\n"),
            lambda text: text.replace("\n", "\r"),
            lambda text: "\ufeff" + text,
            lambda text: text.replace("Z2\n", "Z2\n\n"),
            lambda text: text.replace("\t\t\t\t4", "\tnan\tNaN\t-nan\t4"),
            lambda text: text.replace("\t6\n", "\t6\t\t\n"),
            lambda text: text.replace("\tB\t\t\n", "\tB\n"),
            lambda text: text + "\n\n",
            lambda text: text.replace("1\t2\t3", " 1e0 \t+2.\t3.000"),
        ],
    )
    def test_ways_to_write_the_same(self, put, change):
        assert change(HEAD + ROWS) != HEAD + ROWS
        markers = put(change(HEAD + ROWS), "a.trc")
        assert same(markers.positions, put(HEAD + ROWS, "b.trc").positions)
        assert markers.names == ("A", "B")
        assert markers.notes == ()

    def test_blanks_instead_of_tabs(self, put):
        text = HEAD.replace("Frame#\tTime\tA\t\t\tB\t\t", "Frame# Time A B").replace("\t", " ")
        markers = put(text + "7 0 1 2 3 4 5 6\n8 0.016667 nan nan nan 4 5 6\n9 0.0333 1 2 3 4 5 6\n", "a.trc")
        assert markers.gaps.tolist() == [[False, False], [True, False], [False, False]]
        assert markers.first_frame == 7

    def test_rows_whose_last_tabs_were_cut_off(self, put):
        markers = put(HEAD + ROWS.replace("\t\t\t\n", "\n"), "a.trc")
        assert markers.gaps[2].tolist() == [False, True]
        assert markers.notes == ("1 rows end early; their last markers count as missing",)

    @pytest.mark.parametrize(
        ("old", "new", "note"),
        [
            ("\t3\t2\tmm", "\t9\t2\tmm", "the header says 9 frames and the file holds 3"),
            ("1\t0.0\t1\t2\t3", "1\t0.0\t1\t\t3", "1 positions have only a part of their coordinates"),
            ("3\t0.033333", "5\t0.033333", "the frame numbers have gaps"),
            ("3\t0.033333", "3\t0.5", "its times do not match its rate of 60"),
            ("mm", "parsec", "its unit 'parsec' is not known"),
            ("\tA\t\t\tB", "\tA\t\t\tA", "duplicate marker names were numbered"),
        ],
    )
    def test_what_is_odd_is_reported(self, put, old, new, note):
        assert old in HEAD + ROWS
        markers = put((HEAD + ROWS).replace(old, new, 1), "a.trc")
        assert len(markers) == 3
        assert any(note in one for one in markers.notes), markers.notes

    def test_no_rows(self, put):
        markers = put(HEAD.replace("60.00\t3", "60.00\t0"), "a.trc")
        assert markers.positions.shape == (0, 2, 3)


class TestTheValue:
    def test_markers_by_name(self, data):
        markers = found(data / "markers" / "walk41_noisy.c3d")
        assert same(markers["LSHO"], markers.positions[:, 0])
        assert same(markers["Walker:LSHO"], markers["LSHO"])
        with pytest.raises(poise.UnknownNameError, match="no marker 'LSH'; did you mean .*LSHO"):
            markers["LSH"]
        two = poise.Markers(np.zeros((1, 2, 3)), ("a:X", "b:X"), 60)
        with pytest.raises(poise.UnknownNameError, match="markers: a:X, b:X"):
            two["X"]

    def test_it_is_frozen_and_whole(self):
        points = np.zeros((2, 1, 3))
        points[1, 0, 1] = np.nan
        markers = poise.Markers(points, ("A",), 50)
        assert np.isnan(markers.positions[1]).all(), "a marker is seen or not"
        assert np.isfinite(points[1, 0, 0]), "what was given stays as it was"
        with pytest.raises(ValueError, match="read-only"):
            markers.positions[0] = 1.0
        assert len(markers) == 2
        assert repr(markers).startswith("Markers(positions=")

    @pytest.mark.parametrize(
        ("points", "fps", "sentence"),
        [
            (np.zeros((2, 3)), 60, r"1 markers need positions \(frames, 1, 3\), not \(2, 3\)"),
            (np.zeros((2, 2, 3)), 60, "1 markers need positions"),
            (np.full((2, 1, 3), np.inf), 60, "finite, or NaN"),
            (np.zeros((2, 1, 3)), 0, "frames per second must be above zero"),
        ],
    )
    def test_what_is_none(self, points, fps, sentence):
        with pytest.raises(poise.InputError, match=sentence):
            poise.Markers(points, ("A",), fps)


@pytest.mark.parametrize("name", ["walk41_noisy.c3d", "walk41_noisy.trc"])
def test_load_points_to_load_markers(data, name):
    path = data / "markers" / name
    with pytest.raises(poise.FileError, match=r"holds markers and no skeleton: read it with poise\.load_markers\(\)"):
        poise.load(path)


def test_saving_and_other_files(data, tmp_path):
    rig = poise.load(data / "asf" / "02.asf")
    with pytest.raises(poise.FileError, match=r"holds markers and no skeleton.*save poses as \.glb"):
        poise.save(rig.rest, tmp_path / "a.c3d")
    with pytest.raises(poise.FileError, match=r"cannot read markers from files named '\.asf'; known: \.c3d, \.trc"):
        poise.load_markers(data / "asf" / "02.asf")
    with pytest.raises(poise.InputError, match="a file is given by its path"):
        poise.load_markers(3)
