/** Changes that no file has yet: the browser asks before the page is left with them. */

/** @param {import("poise/state/store.js").Store} store */
export function keepChanges(store) {
  window.addEventListener("beforeunload", (event) => {
    const working = ["open", "opening", "lost"].includes(store.get("connection")); // else there is nothing to save it with
    if (working && store.get("state")?.unsaved) event.preventDefault();
  });
}
