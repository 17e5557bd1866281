"""What a run of the tests says of tests that had no test data."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests import conftest


def skipped(name, reason):
    return SimpleNamespace(nodeid=name, longrepr=("conftest.py", 1, f"Skipped: {reason}"))


def test_tests_without_data_are_counted_by_folder():
    reports = [
        skipped("tests/io/test_bvh.py::test_a", f"{conftest.WANT}: nowhere is no folder"),
        skipped("tests/io/test_urdf.py::test_b", f"{conftest.WANT}: x has no golden results"),
        skipped("tests/model/test_pose.py::test_c", f"{conftest.WANT}: nowhere is no folder"),
        skipped("tests/viewer/test_page.py::test_d", "no browser"),
    ]
    message = conftest.describe_missing_data(reports)
    assert message.startswith("3 tests were skipped for want of test data")
    assert "(io 2, model 1)" in message
    assert "benchmarks/manifest.toml" in message
    assert conftest.describe_missing_data(reports[2:]).startswith("1 test was skipped")
    assert conftest.describe_missing_data(reports[3:]) == ""


@pytest.mark.parametrize("kind", ["absent", "public files only"])
def test_a_test_without_complete_data_is_skipped(kind, tmp_path, monkeypatch):
    folder = tmp_path / "data"
    if kind != "absent":
        (folder / "bvh").mkdir(parents=True)
    monkeypatch.setenv("POISE_DATA", str(folder))
    with pytest.raises(pytest.skip.Exception, match=conftest.WANT):
        conftest.find_data()
    (folder / "golden").mkdir(parents=True)
    assert conftest.find_data() == folder
