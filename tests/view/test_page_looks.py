"""How the page looks in windows of three sizes and both themes: nothing overlaps, is cut off or hard to read.

Checked by geometry and by computed colours in the page; scripts/make_viewer_pictures.py makes the pictures to look at.
"""

from __future__ import annotations

import pytest

SIZES = ((1000, 600), (1600, 1000), (400, 800))

#: What is cut off without a way to scroll there, and what covers something else. Only what can be seen counts.
FAULTS = """
(root) => {
  const TOLERATED = 1.5; // [px]
  const seen = [];
  const faults = [];
  const scrolls = (style, axis) => ["auto", "scroll"].includes(axis === "x" ? style.overflowX : style.overflowY);
  const cuts = (style, axis) => ["hidden", "clip"].includes(axis === "x" ? style.overflowX : style.overflowY);
  const words = (element) => element.dataset.testid;
  for (const element of (root ? document.querySelector(root) : document).querySelectorAll("[data-testid]")) {
    if (!element.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
    const box = element.getBoundingClientRect();
    if (box.width === 0 || box.height === 0) continue;
    const clip = {left: box.left, top: box.top, right: box.right, bottom: box.bottom};
    let scrollX = false, scrollY = false, cut = "";
    const limit = (outer, style, name) => {
      const over = {x: clip.left < outer.left - TOLERATED || clip.right > outer.right + TOLERATED,
        y: clip.top < outer.top - TOLERATED || clip.bottom > outer.bottom + TOLERATED};
      for (const axis of ["x", "y"]) {
        const free = axis === "x" ? scrollX : scrollY;
        if (over[axis] && !free && style && scrolls(style, axis)) axis === "x" ? (scrollX = true) : (scrollY = true);
        else if (over[axis] && !free && (!style || cuts(style, axis))) cut ||= `${words(element)} is cut off by ${name}`;
      }
      if (!style || style.overflowX !== "visible") {
        clip.left = Math.max(clip.left, outer.left); clip.right = Math.min(clip.right, outer.right);
      }
      if (!style || style.overflowY !== "visible") {
        clip.top = Math.max(clip.top, outer.top); clip.bottom = Math.min(clip.bottom, outer.bottom);
      }
    };
    for (let outer = element.parentElement; outer && outer !== document.body; outer = outer.parentElement) {
      limit(outer.getBoundingClientRect(), getComputedStyle(outer), outer.className || outer.tagName);
      if (getComputedStyle(outer).position === "fixed") break;
    }
    limit({left: 0, top: 0, right: innerWidth, bottom: innerHeight}, null, "the window");
    if (cut) faults.push(cut);
    const narrow = element.matches("button") && element.scrollWidth > element.clientWidth + TOLERATED;
    if (narrow && getComputedStyle(element).textOverflow !== "ellipsis") faults.push(`${words(element)} is too narrow for its words`);
    seen.push([element, clip]);
  }
  seen.forEach(([a, p], i) => seen.slice(0, i).forEach(([b, q]) => {
    if (a.contains(b) || b.contains(a)) return;
    const across = Math.min(p.right, q.right) - Math.max(p.left, q.left);
    const down = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
    if (across > TOLERATED && down > TOLERATED) faults.push(`${words(a)} overlaps ${words(b)}`);
  }));
  return faults;
}
"""

#: Texts whose contrast against what is behind them is too small: [text, contrast].
PALE = """
(least) => {
  const sheet = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  const rgba = (css) => {
    sheet.clearRect(0, 0, 1, 1);
    sheet.fillStyle = css;
    sheet.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = sheet.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a)];
  const behind = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) {
      const colour = rgba(getComputedStyle(e).backgroundColor);
      layers.push(colour);
      if (colour[3] === 1) break;
      if (e.matches(".view")) break;
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), [0, 0, 0]);
  };
  const luminance = (rgb) => rgb.map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => {
    const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  const pale = [];
  const judge = (element, colour, text) => {
    let opacity = 1;
    for (let e = element; e; e = e.parentElement) opacity *= Number(getComputedStyle(e).opacity);
    const back = behind(element);
    const [r, g, b, a] = rgba(colour);
    const found = contrast(over([r, g, b, a * opacity], back), back);
    if (found < least) pale.push([text.trim().slice(0, 40), Number(found.toFixed(2)), colour, `rgb(${back.map(Math.round)})`]);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.textContent.trim() || element.closest("script, noscript, option, canvas, :disabled")) continue;
    if (!element.checkVisibility({visibilityProperty: true})) continue;
    judge(element, getComputedStyle(element).color, node.textContent);
  }
  for (const field of document.querySelectorAll("input:not([type=checkbox]):not([type=range]), select")) {
    if (!field.checkVisibility({visibilityProperty: true}) || field.disabled) continue;
    judge(field, getComputedStyle(field).color, `field ${field.dataset.testid}`);
    if (field.placeholder) judge(field, getComputedStyle(field, "::placeholder").color, `placeholder of ${field.dataset.testid}`);
  }
  return pale;
}
"""


@pytest.mark.parametrize("name", ["ccd_hinge_range", "biped", "walk_on_hills", "two_methods", "robot_arm"])
def test_nothing_overlaps_or_is_cut_off(served, name):
    tab = served(name, width=1600, height=1000)
    tab.until("window.poise.answer !== null")
    if name == "walk_on_hills":
        tab.until_state("state.contacts.length === 2")
    faults = {}
    for folded in (True, False):
        if not folded:
            tab.unfold()
            joint = next(joint["name"] for joint in tab.model["joints"] if joint["kind"] in ("ball", "hinge"))
            tab.get("(name) => document.querySelector(`[data-testid='joint-${name}']`).click()", joint)
        for width, height in SIZES:
            tab.page.set_viewport_size({"width": width, "height": height})
            tab.page.wait_for_timeout(100)  # for the layout's observers
            faults[width, height, folded] = tab.get(FAULTS, None)
    assert not any(faults.values()), faults


def test_drawers_of_a_narrow_window_hold_everything(served):
    tab = served("biped", width=400, height=800)
    assert not tab.at("outliner").is_visible()
    for side, control in (("left", "outliner"), ("right", "solver-a")):
        tab.click(f"panel-{side}")
        assert tab.at(control).is_visible()
        tab.page.wait_for_timeout(100)
        assert tab.get(FAULTS, f".side.{side}") == []
        tab.at(f"panel-{'chains' if side == 'left' else 'target'}").scroll_into_view_if_needed()
        tab.click(f"panel-{side}")
        assert not tab.at(control).is_visible()


@pytest.mark.parametrize("size", SIZES)
def test_menus_and_the_help_sheet_fit(served, size):
    tab = served("ccd", width=size[0], height=size[1])
    for menu in ("scene-menu", "save-menu", "show-menu"):
        tab.click(menu)
        box = tab.page.locator("[popover]:popover-open").bounding_box()
        assert box["x"] >= 0
        assert box["y"] >= 0
        assert box["x"] + box["width"] <= size[0] + 1
        assert box["y"] + box["height"] <= size[1] + 1
        assert tab.get(FAULTS, "[popover]:popover-open") == []
        tab.page.keyboard.press("Escape")
    tab.click("help")
    box = tab.at("help-sheet").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= size[0]
    assert box["y"] + box["height"] <= size[1]


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_every_text_can_be_read(served, scheme):
    tab = served("walk_on_hills", width=1600, height=1000, scheme=scheme)
    tab.until_state("state.contacts.length === 2")
    tab.get("window.poise.send({do: 'no such thing'})")
    tab.until("document.querySelector('[data-testid=message]') && document.getAnimations().length === 0")
    pale = tab.get(PALE, 4.5)
    for name in ("biped", "ccd_hinge_range", "two_methods"):
        tab.studio.post({"do": "scene", "name": name})
        tab.until_state(f"state.scene === {name!r} && window.poise.ready")
        tab.answered()
        tab.unfold()
        tab.page.locator(".joint:not([hidden])").nth(2).click()
        for menu in ("scene-menu", "save-menu", "show-menu"):
            tab.click(menu)
            pale += tab.get(PALE, 4.5)
            tab.page.keyboard.press("Escape")
    tab.click("help")
    pale += tab.get(PALE, 4.5)
    assert {tuple(each) for each in pale} == set()
