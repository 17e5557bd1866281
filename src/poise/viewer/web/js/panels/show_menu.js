/** What the viewport draws. One switch each, and how much of the skin is seen. */

/**
 * @import { Store } from "poise/state/store.js"
 * @import { Show } from "poise/state/topics.ts"
 */

import { makeElement } from "poise/widgets/element.js";
import { makeMenu } from "poise/widgets/menu.js";

/** @type {[keyof Show, string][]} */
const THINGS = [
  ["bones", "Bones"],
  ["skin", "Skin and meshes"],
  ["through", "Bones through the skin"],
  ["axes", "Joint axes"],
  ["limits", "Limits"],
  ["ranges", "Ranges of targets"],
  ["loops", "Closed loops"],
  ["ghost", "Ghost of the start pose"],
  ["trail", "Trail of the tip"],
  ["grid", "Grid"],
  ["shadows", "Shadows"],
];

/**
 * @param {Store} store
 * @param {{show: (what: keyof Show, value: any) => void}} commands
 * @param {string[]} [leave] things that this page cannot show
 * @returns {HTMLElement}
 */
export function makeShowMenu(store, commands, leave = []) {
  const things = THINGS.filter(([what]) => !leave.includes(what));
  const boxes = things.map(([what, text]) => makeBox(store, commands, what, text));
  const list = makeElement("div", { class: "checks", "aria-label": "Show" }, ...boxes, makeOpacity(store, commands));
  return makeMenu({ text: "Show", title: "What is drawn", testid: "show-menu", drawing: "eye" }, list);
}

/**
 * @param {Store} store
 * @param {{show: (what: keyof Show, value: any) => void}} commands
 * @param {keyof Show} what
 * @param {string} text
 */
function makeBox(store, commands, what, text) {
  const input = makeElement("input", {
    type: "checkbox",
    "data-testid": `show-${what}`,
    onchange: () => commands.show(what, input.checked),
  });
  store.on("show", (show) => (input.checked = Boolean(show[what])));
  return makeElement("label", { class: "check" }, input, text);
}

/** @param {Store} store @param {{show: (what: keyof Show, value: any) => void}} commands */
function makeOpacity(store, commands) {
  const slider = makeElement("input", {
    type: "range",
    min: 0.05,
    max: 1,
    step: 0.05,
    "data-testid": "skin-opacity",
    oninput: () => commands.show("skinOpacity", Number(slider.value)),
  });
  store.on("show", (show) => {
    slider.value = String(show.skinOpacity);
    slider.disabled = !show.skin;
  });
  return makeElement("label", { class: "check slider" }, "Skin opacity", slider);
}
