/**
 * Figures of racing methods, in the columns of `poise compare`. They are times, iterations, and smoothness along the
 * drag.
 */

/**
 * @import { RaceRow } from "poise/protocol/messages.ts"
 * @import { Store } from "poise/state/store.js"
 */

import { VIEW_LETTERS } from "poise/widgets/colours.js";
import { element } from "poise/widgets/element.js";

/**
 * @param {Store} store
 * @returns {HTMLElement}
 */
export function makeRacePanel(store) {
  const words = element("p", { class: "hint" });
  const table = element("table", { class: "race-table", "data-testid": "race-table" });
  const scroll = element(
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
      head(race.rows, methods),
      element("tbody", {}, ...race.columns.map((column, i) => line(column, i, race.rows))),
    );
  });
  return element("div", {}, scroll, words);
}

/**
 * A column for each method. Its letter, which is that of its view.
 * @param {RaceRow[]} rows
 * @param {string[]} methods
 */
function head(rows, methods) {
  const cells = rows.map(({ refused }, view) => {
    const letter = VIEW_LETTERS[view];
    const name = methods[view] ?? "";
    const sign = element("b", { class: `letter letter-${letter.toLowerCase()}`, "aria-hidden": "true" }, letter);
    const spoken = element("span", { class: "unseen" }, `${letter} ${name}`);
    return element("th", { scope: "col", title: refused ?? name }, sign, spoken);
  });
  return element("thead", {}, element("tr", {}, element("td", {}), ...cells));
}

/** @param {{title: string, text: string}} column @param {number} i @param {RaceRow[]} rows */
function line({ title, text }, i, rows) {
  const cells = rows.map(({ values }) => element("td", {}, values[i]));
  return element("tr", {}, element("th", { scope: "row", title: text }, title), ...cells);
}
