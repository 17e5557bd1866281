/** What Poise has to say. A strip of errors and notes that goes away by itself, and the busy indicator. */

/** @import { Store } from "poise/state/store.js" */

import { makeElement } from "poise/widgets/element.js";

const SHOWN = 8000; // [ms]
const MOST = 3; // older ones make room

export class Messages {
  /** @param {HTMLElement} place */
  constructor(place) {
    this.place = place;
  }

  /**
   * @param {"error"|"note"|"done"} level
   * @param {string} text
   */
  show(level, text) {
    const same = [...this.place.children].find((child) => child.textContent === text);
    same?.remove(); // the same sentence again is shown once, anew
    const strip = makeElement(
      "button",
      {
        class: `message ${level}`,
        type: "button",
        "data-testid": "message",
        "data-level": level,
        role: level === "error" ? "alert" : "status",
        title: "Click to dismiss",
        onclick: () => strip.remove(),
      },
      text,
    );
    this.place.append(strip);
    while (this.place.children.length > MOST) this.place.firstElementChild?.remove();
    setTimeout(() => strip.remove(), SHOWN);
  }
}

/**
 * The work in progress, with its share where that is known.
 *
 * @param {Store} store
 * @returns {HTMLElement}
 */
export function makeBusyIndicator(store) {
  const text = makeElement("span", { class: "busy-text" });
  const bar = makeElement("progress", { max: 1, "aria-label": "Progress" });
  const whole = makeElement("div", { class: "busy", role: "status", "data-testid": "busy", hidden: true }, bar, text);
  store.on("busy", (busy) => {
    whole.hidden = !busy?.text || busy.cancel === true; // of a solve the view says it itself
    text.textContent = busy?.text ?? "";
    if (busy?.share === null || busy?.share === undefined) bar.removeAttribute("value");
    else bar.value = busy.share;
  });
  return whole;
}
