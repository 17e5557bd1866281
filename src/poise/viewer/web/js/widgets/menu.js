/** A button with a list under it. A click elsewhere or Esc closes it. */

import { find, makeElement } from "poise/widgets/element.js";
import { makeIcon } from "poise/widgets/icons.js";

const GAP = 4; // [px] between button and list, and from the edge of the window

/**
 * @param {{text: string, title: string, testid: string, drawing?: string}} button
 * @param {HTMLElement} list
 * @returns {HTMLElement}
 */
export function makeMenu({ text, title, testid, drawing }, list) {
  list.classList.add("menu");
  list.setAttribute("popover", "auto");
  const opener = makeElement(
    "button",
    {
      type: "button",
      class: "tool",
      title,
      "data-testid": testid,
      "aria-haspopup": "menu",
      "aria-expanded": "false",
    },
    drawing ? makeIcon(drawing) : null,
    makeElement("span", { class: "tool-text" }, text),
    makeIcon("down"),
  );
  opener.popoverTargetElement = list;
  list.addEventListener("beforetoggle", (event) =>
    opener.setAttribute("aria-expanded", String(event.newState === "open")),
  );
  list.addEventListener("toggle", (event) => event.newState === "open" && placeList(opener, list));
  list.addEventListener("keydown", (event) => walk(event, list));
  return makeElement("span", { class: "menu-place" }, opener, list);
}

/**
 * An entry that does one thing and closes the list.
 * @param {string} testid
 * @param {string} text
 * @param {string} note
 * @param {() => void} act
 */
export function makeEntry(testid, text, note, act) {
  const whole = makeElement(
    "button",
    { type: "button", class: "entry", "data-testid": testid },
    makeElement("span", { class: "entry-title" }, text),
    note ? makeElement("span", { class: "entry-note" }, note) : null,
  );
  whole.addEventListener("click", () => {
    /** @type {HTMLElement|null} */ (whole.closest("[popover]"))?.hidePopover();
    act();
  });
  return whole;
}

/** @param {HTMLElement} opener @param {HTMLElement} list */
function placeList(opener, list) {
  const at = opener.getBoundingClientRect();
  const width = list.offsetWidth;
  list.style.left = `${Math.max(GAP, Math.min(at.left, innerWidth - width - GAP))}px`;
  list.style.top = `${at.bottom + GAP}px`;
  list.style.maxHeight = `${innerHeight - at.bottom - 3 * GAP}px`;
  find("button, input", list)?.focus({ preventScroll: true });
}

/** @param {KeyboardEvent} event @param {HTMLElement} list */
function walk(event, list) {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (!step) return;
  event.preventDefault();
  const entries = /** @type {(HTMLElement|null)[]} */ ([...list.querySelectorAll("button, input")]);
  const at = entries.indexOf(/** @type {HTMLElement|null} */ (document.activeElement));
  entries[(at + step + entries.length) % entries.length]?.focus();
}
