/** Bones that are turned while a clip is chosen. Keyed into it at the time that is shown, if Key is on. */

/**
 * @import { Commands, Page } from "poise/commands/commands.js"
 * @import { State } from "poise/protocol/messages.ts"
 * @import { Store } from "poise/state/store.js"
 * @import { Playhead } from "poise/timeline/playhead.js"
 */

import { makeElement } from "poise/widgets/element.js";
import { makeToolButton, retitle } from "poise/widgets/tool_button.js";

const NEAR = 1e-3; // [s]

/**
 * What goes out with a turn. At its start the clip stops at a frame.
 *
 * @param {Page} page
 * @param {string} what
 * @param {string} phase
 * @returns {{key?: boolean, time?: number}}
 */
export function describeKey({ store, playhead }, what, phase) {
  const state = store.get("state");
  if (what !== "turn" || !state?.clip) return {};
  if (phase === "start" || state.playing) {
    const fps = state.clips.find(({ name }) => name === state.clip)?.fps || 60;
    playhead.seek(Math.min(Math.round(playhead.time * fps) / fps, state.duration));
  }
  return { key: store.get("keying") === true, time: playhead.time };
}

/** Key, and taking a key away. @param {Page} page @param {Commands} commands */
export function makeKeyButtons({ store, send, playhead }, commands) {
  const key = makeToolButton("key", "key", "", commands.key);
  const remove = makeToolButton("unkey", "close", "", () => send({ do: "unkey", ...findKey() }));
  const findKey = () => ({ joint: store.get("selected"), time: findKeyHere(store, playhead)?.time });
  store.on(["keying", "state"], () => {
    const on = store.get("keying") === true;
    key.disabled = !store.get("state")?.clip;
    key.setAttribute("aria-pressed", String(on));
    retitle(key, "Key (K): bones that are turned (T) are keyed into the clip at this time");
  });
  store.on(["selected", "state", "frame", "asked"], () => {
    const here = findKeyHere(store, playhead);
    remove.disabled = !here;
    retitle(remove, here ? `Remove the key of ${here.joint}` : "No key of the selected bone at this time");
  });
  return [key, remove];
}

/** @param {Store} store @param {Playhead} playhead */
function findKeyHere(store, playhead) {
  const joint = store.get("selected");
  const keys = store.get("state")?.keys ?? [];
  return keys.find((key) => key.joint === joint && Math.abs(key.time - playhead.time) < NEAR) ?? null;
}

/** A mark on the track for each key; a click goes there. @param {Page} page */
export function makeKeyMarks({ store, playhead }) {
  const whole = makeElement("div", { class: "key-marks", "data-testid": "key-marks", hidden: true });
  let shown = "";
  store.on(["state", "selected"], () => {
    const { keys = [], duration = 0 } = store.get("state") ?? {};
    const selected = store.get("selected");
    const drawn = JSON.stringify([keys, duration, selected]);
    if (drawn === shown) return;
    shown = drawn;
    whole.hidden = !keys.length;
    whole.replaceChildren(...keys.map((key) => mark(key, duration, selected, playhead)));
  });
  return whole;
}

/** @param {State["keys"][0]} of @param {number} duration @param {string|null} selected @param {Playhead} playhead */
function mark({ joint, time }, duration, selected, playhead) {
  const words = `${joint}, ${time.toFixed(2)} s`;
  const made = makeElement("button", {
    type: "button",
    class: joint === selected ? "key-mark own" : "key-mark",
    title: words,
    "aria-label": `Key of ${words}`,
    onclick: () => playhead.seek(time),
  });
  made.style.left = `${duration > 0 ? (100 * time) / duration : 0}%`;
  return made;
}
