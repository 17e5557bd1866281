/** The lines over a view. Which method, how it went, how long it took, what is left. */

/** @import { Store } from "poise/state/store.js" */

import { findLengthUnit, findMedian, formatDistance } from "poise/texts/figures.js";
import { sayTime, speak } from "poise/texts/spoken.js";
import { VIEW_LETTERS } from "poise/widgets/colours.js";
import { makeElement } from "poise/widgets/element.js";

const NEWEST = 30; // solves that the median is taken over
const EVERY = 100; // [ms] between two changes of the figures: faster cannot be read

/**
 * @param {Store} store
 * @param {number} slot 0 of A, 1 of B, and so on
 * @returns {{whole: HTMLElement, forget: () => void}} forget: to be told no more
 */
export function makeCaption(store, slot) {
  const letter = VIEW_LETTERS[slot].toLowerCase();
  const method = makeElement("span", { class: "caption-method" });
  const sentence = makeElement("span", { class: "caption-sentence" }, "Drag a target.");
  const dot = makeElement("span", { class: "dot", "aria-hidden": "true" });
  const told = { class: "caption-status", "data-testid": `status-${letter}` };
  const status = makeElement("div", told, dot, sentence);
  const without = makeElement("div", { class: "caption-without", "data-testid": `without-${letter}`, hidden: true });
  const figures = makeElement("span", { class: "caption-figures", "data-testid": `time-${letter}` });
  const left = makeElement("span", { class: "caption-left", "data-testid": `left-${letter}` });
  const whole = makeElement(
    "div",
    { class: "caption", "data-slot": letter },
    makeElement(
      "div",
      { class: "caption-top" },
      makeElement("b", { class: `letter letter-${letter}` }, letter.toUpperCase()),
      method,
      figures,
      left,
    ),
    status,
    without,
  );
  /** A figure that waits for its first pull has nothing to say. */
  const hide = () => {
    const state = store.get("state");
    const waits = state?.idles === true && store.get("hinted") === true;
    whole.hidden = state?.driven === true || waits;
  };
  const ofState = store.on("state", (state) => {
    whole.classList.toggle("alone", state.views === 1);
    method.textContent = findTitle(store, state.solvers[slot]?.name);
    hide();
  });
  const ofHint = store.on("hinted", hide);
  const ofAnswer = store.on("answer", (answer) => {
    const view = answer.views[slot];
    if (!view) return;
    left.hidden = / left\b/.test(view.sentence); // it says so itself, of the same solve
    sentence.textContent = speak(view.sentence, store.get("model")?.message.size ?? 1) || "Drag a target.";
    status.title = [view.sentence, view.note].filter(Boolean).join("\n"); // with all digits
    dot.dataset.status = view.status;
    without.hidden = !view.left_out?.length;
    without.textContent = `left out: ${view.left_out?.map(({ chain }) => chain).join(", ")}`;
    without.title = view.left_out?.map(({ chain, reason }) => `${chain}: ${reason}`).join("\n") ?? "";
  });
  const ofFigures = showFigures(store, slot, figures, left);
  return { whole, forget: () => [ofState, ofHint, ofAnswer, ofFigures].forEach((each) => each()) };
}

/** @param {Store} store @param {string|undefined} name */
function findTitle(store, name) {
  return store.get("welcome")?.solvers.find((each) => each.name === name)?.title ?? name ?? "";
}

/** @param {Store} store @param {number} slot @param {HTMLElement} figures @param {HTMLElement} left */
function showFigures(store, slot, figures, left) {
  /** @type {number[]} [µs] */
  const newest = [];
  let away = NaN; // what the newest frame leaves
  let [shownAt, timer] = [0, 0];
  let method = "";
  const clear = () => {
    newest.length = 0;
    figures.textContent = figures.title = left.textContent = left.title = "";
    delete figures.dataset.newest;
  };
  const ofState = store.on("state", (state) => {
    const now = JSON.stringify([state.solvers[slot], state.mode]);
    if (now !== method) clear(); // times of another method say nothing of this one
    method = now;
  });
  const show = () => {
    [shownAt, timer] = [performance.now(), 0];
    if (!newest.length) return;
    const [middle, last] = [findMedian(newest), newest[newest.length - 1]];
    figures.textContent = `${sayTime(middle)} a solve`;
    figures.title = `median of the last ${newest.length}: ${middle} µs; the newest took ${last} µs`;
    figures.dataset.newest = String(last);
    left.textContent = Number.isFinite(away) ? `${formatDistance(away, store.get("model")?.message)} left` : "";
    left.title = Number.isFinite(away) ? `${away} ${findLengthUnit(store.get("model")?.message)}` : "";
  };
  const ofFrame = store.on("frame", (frame) => {
    if (slot >= frame.views) return; // of before this view was there
    away = frame.left[slot];
    if (frame.status[slot] === "nothing") return clear();
    if (frame.microseconds[slot] > 0) newest.push(frame.microseconds[slot]);
    if (newest.length > NEWEST) newest.shift();
    timer ||= window.setTimeout(show, Math.max(shownAt + EVERY - performance.now(), 0)); // the last of a drag, too
  });
  return () => {
    clearTimeout(timer);
    for (const forget of [ofState, ofFrame]) forget();
  };
}
