/** Changes that no file has yet. The browser asks before the page is left with them. */

/** @import { Store } from "poise/state/store.js" */

/** @param {Store} store */
export function keepChanges(store) {
  window.addEventListener("beforeunload", (event) => {
    const working = ["open", "opening", "lost"].includes(store.need("connection")); // else there is nothing to save it with
    if (working && store.get("state")?.unsaved) event.preventDefault();
  });
}
