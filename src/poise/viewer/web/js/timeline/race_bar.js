/** The race of methods under the views. Play, step, slow motion, and which iteration is shown. */

/**
 * @import { Commands } from "poise/commands/commands.js"
 * @import { Send } from "poise/protocol/messages.ts"
 * @import { Store } from "poise/state/store.js"
 */

import { makeElement, setOptions } from "poise/widgets/element.js";
import { makeToolButton, redraw } from "poise/widgets/tool_button.js";

const SPEEDS = [1, 2, 5, 10, 30, 60]; // iterations a second
const STILL = "(prefers-reduced-motion: reduce)";

/**
 * @param {{store: Store, send: Send}} page
 * @param {Pick<Commands, "play"|"reset"|"scrub">} commands
 * @returns {HTMLElement} shown while methods race
 */
export function makeRaceBar({ store, send }, commands) {
  const play = makeToolButton("race-play", "play", "Play the race (Space)", commands.play);
  const clock = makeElement("output", { class: "clock", "data-testid": "race-clock" });
  const slider = makeElement("input", {
    type: "range",
    min: 0,
    step: 1,
    class: "scrub",
    "data-testid": "race-seek",
    "aria-label": "Iteration",
    oninput: () => send({ do: "race_seek", iteration: Number(slider.value) }),
  });
  const speed = makeSpeedChoice(store, send);
  const whole = makeElement(
    "div",
    { class: "race-bar", hidden: true, "data-testid": "race-bar" },
    makeElement(
      "div",
      { class: "timeline-tools", role: "group", "aria-label": "Race" },
      makeToolButton("race-restart", "start", "Restart the race (R)", commands.reset),
      makeToolButton("race-back", "back", "One iteration back (Left)", () => commands.scrub(-1)),
      play,
      makeToolButton("race-on", "step", "One iteration on (Right or S)", () => commands.scrub(1)),
      speed,
      clock,
    ),
    slider,
  );
  let fresh = true; // of a race that has just been opened
  store.on("state", (state) => {
    const racing = state.run === "race" && !state.driven;
    whole.hidden = !racing;
    const opens = racing && fresh;
    fresh = !racing;
    if (opens && matchMedia(STILL).matches) send({ do: "race_play", on: false }); // it waits to be played
  });
  store.on(["frame", "answer", "state"], () => {
    if (whole.hidden) return;
    const { iteration = 0, playing = false } = store.get("frame") ?? {};
    const last = store.get("answer")?.race?.last ?? 0;
    slider.max = String(Math.max(last, 1));
    slider.value = String(iteration);
    slider.setAttribute("aria-valuetext", `iteration ${iteration} of ${last}`);
    clock.textContent = `iteration ${iteration} / ${last}`;
    const pressed = String(playing);
    if (play.getAttribute("aria-pressed") === pressed) return;
    play.setAttribute("aria-pressed", pressed);
    redraw(play, playing ? "pause" : "play", playing ? "Pause the race (Space)" : "Play the race (Space)");
  });
  return whole;
}

/** @param {Store} store @param {Send} send */
function makeSpeedChoice(store, send) {
  const select = makeElement("select", {
    "data-testid": "race-speed",
    "aria-label": "Iterations a second",
    title: "Iterations a second",
    onchange: () => send({ do: "race_speed", value: Number(select.value) }),
  });
  store.on("state", ({ race }) => {
    if (!race) return;
    const speeds = SPEEDS.includes(race.speed) ? SPEEDS : [...SPEEDS, race.speed].sort((a, b) => a - b);
    setOptions(
      select,
      speeds.map((each) => ({ value: String(each), text: `${each} a second` })),
    );
    select.value = String(race.speed);
  });
  return select;
}
