"""Broken and hostile BVH files: one FileError with place and reason, quickly and without much memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from poise.errors import FileError
from poise.io.formats import bvh
from poise.io.registry import load
from tests.timeouts import no_hang

GOOD = """HIERARCHY
ROOT Hips
{
  OFFSET 0 5 0
  CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation
  JOINT Knee
  {
    OFFSET 0 -2 0
    CHANNELS 3 Yrotation Xrotation Zrotation
    End Site
    {
      OFFSET 0 -3 0
    }
  }
}
MOTION
Frames: 2
Frame Time: 0.01
1 2 3 10 20 30 40 50 60
4 5 6 -10 -20 -30 70 80 95
"""


def refused(tmp_path, text, match):
    path = tmp_path / "bad.bvh"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(FileError, match=match) as caught:
        bvh.read(path)
    assert str(caught.value).startswith(f"{path}: ")


BAD_INPUTS = {
    "bvh_binary_garbage": "not a BVH file",
    "bvh_empty": "the file is empty",
    "bvh_inf": "line 25: frame 1: number 7 of the row is inf",
    "bvh_row_too_short": "line 25: frame 1 has 5 numbers; the channels need 12",
    "bvh_unbalanced_braces": "line 20: joint 'Hips' is not closed",
    "bvh_utf16": "is UTF-16 text",
    "wrong_extension_glb": "not a BVH file; this looks like a GLB file",
}
ACCEPTED = {
    "bvh_zero_frames": (0, 0),
    "bvh_frame_time_zero": (3, 1),
    "bvh_duplicate_names": (3, 1),
    "bvh_spaces_in_names": (3, 0),
}


def test_every_bad_bvh_of_the_data_is_tested(data):
    names = {path.stem for path in (data / "bad_inputs").glob("*.bvh")}
    assert names == set(BAD_INPUTS) | set(ACCEPTED)


@pytest.mark.parametrize(("name", "match"), BAD_INPUTS.items())
def test_bad_inputs_are_refused(data, name, match):
    with pytest.raises(FileError, match=match):
        bvh.read(data / "bad_inputs" / f"{name}.bvh")


@pytest.mark.parametrize(("name", "expected"), ACCEPTED.items())
def test_odd_inputs_load_with_a_note_where_one_is_due(data, name, expected):
    rig = bvh.read(data / "bad_inputs" / f"{name}.bvh")
    assert (len(rig.clips[0]), len(rig.notes)) == expected
    assert np.isfinite(rig.clips[0].times).all()


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("HIERARCHY", "HIERACHY", "not a BVH file$"),
        ("HIERARCHY\n", '{"asset": {}}', "this looks like a JSON"),
        ("HIERARCHY\n", "<robot>", "this looks like an XML"),
        ("ROOT Hips", "JOINT Hips", "line 2: expected ROOT, not 'JOINT'"),
        ("ROOT Hips\n{", "ROOT Hips\n", "line 4: expected '{' after ROOT 'Hips'"),
        ("MOTION", "", "line 17: expected ROOT or MOTION, not 'FRAMES:'"),
        ("OFFSET 0 5 0", "OFFSET 0 5", "line 5: the OFFSET of 'Hips': 'CHANNELS' is not a number"),
        ("OFFSET 0 5 0", "OFFSET 0 5 0 0", "line 4: joint 'Hips': unknown word '0'"),
        ("OFFSET 0 5 0", "OFFSET 0 nan 0", "line 4: .*'nan' is not a number"),
        ("OFFSET 0 5 0", "OFFSET 0 1_0 0", "'1_0' is not a number"),
        ("OFFSET 0 5 0", "OFFSET 0 1e999 0", "'1e999' is too large"),
        ("OFFSET 0 5 0", "OFFSET 0 1e300 0", "'1e300' is too large"),
        ("OFFSET 0 5 0", "", "line 15: joint 'Hips' has no OFFSET"),
        ("OFFSET 0 -2 0", "OFFSET 0 -2 0\nOFFSET 0 1 0", "joint 'Knee': a second OFFSET"),
        ("CHANNELS 3", "CHANNELS 4", "line 10: joint 'Knee' says 4 channels, but 'End' is not a channel"),
        ("CHANNELS 3", "CHANNELS 2", "line 9: joint 'Knee' says 2 channels and lists more"),
        ("CHANNELS 3", "CHANNELS 7", "0 to 6 channels, not '7'"),
        ("CHANNELS 3", "CHANNELS -1", "0 to 6 channels, not '-1'"),
        ("CHANNELS 3", "CHANNELS 999999999999", "0 to 6 channels"),
        ("Xrotation Zrotation", "Xrotation Xrotation", "joint 'Knee' has the channel 'Xrotation' twice"),
        ("Xrotation Zrotation", "Xrotation Zscale", "'Zscale' is not a channel"),
        ("OFFSET 0 -3 0", "OFFSET 0 -3 0 CHANNELS 3 Xrotation", "an End Site has no channels"),
        ("OFFSET 0 -3 0", "OFFSET 0 -3 0 JOINT a {", "an End Site cannot hold another joint"),
        ("Knee\n", "Kn\0ee\n", "line 6: a name holds a zero byte"),
        ("Frames: 2", "Frames: -2", "line 17: the number of frames must be a whole number, not '-2'"),
        ("Frames: 2", "Frames: 2.5", "whole number"),
        ("Frames: 2", "Frames: nan", "whole number"),
        ("Frames: 2", "Frames: " + "9" * 5000, "whole number"),
        ("Frames: 2\n", "", "line 17: expected 'Frames: COUNT'"),
        ("Frame Time: 0.01\n", "", "line 18: expected 'Frame Time: SECONDS'"),
        ("Frame Time: 0.01", "Frame Time: -0.01", "a frame time of -0.01 s cannot be used"),
        ("Frame Time: 0.01", "Frame Time: 1e-300", "cannot be used"),
        ("Frame Time: 0.01", "Frame Time: nan", "the frame time: 'nan' is not a number"),
        ("1 2 3 10", "1 2 3 nan", "line 19: frame 0: number 4 of the row is nan"),
        ("1 2 3 10", "1 2 3 -inf", "line 19: frame 0: number 4 of the row is -inf"),
        ("4 5 6", "4 5 -1e200", "line 20: frame 1: number 3 of the row is -1e\\+200"),
        ("1 2 3 10", "1 2 3 ten", "line 19: 'ten' is not a number"),
        ("1 2 3 10", "1 2 3 1_0", "line 19: '1_0' is not a number"),
        ("1 2 3 10", "1 2 3 1,5", "line 19: '1,5' is not a number"),
        ("1 2 3 10", "1 2 3 10 11", "line 19: frame 0 has 10 numbers; the channels need 9"),
        ("80 95", "80", "line 20: frame 1 has 8 numbers; the channels need 9"),
        ("95\n", "95\n7 8 9", "line 21: frame 2 has 3 numbers"),
        ("95\n", "95\nthe end", "line 21: 'the' is not a number"),
    ],
)  # fmt: skip
def test_what_is_refused_and_how(tmp_path, old, new, match):
    assert GOOD.count(old) >= 1
    refused(tmp_path, GOOD.replace(old, new, 1), match)


def test_a_short_row_made_up_by_a_long_one_is_refused(tmp_path):
    refused(tmp_path, GOOD.replace("Frames: 2", "Frames: 3").replace("3 10", "3\n10"), "frame 0 has 3 numbers")


@pytest.mark.parametrize("end", range(0, len(GOOD) - 3, 7))
def test_a_file_cut_anywhere_is_refused_or_says_what_is_missing(tmp_path, end):
    path = tmp_path / "cut.bvh"
    path.write_text(GOOD[:end])
    try:
        rig = bvh.read(path)
    except FileError as error:
        assert str(path) in str(error)  # noqa: PT017  (either outcome is right, but never a silent one)
    else:
        assert rig.notes or end > GOOD.index("95")  # cut between rows, or inside the very last number


def test_numbers_without_any_channel_are_refused(tmp_path):
    text = "HIERARCHY ROOT a { OFFSET 0 0 0 }\nMOTION\nFrames: 1\nFrame Time: 0.1\n"
    refused(tmp_path, text + "1 2\n", "2 numbers where no joint has channels")
    path = tmp_path / "still.bvh"
    path.write_text(text.replace("Frames: 1", "Frames: 99999999999"))
    assert len(bvh.read(path).clips[0]) == 0


def joints(n):
    return "".join(
        f"{'JOINT' if i else 'ROOT'} j{i} {{ OFFSET 0 1 0 CHANNELS 3 Zrotation Xrotation Yrotation\n" for i in range(n)
    )


HOSTILE = {
    "a hundred thousand joints": f"HIERARCHY\n{joints(100_000)}{'}' * 100_000}\nMOTION\nFrames: 1\nFrame Time: 1\n",
    "braces": "HIERARCHY ROOT a " + "{" * 1_000_000,
    "closing braces": "HIERARCHY ROOT a {" + "}" * 1_000_000,
    "one long name": "HIERARCHY ROOT " + "a" * 3_000_000,
    "one long number": GOOD.replace("95", "9" * 3_000_000),
    "a long number among many": GOOD + "1 " * 300_000 + "9" * 1_000_000,
    "blanks": "HIERARCHY ROOT a" + " \n" * 1_000_000,
    "numbers instead of frames": GOOD.replace("Frames: 2", "1 " * 1_000_000),
    "many short rows": GOOD + "1\n" * 300_000,
    "zero bytes": GOOD + "\0" * 1_000_000,
    "signs": GOOD + "- " * 1_000_000,
}  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.long
def test_hostile_files_are_refused_without_a_hang_and_in_little_memory(tmp_path, text):
    path = tmp_path / "hostile.bvh"
    path.write_text(text)
    with no_hang(), pytest.raises(FileError) as caught:
        bvh.read(path)
    assert len(str(caught.value)) < 400 + len(str(path))
    tracemalloc.start()
    with pytest.raises(FileError):
        bvh.read(path)
    assert tracemalloc.get_traced_memory()[1] < 100e6
    tracemalloc.stop()


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileError, match=r"none\.bvh: No such file"):
        bvh.read(tmp_path / "none.bvh")
    with pytest.raises(FileError, match="directory"):
        bvh.read(tmp_path)


def test_the_place_is_right_in_files_with_other_line_ends(tmp_path):
    for end in ("\r\n", "\r"):
        refused(tmp_path, GOOD.replace("80 95", "80").replace("\n", end), "line 20: frame 1")


def test_load_finds_the_reader_by_its_suffix(tmp_path):
    path = tmp_path / "Walk.BVH"
    path.write_text(GOOD)
    assert load(path).clips[0].name == "Walk"
