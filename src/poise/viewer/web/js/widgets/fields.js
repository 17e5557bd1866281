/** Fields for numbers and choices. A field that somebody types into does not change. */

import { makeElement } from "poise/widgets/element.js";

/**
 * A field for one number; empty stands for null. `change` is called when a number was typed and confirmed; what is none
 * makes way for the number that was there.
 *
 * @param {Record<string, any>} attributes beside type and value; `required`: empty is no number either
 * @param {(value: number|null) => void} change
 * @returns {HTMLInputElement}
 */
export function makeNumberField(attributes, change) {
  const field = makeElement("input", { type: "number", step: "any", autocomplete: "off", ...attributes });
  field.addEventListener("change", () => {
    delete field.dataset.late;
    const { badInput, valueMissing } = field.validity;
    if (!badInput && !valueMissing) change(field.value === "" ? null : Number(field.value));
    else if (!field.form) field.value = field.dataset.told ?? "";
  });
  field.addEventListener("blur", () => {
    if (field.dataset.late !== undefined) field.value = field.dataset.late;
    delete field.dataset.late;
  });
  // In a form Enter sends the whole form, which a field that has lost the focus does not do.
  field.addEventListener("keydown", (event) => event.key === "Enter" && !field.form && field.blur());
  return field;
}

/**
 * Show a number with six digits, unless somebody is typing another one.
 *
 * @param {HTMLInputElement} field
 * @param {number|null|undefined} value
 * @param {number} [places] at most so many after the point: what is smaller is zero to who reads a coordinate
 */
export function showNumber(field, value, places = 12) {
  const known = value !== null && value !== undefined && Number.isFinite(value);
  const text = known ? String(Number(Number(value.toPrecision(6)).toFixed(places)) + 0) : "";
  field.dataset.told = text;
  if (document.activeElement === field) field.dataset.late = text;
  else if (field.value !== text) field.value = text;
}

/**
 * A row of buttons of which one is pressed.
 *
 * @param {string} label
 * @param {{value: any, text: string, testid: string, title?: string}[]} choices
 * @param {(value: any) => void} choose
 * @returns {{whole: HTMLElement, show: (value: any, refused?: Record<string, string|null>) => void}}
 */
export function makeSegments(label, choices, choose) {
  const buttons = choices.map(({ value, text, testid, title }) =>
    makeElement("button", { type: "button", "data-testid": testid, title, onclick: () => choose(value) }, text),
  );
  const whole = makeElement("div", { class: "segments", role: "group", "aria-label": label }, ...buttons);
  /** @param {any} chosen @param {Record<string, string|null>} [refused] */
  const show = (chosen, refused = {}) =>
    buttons.forEach((button, i) => {
      const { value, title } = choices[i];
      button.setAttribute("aria-pressed", String(value === chosen));
      button.disabled = Boolean(refused[value]);
      button.title = refused[value] ?? title ?? "";
    });
  return { whole, show };
}

/**
 * A line of a panel. What it is, and the field for it.
 *
 * @param {string} text
 * @param {HTMLElement} field
 * @param {string} [title]
 * @returns {HTMLElement}
 */
export function makeLine(text, field, title = "") {
  return makeElement("label", { class: "line", title }, makeElement("span", { class: "line-name" }, text), field);
}

/**
 * @param {Record<string, any>} attributes
 * @param {(on: boolean) => void} change
 * @returns {HTMLInputElement}
 */
export function tick(attributes, change) {
  const box = makeElement("input", { type: "checkbox", ...attributes });
  box.addEventListener("change", () => change(box.checked));
  return box;
}
