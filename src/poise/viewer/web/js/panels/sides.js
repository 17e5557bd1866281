/** The two sides. Their widths, which are dragged at the edge, and how they open over the view of a narrow window. */

/** @import { Store } from "poise/state/store.js" */

import { makeElement } from "poise/widgets/element.js";
import { makeToolButton } from "poise/widgets/tool_button.js";

const LEAST = 180; // [px]
const MOST = 0.45; // of the window
const STEP = 16; // [px] with the keys
const NARROW = "(max-width: 759px)"; // as in the style sheet
/** @type {("left"|"right")[]} */
const SIDES = ["left", "right"];

/**
 * A button that opens and closes a side. In a narrow window the sides lie over the view and start closed.
 *
 * @param {Store} store
 * @param {"left"|"right"} side
 * @param {string} what is in it
 * @returns {HTMLButtonElement}
 */
export function makeDrawer(store, side, what) {
  const button = makeToolButton(`panel-${side}`, side, `${what}: show or hide`, () => toggle(store, side));
  button.classList.add("drawer-button");
  button.setAttribute("aria-controls", side);
  new MutationObserver(() => say(button, side)).observe(document.body, { attributeFilter: ["class"] });
  matchMedia(NARROW).addEventListener("change", () => say(button, side));
  say(button, side);
  return button;
}

/** @param {"left"|"right"} side */
function isOpen(side) {
  const { classList } = document.body;
  return matchMedia(NARROW).matches ? classList.contains(`open-${side}`) : !classList.contains(`closed-${side}`);
}

/** @param {HTMLElement} button @param {"left"|"right"} side */
function say(button, side) {
  button.setAttribute("aria-expanded", String(isOpen(side)));
}

/** @param {Store} store @param {"left"|"right"} side */
function toggle(store, side) {
  if (!matchMedia(NARROW).matches) {
    store.set("closed", { ...store.get("closed"), [side]: isOpen(side) });
    return;
  }
  const open = !isOpen(side);
  closeDrawers();
  if (open) document.body.classList.add(`open-${side}`);
}

/** Sides are as they were left. @param {Store} store */
export function keepSidesClosed(store) {
  store.on("closed", (closed) => {
    for (const side of SIDES) document.body.classList.toggle(`closed-${side}`, closed[side] === true);
  });
}

/** @returns {boolean} whether one lay over the view */
function closeDrawers() {
  const open = SIDES.filter((side) => document.body.classList.contains(`open-${side}`));
  for (const side of open) document.body.classList.remove(`open-${side}`);
  return open.length > 0;
}

/** Drawers go by Esc and by a click beside them. */
export function closeDrawersBeside() {
  document.addEventListener("pointerdown", ({ target }) => {
    if (!(target instanceof Element && target.closest(".side, .drawer-button, [popover], dialog"))) closeDrawers();
  });
  document.addEventListener("keydown", (event) => {
    const elsewhere = event.defaultPrevented || document.querySelector("dialog[open], :popover-open");
    if (event.key === "Escape" && !elsewhere && closeDrawers()) event.preventDefault(); // nothing else is left by it
  });
}

/**
 * The edges of the sides, to drag.
 *
 * @param {Store} store
 * @returns {HTMLElement[]}
 */
export function makeEdges(store) {
  store.on("sides", (widths) => {
    for (const side of SIDES) {
      if (widths[side]) document.body.style.setProperty(`--${side}`, `${widths[side]}px`);
      else document.body.style.removeProperty(`--${side}`);
    }
  });
  return SIDES.map((side) => makeEdge(store, side));
}

/** @param {Store} store @param {"left"|"right"} side */
function makeEdge(store, side) {
  const panel = /** @type {HTMLElement} */ (document.getElementById(side));
  /** @param {number} width */
  const set = (width) => {
    const within = Math.round(Math.min(Math.max(width, LEAST), MOST * innerWidth));
    store.set("sides", { ...store.get("sides"), [side]: within });
  };
  const tell = () => {
    bar.setAttribute("aria-valuenow", String(panel.offsetWidth));
    bar.setAttribute("aria-valuemax", String(Math.round(MOST * innerWidth)));
  };
  new ResizeObserver(tell).observe(panel);
  /** @param {number} x */
  const measureFromEdge = (x) => (side === "left" ? x : innerWidth - x);
  /** @param {KeyboardEvent} event */
  const walk = (event) => {
    const step = event.key === "ArrowLeft" ? -STEP : event.key === "ArrowRight" ? STEP : 0;
    if (!step) return;
    event.preventDefault(); // no frame of the clip is meant
    set(panel.offsetWidth + (side === "left" ? step : -step));
  };
  /** @type {HTMLElement} */
  const bar = makeElement("div", {
    class: `edge edge-${side}`,
    role: "separator",
    tabindex: 0,
    title: "Drag: width of this side; double click: as it was",
    "aria-orientation": "vertical",
    "aria-controls": side,
    "aria-valuemin": LEAST,
    "aria-valuenow": LEAST,
    "aria-valuemax": LEAST,
    "aria-label": `Width of the ${side} side`,
    "data-testid": `edge-${side}`,
    onpointerdown: ({ pointerId }) => bar.setPointerCapture(pointerId),
    onpointermove: (event) => bar.hasPointerCapture(event.pointerId) && set(measureFromEdge(event.clientX)),
    ondblclick: () => store.set("sides", { ...store.get("sides"), [side]: null }),
    onkeydown: walk,
  });
  return bar;
}
