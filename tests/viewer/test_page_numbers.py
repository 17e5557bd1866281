"""Figures in the page are short, as a person writes them; with all their digits where the pointer rests."""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.long

SENTENCES = {
    "reached: 0.0179 mm left, 4 iterations": "reached: 0.02 mm left, 4 iterations",
    "reached: 2.24e-13 mm and 2.76e-16 rad left, 0 iterations": "reached",
    "reached: 0.0532 mm left, 1 iteration": "reached: 0.05 mm left, 1 iteration",
    "10 of 10 characters: reached: 0.00023 mm left, 12 iterations": "10 of 10 characters: reached, 12 iterations",
    "limited: limits keep the target away, 12.34 mm left; elbow at its highest, 2.618 rad (150 deg)":
        "limited: limits keep the target away, 12 mm left; elbow at its highest, 150°",
    "out of reach: the target is 3.211 m beyond the longest reach of 1.2345 m; 0.000123 left":
        "out of reach: the target is 3.21 m beyond the longest reach of 1.23 m; 0 left",
    "no joint above 'Bone.0012 mm' can move": "no joint above 'Bone.0012 mm' can move",
}  # fmt: skip

TIMES = {0.4: "under 1 µs", 12.3: "12 µs", 286: "290 µs", 1320: "1.3 ms", 2.5e6: "2.5 s"}


def test_figures_are_reported_as_a_person_says_them(served):
    tab = served("ccd")
    reported = tab.get("(all) => import('poise/texts/spoken.js').then(({speak}) => all.map((one) => speak(one, 17)))",
                   list(SENTENCES))  # fmt: skip
    assert dict(zip(SENTENCES, reported, strict=True)) == SENTENCES
    times = tab.get("(all) => import('poise/texts/spoken.js').then(({sayTime}) => all.map(sayTime))", list(TIMES))
    assert dict(zip(TIMES, times, strict=True)) == TIMES


def test_the_status_is_short_and_has_all_digits_in_its_title(served):
    tab = served("ccd")
    view = tab.answered()["views"][0]
    assert re.search(r"\d\.\d{2,} mm left", view["sentence"])
    status = tab.at("status-a")
    assert re.fullmatch(r"reached(: \S+ mm left)?, \d+ iterations?", status.inner_text().strip())
    assert view["sentence"] in status.get_attribute("title")
    tab.until("document.querySelector('[data-testid=time-a]').textContent")
    assert re.fullmatch(r"[\d.]+ (µs|ms) a solve", tab.at("time-a").inner_text())
    assert len(re.findall(r"\d+\.\d{3,} µs", tab.at("time-a").get_attribute("title"))) > 0
    field = tab.at("target-position-x")
    assert len(field.input_value()) <= len("-0.123")
    assert str(tab.chain(tab.state["chains"][0]["id"])["position"][0]) in field.get_attribute("title")
