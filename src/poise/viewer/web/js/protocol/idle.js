/**
 * A figure breathes and shifts its weight while nobody touches the page. Poise moves it; the page says when it may:
 * at once where it opens, some seconds after the last press or key, never where the system asks for less motion.
 */

/** @import { Page } from "poise/commands/commands.js" */

const QUIET = 4000; // [ms] without a press or key

/** @param {Page} page */
export function letIdle({ store, send }) {
  const reduced = matchMedia("(prefers-reduced-motion: reduce)");
  let timer = 0;
  let presses = 0; // fingers and buttons that are down
  let moves = false; // what Poise was told last
  const canIdle = () => presses === 0 && !reduced.matches && store.get("state")?.idles === true;
  const tell = (/** @type {boolean} */ on) => {
    if (store.get("connection") === "open" && store.get("state")?.idles) send({ do: "idle", on });
    moves = on;
  };
  const waitQuietly = (after = QUIET) => {
    clearTimeout(timer);
    timer = window.setTimeout(() => canIdle() && tell(true), after);
  };
  const stop = () => {
    if (moves) tell(false);
    waitQuietly();
  };
  /** @param {string} name @param {() => void} act */
  const listen = (name, act) => window.addEventListener(name, act, { capture: true });
  listen("pointerdown", () => {
    presses += 1;
    stop();
  });
  for (const name of ["pointerup", "pointercancel"])
    listen(name, () => {
      presses = Math.max(presses - 1, 0);
      waitQuietly();
    });
  listen("keydown", stop);
  listen("blur", () => (presses = 0)); // a press that ends elsewhere is not told
  reduced.addEventListener("change", stop);
  store.on("shown", () => waitQuietly(0));
}
