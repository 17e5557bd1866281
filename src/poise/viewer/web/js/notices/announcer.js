/** What changes is said to screen readers, once it rests. A sentence a drag, not twelve a second. */

/** @import { Store } from "poise/state/store.js" */

import { speak } from "poise/texts/spoken.js";
import { makeElement } from "poise/widgets/element.js";

const REST = 700; // [ms] without another change

/**
 * @param {Store} store
 * @returns {HTMLElement} not seen, but read out
 */
export function makeAnnouncer(store) {
  const place = makeElement("div", { class: "unseen", role: "status", "data-testid": "announcer" });
  const waiting = new Map(); // sentences by what they are about
  /** @type {string|null} */
  let chosen = null;
  let [timer, last] = [0, ""];
  const say = () => {
    place.textContent = [...waiting.values()].join(". ");
    waiting.clear();
  };
  /** @param {string} about @param {string} sentence */
  const sayLater = (about, sentence) => {
    if (!sentence) return;
    waiting.set(about, sentence);
    clearTimeout(timer);
    timer = window.setTimeout(say, REST);
  };
  store.on("selected", (name) => {
    if (name !== chosen) sayLater("selected", name ? `${name} is chosen` : "Nothing is chosen");
    chosen = name;
  });
  store.on("answer", ({ views }) => {
    const sentence = speak(views[0]?.sentence ?? "", store.get("model")?.message.size ?? 1);
    if (sentence !== last) sayLater("answer", sentence);
    last = sentence;
  });
  return place;
}
