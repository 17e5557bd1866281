/** Sliders, buttons and texts that a script has put on the page. */

/**
 * @import { Page } from "poise/commands/commands.js"
 * @import { Control, Phase } from "poise/protocol/messages.ts"
 */

/**
 * @typedef {{key: string, whole: HTMLElement, show: (value: any) => void}} Made
 *
 * @typedef {(value: number|string|null, phase?: Phase) => void} Use
 */

import { shorten } from "poise/texts/figures.js";
import { makeElement } from "poise/widgets/element.js";
import { makeLine } from "poise/widgets/fields.js";

/**
 * @param {Page} page
 * @returns {HTMLElement}
 */
export function makeScriptPanel(page) {
  const { store } = page;
  const whole = makeElement("div", { class: "script" });
  /** @type {Made[]} */
  let made = [];
  store.on("state", ({ controls }) => {
    const keys = controls.map(({ kind, name, low, high }) => JSON.stringify([kind, name, low, high]));
    if (keys.join() !== made.map(({ key }) => key).join()) {
      made = controls.map(
        (control, i) => made.find(({ key }) => key === keys[i]) ?? makeControl(page, control, keys[i]),
      );
      whole.replaceChildren(...made.map((each) => each.whole));
    }
    controls.forEach(({ value }, i) => made[i].show(value));
  });
  return whole;
}

/** @param {Page} page @param {Control} control @param {string} key */
function makeControl({ send }, control, key) {
  const { kind, name } = control;
  /** @param {number|string|null} value @param {Phase} [phase] */
  const use = (value, phase = "end") => send({ do: "control", name, value, phase });
  const { field, whole, show } = { slider: makeSlider, button: makeButton, text: makeText }[kind](control, use);
  field.dataset.testid = `control-${name}`;
  return { key, whole, show };
}

/** @param {Control} control @param {Use} use */
function makeSlider({ name, low, high }, use) {
  /** @type {Phase} */
  let phase = "start";
  const value = makeElement("output", { class: "unit" });
  const tell = () => (value.textContent = shorten(Number(field.value), 4));
  const field = makeElement("input", {
    type: "range",
    min: low,
    max: high,
    step: "any",
    oninput: () => {
      tell();
      use(Number(field.value), phase);
      phase = "move";
    },
    onchange: () => {
      use(Number(field.value));
      phase = "start";
    },
  });
  /** @param {any} told */
  const show = (told) => {
    if (phase === "start") field.value = String(told); // a hand that moves it knows better
    tell();
  };
  return { field, whole: makeLine(name, makeElement("span", { class: "pair" }, field, value)), show };
}

/** @param {Control} control @param {Use} use */
function makeButton({ name }, use) {
  const field = makeElement("button", { type: "button", onclick: () => use(null) }, name);
  return { field, whole: field, show: () => {} };
}

/** @param {Control} control @param {Use} use */
function makeText({ name }, use) {
  const field = makeElement("input", { type: "text", maxlength: 400, autocomplete: "off" });
  field.addEventListener("change", () => use(field.value));
  field.addEventListener("keydown", (event) => event.key === "Enter" && field.blur());
  /** @param {any} told */
  const show = (told) => {
    if (document.activeElement !== field) field.value = told;
    field.title = told;
  };
  return { field, whole: makeLine(name, field), show };
}
