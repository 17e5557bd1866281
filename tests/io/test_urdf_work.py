"""Reading a URDF file does what is needed: short cuts give what the long way gives."""

from __future__ import annotations

import random

import numpy as np
import pytest

import poise
from poise import Kind, Skeleton
from poise.io import urdf_xml
from poise.io.text_parsing import parse_number, parse_vector
from poise.maths.arrays import check_real
from tests.timeouts import lines_run

LINK = '<link name="{}"><visual><geometry><mesh filename="{}"/></geometry></visual></link>'
JOINT = '<joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>'


def make_robot(inside, *, mesh="m.stl"):
    links = LINK.format("a", mesh) + LINK.format("b", "n.stl")
    return f'<?xml version="1.0"?><robot name="r">{links}{JOINT}{inside}</robot>'.encode()


MARKS = {
    "no xacro": (make_robot(""), False),
    "a comment": (make_robot("<!-- <xacro:if value='${x}'> -->"), False),
    "two comments": (make_robot("<!-- ${x} --><!-- <xacro:a/> -->"), False),
    "after a comment": (make_robot("<!-- ${x} --><xacro:a/>"), True),
    "an element": (make_robot("<xacro:a/>"), True),
    "an expression": (make_robot("", mesh="${x}"), True),
    "characters by number": (make_robot("", mesh="&#36;{x}"), True),
    "no comment in a section": (make_robot("<![CDATA[<!--]]><xacro:a/><!-- -->"), True),
    "no comment in an instruction": (make_robot("<?a <!-- ?><xacro:a/><!-- -->"), True),
    "sixteen bits": ("<robot/>".encode("utf-16"), True),
}


@pytest.mark.parametrize("case", MARKS)
def test_xacro_is_searched_where_it_may_be(case, tmp_path, monkeypatch):
    data, may_be = MARKS[case]
    assert urdf_xml._may_have_xacro(data) == may_be
    if case == "sixteen bits":
        return
    path = tmp_path / "a.urdf"

    def parse():
        try:
            return urdf_xml.parse_robot(path, data)
        except poise.FileError as error:
            return str(error)

    quick = parse()
    monkeypatch.setattr(urdf_xml, "_may_have_xacro", lambda _: True)
    assert quick == parse()


def test_words_are_numbers_where_each_alone_is_one():
    choose = random.Random(3).choice
    texts = ["1 2 3", "1e3 -.5 +2.", "", " 1\t2 ", "1e200", "nan", "inf 1", "1_0", "٣", "0x1", "1,5", "1e5 2e400"]
    texts += ["".join(choose("12.e+-_ naif٣") for _ in range(6)) for _ in range(3000)]
    for text in texts:
        try:
            expected = tuple(map(parse_number, text.split()))
        except ValueError:
            with pytest.raises(ValueError, match="."):
                parse_vector(text)
        else:
            assert parse_vector(text) == expected, text


@pytest.mark.parametrize("value", [1.5, np.float64(1.5), np.float32(1.5)])
def test_real_numbers_become_floats(value):
    number = check_real(value, "it")
    assert type(number) is float
    assert number == 1.5


def test_a_skeleton_has_zero_values_and_identity_rotations():
    kinds = [Kind.FREE, Kind.HINGE, Kind.HINGE, Kind.FIXED, Kind.BALL, Kind.SLIDE]
    coupling = poise.Coupling(1, 2.0, 0.0)
    skeleton = Skeleton.build(
        "abcdef", [-1, 0, 1, 2, 3, 4], kinds, axes=[[0, 0, 1]] * 6, couplings=[None, None, coupling, None, None, None]
    )
    assert skeleton.rest_q.tolist() == [0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0]
    assert skeleton.rest_q.tobytes() == skeleton.zero_q().tobytes()
    assert Skeleton.build([], [], []).rest_q.shape == (0,)


def test_limits_move_the_rest_and_keep_a_legal_one():
    limits = [None, poise.Range(0.5, 2.0)]
    skeleton = Skeleton.build("ab", [-1, 0], [Kind.HINGE] * 2, axes=[[0, 0, 1]] * 2, limits=limits)
    assert skeleton.rest_q.tolist() == [0.0, 0.5]
    other = skeleton.with_limits({"a": poise.Range(-1.0, 1.0)})
    assert other.rest_q.tolist() == [0.0, 0.5]
    assert other.limits == (poise.Range(-1.0, 1.0), limits[1])
    assert not other.rest_q.flags.writeable


def test_an_element_takes_few_lines(tmp_path):
    """Of links only masses and meshes are read; every other element is passed over."""

    def write(count):
        boxes = '<collision><geometry><box size="1 1 1"/></geometry></collision>' * count
        (tmp_path / f"{count}.urdf").write_bytes(make_robot("").replace(b"</link>", boxes.encode() + b"</link>", 1))

    write(1), write(101)
    poise.load(tmp_path / "1.urdf")
    few, many = (lines_run(lambda n=n: poise.load(tmp_path / f"{n}.urdf")) for n in (1, 101))
    assert many - few < 100 * 3 * 12  # three elements each
