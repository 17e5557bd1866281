/** One line on the stage: what to try in this scene. It goes when somebody has done something. */

/** @import { Store } from "poise/state/store.js" */

import { makeElement } from "poise/widgets/element.js";

/**
 * The line; `hinted` in the store says whether it is seen.
 * @param {Store} store
 * @returns {HTMLElement}
 */
export function makeHint(store) {
  const line = makeElement("p", { class: "stage-hint", role: "status", "data-testid": "hint", hidden: true });
  /** @type {string|null} */
  let scene = null;
  /** @type {string|null} that would be undone when the scene had just opened */
  let step = null;
  let done = false;
  const show = () => {
    const state = store.get("state");
    if (!state) return;
    if (state.scene !== scene) [scene, step, done] = [state.scene, state.undo, false];
    done ||= state.undo !== step;
    const drawn = store.get("shown") !== null && store.get("shown") === store.get("model")?.message.id;
    const words = store.get("welcome")?.scenes.find(({ name }) => name === scene)?.hint ?? "";
    const open = words !== "" && drawn && !done;
    line.textContent = open ? words : "";
    line.hidden = !open;
    if (store.get("hinted") !== open) store.set("hinted", open);
  };
  store.on(["state", "shown"], show);
  store.on("dragged", () => {
    done = true;
    show();
  });
  return line;
}
