/** The lines over a view: which method, how it went, how long it took, what is left. */

import { element } from "poise/element.js";
import { distance, duration, median } from "poise/figures.js";

const NEWEST = 30; // solves that the median is taken over
const EVERY = 100; // [ms] between two changes of the figures: faster cannot be read

/** Codes of a pose message; an answer carries the names. */
const STATUS = ["reached", "out_of_reach", "limited", "stalled", "nothing_to_move", "refused"];

/**
 * @param {import("poise/store.js").Store} store
 * @param {number} slot 0 of A, 1 of B
 * @returns {HTMLElement}
 */
export function caption(store, slot) {
  const letter = "ab"[slot];
  const method = element("span", { class: "caption-method" });
  const sentence = element("span", { class: "caption-sentence" }, "Drag a target.");
  const dot = element("span", { class: "dot", "aria-hidden": "true" });
  const told = { class: "caption-status", role: "status", "data-testid": `status-${letter}` };
  const status = element("div", told, dot, sentence);
  const figures = element("span", { class: "caption-figures", "data-testid": `time-${letter}` });
  const left = element("span", { class: "caption-left", "data-testid": `left-${letter}` });
  const whole = element(
    "div",
    { class: "caption", "data-slot": letter },
    element(
      "div",
      { class: "caption-top" },
      element("b", { class: `letter letter-${letter}` }, letter.toUpperCase()),
      method,
      figures,
      left,
    ),
    status,
  );
  store.on("state", (state) => {
    whole.classList.toggle("alone", state.views === 1);
    method.textContent = title(store, state.solvers[slot]?.name);
    whole.hidden = state.driven;
  });
  store.on("answer", (answer) => {
    const view = answer.views[slot];
    if (!view) return;
    sentence.textContent = view.sentence || "Drag a target.";
    status.title = view.note ?? "";
    dot.dataset.status = typeof view.status === "number" ? (STATUS[view.status] ?? "nothing") : view.status;
  });
  showFigures(store, slot, figures, left);
  return whole;
}

function title(store, name) {
  return store.get("welcome")?.solvers.find((each) => each.name === name)?.title ?? name ?? "";
}

function showFigures(store, slot, figures, left) {
  const newest = [];
  let shownAt = 0;
  let method = "";
  store.on("state", (state) => {
    const now = JSON.stringify([state.solvers[slot], state.mode]);
    if (now === method) return;
    method = now;
    newest.length = 0; // times of another method say nothing of this one
    figures.textContent = "";
  });
  store.on("frame", (frame) => {
    const microseconds = frame.microseconds[slot];
    if (microseconds > 0 && frame.status[slot] !== "error") newest.push(microseconds);
    if (newest.length > NEWEST) newest.shift();
    const now = performance.now();
    left.hidden = !Number.isFinite(frame.left[slot]);
    if (now - shownAt < EVERY || !newest.length) return;
    shownAt = now;
    figures.textContent = `${duration(median(newest))} a solve`;
    figures.title = `median of the last ${newest.length}; the newest took ${duration(newest[newest.length - 1])}`;
    figures.dataset.newest = String(newest[newest.length - 1]);
    left.textContent = `${distance(frame.left[slot], store.get("model")?.message)} left`;
  });
}
