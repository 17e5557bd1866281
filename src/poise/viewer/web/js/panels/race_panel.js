/**
 * Figures of racing methods, in the columns of `poise compare`. They are times, iterations, and smoothness along the
 * drag.
 */

/**
 * @import { RaceRow } from "poise/protocol/messages.ts"
 * @import { Store } from "poise/state/store.js"
 */

import { VIEW_LETTERS } from "poise/widgets/colours.js";
import { makeElement } from "poise/widgets/element.js";

/**
 * @param {Store} store
 * @returns {HTMLElement}
 */
export function makeRacePanel(store) {
  const words = makeElement("p", { class: "hint" });
  const table = makeElement("table", { class: "race-table", "data-testid": "race-table" });
  const scroll = makeElement(
    "div",
    { class: "race-scroll", tabindex: 0, role: "region", "aria-label": "Figures of the race" },
    table,
  );
  let drawn = "";
  store.on("answer", ({ race }) => {
    if (!race) return;
    const methods = (store.get("state")?.solvers ?? []).map(({ name }) => name);
    const now = JSON.stringify([race.columns, race.rows, race.reason, methods]);
    if (now === drawn) return;
    drawn = now;
    scroll.hidden = !race.rows.length;
    words.textContent =
      race.reason ?? "Of the newest 120 targets, each solved from the answer before, as `poise compare` measures.";
    table.replaceChildren(
      makeHead(race.rows, methods),
      makeElement("tbody", {}, ...race.columns.map((column, i) => makeLine(column, i, race.rows))),
    );
  });
  return makeElement("div", {}, scroll, words);
}

/**
 * A column for each method. Its letter, which is that of its view.
 * @param {RaceRow[]} rows
 * @param {string[]} methods
 */
function makeHead(rows, methods) {
  const cells = rows.map(({ refused }, view) => {
    const letter = VIEW_LETTERS[view];
    const name = methods[view] ?? "";
    const sign = makeElement("b", { class: `letter letter-${letter.toLowerCase()}`, "aria-hidden": "true" }, letter);
    const spoken = makeElement("span", { class: "unseen" }, `${letter} ${name}`);
    return makeElement("th", { scope: "col", title: refused ?? name }, sign, spoken);
  });
  return makeElement("thead", {}, makeElement("tr", {}, makeElement("td", {}), ...cells));
}

/** @param {{title: string, text: string}} column @param {number} i @param {RaceRow[]} rows */
function makeLine({ title, text }, i, rows) {
  const cells = rows.map(({ values }) => makeElement("td", {}, values[i]));
  return makeElement("tr", {}, makeElement("th", { scope: "row", title: text }, title), ...cells);
}
