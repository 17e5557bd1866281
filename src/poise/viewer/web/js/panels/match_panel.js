/** Which joint of the source moves which of the target. A row for each role. A changed row retargets anew. */

/**
 * @import { Page } from "poise/commands/commands.js"
 * @import { MatchRow, Retargeting } from "poise/protocol/messages.ts"
 */

import { makeElement, setOptions } from "poise/widgets/element.js";

const NONE = "-";
const MOST_TURN = 360; // [degrees]

/** @param {Page} page @returns {HTMLElement} */
export function makeMatchPanel(page) {
  const body = makeElement("tbody");
  const head = ["role", "from", "to", "turn", "skip"].map((title) => makeElement("th", { scope: "col" }, title));
  const table = makeElement(
    "table",
    { class: "race-table match-table", "data-testid": "match-table" },
    makeElement("thead", {}, makeElement("tr", {}, ...head)),
    body,
  );
  let drawn = "";
  page.store.on("state", ({ retargeting }) => {
    if (!retargeting) return;
    const now = JSON.stringify(retargeting.rows);
    if (now === drawn) return;
    drawn = now;
    body.replaceChildren(...retargeting.rows.map((row) => makeRow(page, row, retargeting)));
  });
  const scroll = { class: "race-scroll", tabindex: 0, role: "region", "aria-label": "Match of joints" };
  return makeElement(
    "div",
    {},
    makeElement("p", { class: "hint" }, "Change a row: the clip is retargeted anew. turn: degrees about the bone."),
    makeElement("div", scroll, table),
  );
}

/** @param {Page} page @param {MatchRow} row @param {Retargeting} retargeting */
function makeRow(page, row, { sources, targets }) {
  const { role } = row;
  const turn = makeElement("input", {
    type: "number",
    value: String(row.turn),
    min: -MOST_TURN,
    max: MOST_TURN,
    "aria-label": `turn of ${role}`,
    onchange: () => page.send({ do: "match", role, turn: Number(turn.value) }),
  });
  const skip = makeElement("input", {
    type: "checkbox",
    checked: row.skip,
    "aria-label": `skip ${role}`,
    onchange: () => page.send({ do: "match", role, skip: skip.checked }),
  });
  return makeElement(
    "tr",
    { title: row.note, "data-role": role },
    makeElement("th", { scope: "row" }, role),
    makeElement(
      "td",
      {},
      makeChoice(`from of ${role}`, sources, row.from, (from) => page.send({ do: "match", role, from })),
    ),
    makeElement(
      "td",
      {},
      makeChoice(`to of ${role}`, targets, row.to, (to) => page.send({ do: "match", role, to })),
    ),
    makeElement("td", {}, turn),
    makeElement("td", {}, skip),
  );
}

/** @param {string} label @param {string[]} names @param {string} chosen @param {(name: string) => void} choose */
function makeChoice(label, names, chosen, choose) {
  const list = makeElement("select", {
    "aria-label": label,
    onchange: () => choose(list.value === NONE ? "" : list.value),
  });
  setOptions(
    list,
    [NONE, ...names].map((name) => ({ value: name, text: name })),
  );
  list.value = chosen || NONE;
  return list;
}
