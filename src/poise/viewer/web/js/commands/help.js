/** The help sheet. The table of keys, and how the mouse works in the viewport. */

import { SHORTCUTS } from "poise/commands/shortcuts.js";
import { STAGE_KEYS } from "poise/commands/stage_keys.js";
import { makeElement } from "poise/widgets/element.js";

const POINTER = [
  ["Drag any part of a whole body", "Pull it; the body follows, pinned feet stay"],
  ["Shift + drag a part", "Turn it"],
  ["Click a hand or foot", "Pin it, or let it go"],
  ["Drag a target, an arm or a leg", "Move that target; the pose follows live"],
  ["Drag beside the figure, or Alt + drag", "Orbit"],
  ["Right drag, or Shift + drag beside the figure", "Pan"],
  ["Wheel, pinch", "Zoom"],
  ["Click a bone or the skin", "Select the joint here and in the outliner"],
  ["Drag the gizmo", "Move the target, pole or handle along an axis, or turn it"],
];

/**
 * @returns {{sheet: HTMLDialogElement, toggle: () => void}}
 */
export function makeHelpSheet() {
  const close = makeElement("button", { type: "button", class: "primary", onclick: () => sheet.close() }, "Close");
  const groups = [...Map.groupBy(SHORTCUTS, (each) => each.group)];
  const sheet = makeElement(
    "dialog",
    { class: "sheet", "data-testid": "help-sheet", "aria-label": "Help" },
    makeElement("header", {}, makeElement("h1", {}, "Keys and mouse"), close),
    makeElement(
      "div",
      { class: "sheet-columns" },
      ...groups.map(([group, shortcuts]) =>
        makeTable(
          group,
          shortcuts.map((each) => [makeKeyCaps(each.keys), each.text]),
        ),
      ),
      makeTable(
        "In the view (A)",
        STAGE_KEYS.map((each) => [makeKeyCaps(each.keys), each.text]),
      ),
      makeTable(
        "Mouse and touch",
        POINTER.map(([act, text]) => [[act], text]),
      ),
    ),
  );
  sheet.addEventListener("click", (event) => event.target === sheet && sheet.close());
  sheet.addEventListener("keydown", (event) => {
    if (!["h", "H", "?"].includes(event.key)) return;
    event.stopPropagation();
    sheet.close();
  });
  return { sheet, toggle: () => (sheet.open ? sheet.close() : sheet.showModal()) };
}

/** @param {string} title @param {[(Node|string)[], string][]} rows */
function makeTable(title, rows) {
  const lines = rows.map(([act, text]) =>
    makeElement("tr", {}, makeElement("th", { scope: "row" }, ...act), makeElement("td", {}, text)),
  );
  return makeElement("table", {}, makeElement("caption", {}, title), makeElement("tbody", {}, ...lines));
}

/** @param {string} keys */
function makeKeyCaps(keys) {
  return keys
    .split(" or ")
    .flatMap((each, i) => (i ? [" or ", makeElement("kbd", {}, each)] : [makeElement("kbd", {}, each)]));
}
