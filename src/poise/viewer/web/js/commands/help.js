/** The help sheet. The table of keys, and how the mouse works in the viewport. */

import { SHORTCUTS } from "poise/commands/shortcuts.js";
import { STAGE_KEYS } from "poise/commands/stage_keys.js";
import { element } from "poise/widgets/element.js";

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
  const close = element("button", { type: "button", class: "primary", onclick: () => sheet.close() }, "Close");
  const groups = [...Map.groupBy(SHORTCUTS, (each) => each.group)];
  const sheet = element(
    "dialog",
    { class: "sheet", "data-testid": "help-sheet", "aria-label": "Help" },
    element("header", {}, element("h1", {}, "Keys and mouse"), close),
    element(
      "div",
      { class: "sheet-columns" },
      ...groups.map(([group, shortcuts]) =>
        table(
          group,
          shortcuts.map((each) => [keyCaps(each.keys), each.text]),
        ),
      ),
      table(
        "In the view (A)",
        STAGE_KEYS.map((each) => [keyCaps(each.keys), each.text]),
      ),
      table(
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
function table(title, rows) {
  const lines = rows.map(([act, text]) =>
    element("tr", {}, element("th", { scope: "row" }, ...act), element("td", {}, text)),
  );
  return element("table", {}, element("caption", {}, title), element("tbody", {}, ...lines));
}

/** @param {string} keys */
function keyCaps(keys) {
  return keys.split(" or ").flatMap((each, i) => (i ? [" or ", element("kbd", {}, each)] : [element("kbd", {}, each)]));
}
