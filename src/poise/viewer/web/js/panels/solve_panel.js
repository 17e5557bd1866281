/** What a page that solves says and asks. The answer in a line, method and limits, and the curve of errors. */

/**
 * @import { Model } from "poise/protocol/messages.ts"
 * @import { Store } from "poise/state/store.js"
 */

import { Chart } from "poise/panels/chart.js";
import { formatDistance } from "poise/texts/figures.js";
import { makeElement, setOptions } from "poise/widgets/element.js";

const LOW_ITERATIONS = 1;

/**
 * @typedef {object} Poser what the panel needs to know of what is solved
 * @property {{value: string, text: string, refusal?: string}[]} methods
 * @property {string} method
 * @property {{value: string, text: string}[]} modes
 * @property {string} mode
 * @property {{value: string, text: string}[]} [preferences] poses that answers may prefer
 * @property {string} [preference]
 * @property {string} hint what to try
 * @property {(tip: string) => import("poise/engine/race.js").Begun|null} findRace where a race for a tip begins
 * @property {(frame: number) => void} adoptFrame start at a frame of the clip
 * @property {(frame: number) => Float64Array|null} readFrame the pose of a frame of the clip
 */

export class SolvePanel {
  /**
   * @param {Store} store
   * @param {{setMethod: (name: string) => void, setMode: (name: string) => void, setPreference: (name: string) => void,
   *   reset: () => void}} commands
   */
  constructor(store, commands) {
    this.outcome = makeElement("output", { class: "solve-outcome", role: "status", "data-testid": "outcome" });
    this.method = makeChoice("Method", "method", (value) => commands.setMethod(value));
    this.mode = makeChoice("Limits", "limits", (value) => commands.setMode(value));
    this.preference = makeChoice("Prefer", "preference", (value) => commands.setPreference(value));
    this.chart = new Chart(store, () => false); // curves cost nothing here: there is nobody to tell
    this.hint = "";
    const reset = makeElement(
      "button",
      { type: "button", "data-testid": "reset", onclick: () => commands.reset() },
      "Start again",
    );
    const more = makeElement("details", { class: "solve-more", "data-testid": "solve-more" });
    more.append(
      makeElement("summary", {}, "Method and error"),
      ...[this.method.line, this.mode.line, this.preference.line, this.chart.whole, reset],
    );
    more.addEventListener("toggle", () => this.chart.draw());
    this.whole = makeElement("section", { class: "solve", "aria-label": "Solve" }, this.outcome, more);
  }

  /** @param {Poser} poser what is solved */
  fill(poser) {
    setOptions(
      this.method.select,
      poser.methods.map(({ value, text, refusal }) => ({ value, text, title: refusal ?? "" })),
    );
    poser.methods.forEach(({ refusal }, i) => (this.method.select.options[i].disabled = refusal !== undefined));
    setOptions(this.mode.select, poser.modes);
    this.method.select.value = poser.method;
    this.mode.select.value = poser.mode;
    this.method.line.hidden = poser.methods.length < 1;
    this.mode.line.hidden = poser.modes.length < 2;
    setOptions(this.preference.select, poser.preferences ?? []);
    this.preference.select.value = poser.preference ?? "";
    this.preference.line.hidden = !poser.preferences;
    this.hint = poser.hint;
  }

  /** @param {import("poise/engine/body.js").Answer} answer @param {Model} model */
  show({ status, iterations, milliseconds, left }, model) {
    this.outcome.dataset.status = status;
    if (status === "nothing") return this.say(this.hint);
    const distance = left === null ? "" : `, ${formatDistance(left, model)} left`;
    const steps = `${iterations} iteration${iterations === LOW_ITERATIONS ? "" : "s"}`;
    const words = status === "reached" ? "Reached" : "As near as it gets";
    this.say(`${words}${distance}, ${steps}, ${milliseconds.toFixed(1)} ms`);
  }

  /** @param {string} text */
  say(text) {
    this.outcome.textContent = text;
  }
}

/** @param {string} title @param {string} testid @param {(value: string) => void} act */
function makeChoice(title, testid, act) {
  const select = makeElement("select", { "data-testid": testid, onchange: () => act(select.value) });
  return {
    select,
    line: makeElement("label", { class: "line" }, makeElement("span", { class: "line-name" }, title), select),
  };
}
