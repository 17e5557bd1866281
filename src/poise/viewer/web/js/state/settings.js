/** Settings, kept from one visit to the next. They are theme, gizmo, what is shown, sides, and what is folded. */

/**
 * @import { Viewport } from "poise/stage/viewport.js"
 * @import { Store } from "poise/state/store.js"
 * @import { Show, Topics } from "poise/state/topics.ts"
 */

const STORED = "poise-settings";
/** @type {(keyof Topics)[]} */
const KEPT = ["show", "gizmo", "space", "sides", "closed", "options", "themeChoice"]; // topics
const TALL = 850; // [px] a window in which the options of a solver have room

/** What is drawn at first; `through` draws the bones over the skin. Shadows: as the graphics can. @type {Show} */
export const SHOWN_AT_FIRST = {
  bones: true,
  skin: true,
  through: false,
  axes: false,
  limits: true,
  ranges: true,
  loops: true,
  ghost: true,
  trail: true,
  grid: true,
  shadows: null,
  skinOpacity: 1,
};

/** Sides that nobody has opened yet. In a frame, as in the cell of a notebook, the view has all the room at first. */
const CLOSED_AT_FIRST = { left: true, right: true };

/**
 * Put the settings into the store, and keep their changes. The theme "auto" is the system's.
 *
 * @param {Store} store
 */
export function keepSettings(store) {
  const kept = read();
  const framed = window.self !== window.top;
  store.set("show", { ...SHOWN_AT_FIRST, ...kept.show });
  store.set("gizmo", kept.gizmo === "turn" ? "turn" : "move");
  store.set("space", kept.space === "local" ? "local" : "world");
  store.set("sides", { ...kept.sides });
  store.set("closed", { ...CLOSED_AT_FIRST, ...(framed ? {} : kept.closed) });
  store.set("options", kept.options ?? innerHeight >= TALL);
  store.set("themeChoice", ["dark", "light"].includes(kept.themeChoice) ? kept.themeChoice : "auto");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const follow = () => {
    const choice = store.get("themeChoice");
    const theme = choice === "dark" || choice === "light" ? choice : dark.matches ? "dark" : "light";
    document.documentElement.dataset.theme = theme;
    if (store.get("theme") !== theme) store.set("theme", theme);
  };
  dark.addEventListener("change", follow);
  store.on("themeChoice", follow);
  store.on(KEPT, () => write(store));
}

/**
 * Where nobody has chosen, shadows are as the viewport begins. Without, where it is drawn in software.
 * @param {Store} store
 * @param {Viewport} viewport
 */
export function chooseShadows(store, viewport) {
  const show = store.need("show");
  if (show.shadows === null) store.set("show", { ...show, shadows: viewport.show.shadows });
}

/** @type {Topics["themeChoice"][]} */
const THEMES = ["auto", "dark", "light"];

/** From one theme to the next. @param {Store} store */
export function chooseNextTheme(store) {
  const at = THEMES.indexOf(store.need("themeChoice"));
  store.set("themeChoice", THEMES[(at + 1) % THEMES.length]);
}

function read() {
  try {
    return JSON.parse(localStorage.getItem(STORED) ?? "{}");
  } catch {
    return {}; // storage is off, or holds something else: the page works without
  }
}

/** @param {Store} store */
function write(store) {
  const kept = Object.fromEntries(KEPT.map((topic) => [topic, store.get(topic)]));
  try {
    localStorage.setItem(STORED, JSON.stringify(kept));
  } catch {
    // nothing is kept, nothing is broken
  }
}
