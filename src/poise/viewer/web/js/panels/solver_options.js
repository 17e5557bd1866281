/** Fields for the options of a solver, from its own description. */

/** @import { SolverOption } from "poise/protocol/messages.ts" */

import { makeElement, setOptions } from "poise/widgets/element.js";
import { makeNumberField, showNumber } from "poise/widgets/fields.js";

/** Those that matter most come first. */
const FIRST = ["iterations", "restarts", "tolerance"];
const DEFAULT = ""; // the choice that leaves an option to the solver

/**
 * @typedef {(value: any) => void} Take
 *
 * @typedef {{field: HTMLElement, show: Take}} Field
 */

export class SolverOptions {
  /**
   * @param {string} letter of the view: a or b
   * @param {(name: string, value: any) => void} change null is the default
   */
  constructor(letter, change) {
    this.letter = letter;
    this.change = change;
    this.solver = "";
    /** @type {Map<string, (value: any) => void>} */
    this.shows = new Map();
    this.whole = makeElement("div", { class: "options" });
  }

  /**
   * @param {string} solver
   * @param {SolverOption[]} options
   * @param {Record<string, any>} values that are not the defaults
   */
  show(solver, options, values) {
    const made = `${solver} ${options.length}`;
    if (made !== this.solver) {
      this.solver = made;
      this.shows.clear();
      this.whole.replaceChildren(...[...options].sort(compareWeights).map((option) => this.makeRow(option)));
    }
    for (const option of options) this.shows.get(option.name)?.(values[option.name] ?? option.default);
  }

  /** @param {SolverOption} option */
  makeRow(option) {
    const { field, show } = this.makeField(option);
    this.shows.set(option.name, show);
    const name = makeElement("span", { class: "line-name" }, option.name.replaceAll("_", " "));
    const title = option.text + (option.default === null ? "" : ` (default ${option.default})`);
    return makeElement("label", { class: "line", title }, name, field);
  }

  /** @param {SolverOption} option @returns {Field} */
  makeField(option) {
    const attributes = { "data-testid": `option-${this.letter}-${option.name}`, "aria-label": option.name };
    /** @param {any} value */
    const send = (value) => this.change(option.name, value);
    if (option.type === "truth") return makeTruthField(attributes, send);
    if (option.type === "choice") return makeChoiceField(attributes, option, send);
    const plain = option.default === null || typeof option.default === "number";
    if (option.type !== "text" && plain && !(option.nullable && option.default !== null)) {
      const placeholder = option.default === null ? "automatic" : String(option.default);
      const step = option.type === "integer" ? 1 : "any";
      const field = makeNumberField({ ...attributes, step, placeholder }, send);
      return { field, show: (value) => showNumber(field, value) };
    }
    return makeTextField(attributes, send);
  }
}

/** @param {Record<string, unknown>} attributes @param {Take} send @returns {Field} */
function makeTruthField(attributes, send) {
  const field = makeElement("input", { type: "checkbox", ...attributes, onchange: () => send(field.checked) });
  return { field, show: (value) => (field.checked = value === true) };
}

/** @param {Record<string, unknown>} attributes @param {SolverOption} option @param {Take} send @returns {Field} */
function makeChoiceField(attributes, option, send) {
  const choose = () => send(field.value === DEFAULT ? null : field.value);
  const field = makeElement("select", { ...attributes, onchange: choose });
  const none = option.nullable ? [{ value: DEFAULT, text: "automatic" }] : [];
  setOptions(field, [...none, ...(option.choices ?? []).map((each) => ({ value: each, text: each }))]);
  return { field, show: (value) => (field.value = value ?? DEFAULT) };
}

/**
 * Read names, lists and numbers, as on the command line. Numbers may be "none" or "inf".
 * @param {Record<string, unknown>} attributes
 * @param {Take} send
 * @returns {Field}
 */
function makeTextField(attributes, send) {
  const field = makeElement("input", {
    type: "text",
    autocomplete: "off",
    spellcheck: "false",
    placeholder: "automatic",
    ...attributes,
    onchange: () => send(field.value.trim() || null),
  });
  field.addEventListener("keydown", (event) => event.key === "Enter" && field.blur());
  /** @param {any} value */
  const show = (value) => {
    if (document.activeElement !== field) field.value = value === null ? "" : String(value);
  };
  return { field, show };
}

/** @param {SolverOption} a @param {SolverOption} b */
function compareWeights(a, b) {
  /** @param {SolverOption} option */
  const rankOption = ({ name }) => (FIRST.includes(name) ? FIRST.indexOf(name) : FIRST.length);
  return rankOption(a) - rankOption(b);
}
