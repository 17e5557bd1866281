/** A solve that takes long. What goes on, under the answer that it will replace, and a button that gives it up. */

/** @import { Store } from "poise/state/store.js" */

import { makeElement } from "poise/widgets/element.js";

/**
 * @param {Store} store
 * @param {() => void} cancel
 * @returns {{whole: HTMLElement, forget: () => void}} forget: to be told no more
 */
export function makeBusySign(store, cancel) {
  const text = makeElement("span", {});
  const bar = makeElement("progress", { "aria-label": "Solving" });
  const give = {
    type: "button",
    "data-testid": "cancel",
    title: "Give it up: the answer before stays",
    onclick: cancel,
  };
  const whole = makeElement(
    "div",
    { class: "busy-sign", role: "status", "data-testid": "busy-sign", hidden: true },
    bar,
    text,
    makeElement("button", give, "Cancel"),
  );
  const forget = store.on(["busy", "connection"], () => {
    const busy = store.get("busy");
    const waits = busy?.cancel === true && store.get("connection") === "open";
    whole.hidden = !waits;
    text.textContent = waits ? busy.text : "";
    document.body.classList.toggle("waiting", waits && store.get("answer") !== null); // what is shown is the one before
  });
  return { whole, forget };
}
