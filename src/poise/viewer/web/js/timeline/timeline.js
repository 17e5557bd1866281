/** The clip. Which, playing or not, where in it, how fast; the ground; and which foot is down when. */

/**
 * @import { Commands, Page } from "poise/commands/commands.js"
 * @import { Send, State } from "poise/protocol/messages.ts"
 * @import { Store } from "poise/state/store.js"
 */

import { BadFrames } from "poise/timeline/bad_frames.js";
import { ContactBars } from "poise/timeline/contact_bars.js";
import { makeKeyButtons, makeKeyMarks } from "poise/timeline/keying.js";
import { makeRaceBar } from "poise/timeline/race_bar.js";
import { makeElement, setOptions } from "poise/widgets/element.js";
import { tick } from "poise/widgets/fields.js";
import { makeToolButton, redraw } from "poise/widgets/tool_button.js";

const SPEEDS = [0.1, 0.25, 0.5, 1, 1.5, 2, 4];
const NONE = "";

/**
 * @param {HTMLElement} place
 * @param {Page} page
 * @param {Commands} commands
 */
export function fillTimeline(place, page, commands) {
  const { store, send } = page;
  keepHeight(place, store); // before the parts of the timeline change it
  const player = new Player(page);
  const clip = makeElement("select", {
    "data-testid": "clip",
    "aria-label": "Clip",
    title: "Clip",
    onchange: () => send({ do: "clip", name: clip.value || null }),
  });
  const plant = tick({ "data-testid": "plant" }, (on) => send({ do: "plant", on }));
  const terrain = makeTerrainChoice(store, send);
  const contacts = new ContactBars(store);
  const bad = new BadFrames(store, (time) => page.playhead.seek(time));
  page.badFrames = bad;
  place.append(
    makeRaceBar(page, commands),
    makeElement(
      "div",
      { class: "timeline-tools" },
      makeToolButton("to-start", "start", "To the start", () => send({ do: "seek", time: 0 })),
      player.makeButton(commands.play),
      clip,
      player.speed,
      player.clock,
      ...makeKeyButtons(page, commands),
      makeElement("span", { class: "spring" }),
      makeElement(
        "label",
        { class: "check", title: "Feet stand still where they land, on this ground" },
        plant,
        "plant feet",
      ),
      terrain,
    ),
    makeElement("div", { class: "track" }, player.slider, makeKeyMarks(page), contacts.whole, bad.whole),
  );
  store.on("state", (state) => {
    setOptions(clip, [
      { value: NONE, text: state.clips.length ? "no clip" : "no clip in this rig" },
      ...state.clips.map(({ name }) => ({ value: name, text: name })),
    ]);
    clip.value = state.clip ?? NONE;
    clip.disabled = !state.clips.length;
    plant.checked = state.plant;
    plant.disabled = !state.clip;
    place.classList.toggle("still", !state.clip);
    place.classList.toggle("unused", !state.clips.length && state.terrain === null);
    place.classList.toggle("racing", state.run === "race" && !state.driven);
  });
}

/** Play, scrub, speed and the clock; time comes with each frame. */
class Player {
  /** @param {Page} page */
  constructor({ store, send, playhead }) {
    this.store = store;
    this.playhead = playhead;
    this.seconds = 0; // of the clip
    this.slider = makeElement("input", {
      type: "range",
      min: 0,
      step: "any",
      class: "scrub",
      "data-testid": "seek",
      "aria-label": "Time",
      onpointerdown: () => playhead.seek(playhead.time), // held where it is
      oninput: () => playhead.seek(Number(this.slider.value)),
    });
    this.clock = makeElement("output", { class: "clock", "data-testid": "clock" });
    this.speed = makeElement("select", {
      "data-testid": "speed",
      "aria-label": "Speed",
      title: "Speed",
      onchange: () => send({ do: "speed", value: Number(this.speed.value) }),
    });
    store.on("state", (state) => this.follow(state));
    store.on(["frame", "asked"], () => this.tell(playhead.time));
  }

  /** @param {() => void} act */
  makeButton(act) {
    const play = makeToolButton("play", "play", "Play (Space)", act);
    this.store.on("state", (state) => {
      play.disabled = !state.clip;
      play.setAttribute("aria-pressed", String(state.playing));
      redraw(play, state.playing ? "pause" : "play", state.playing ? "Pause (Space)" : "Play (Space)");
    });
    return play;
  }

  /** @param {State} state */
  follow(state) {
    this.clip = state.clips.find((each) => each.name === state.clip) ?? null;
    this.seconds = state.duration || this.clip?.seconds || 0; // planted clips may last longer
    this.slider.max = String(this.seconds || 1);
    this.slider.disabled = this.speed.disabled = !this.clip;
    const speeds = SPEEDS.includes(state.speed) ? SPEEDS : [...SPEEDS, state.speed].sort((a, b) => a - b);
    setOptions(
      this.speed,
      speeds.map((speed) => ({ value: String(speed), text: `${speed} x` })),
    );
    this.speed.value = String(state.speed);
    this.tell(this.playhead.time);
  }

  /** @param {number} time */
  tell(time) {
    if (!this.clip) {
      this.clock.textContent = "";
      this.slider.value = "0";
      return;
    }
    this.slider.value = String(time);
    const frame = Math.round(time * this.clip.fps) + 1;
    const words = `${time.toFixed(2)} / ${this.seconds.toFixed(2)} s   frame ${frame} / ${this.clip.frames}`;
    if (this.clock.textContent !== words) this.clock.textContent = words;
  }
}

/**
 * Keep the height of the timeline where a clip is left. A pull leaves it and its undoing comes back to it; the picture
 * above has one height in both, so nothing is framed anew.
 * @param {HTMLElement} place
 * @param {Store} store
 */
function keepHeight(place, store) {
  let hadClip = false;
  const release = () => {
    place.style.minHeight = "";
  };
  store.on("state", ({ clip, clips }) => {
    if (clip || !clips.length) release();
    else if (hadClip) place.style.minHeight = `${place.offsetHeight}px`;
    hadClip = Boolean(clip);
  });
  addEventListener("resize", release);
}

/** Ground of the list, or in words of one's own ("slope:12"). @param {Store} store @param {Send} send */
function makeTerrainChoice(store, send) {
  const own = "...";
  const choose = () => {
    words.hidden = select.value !== own;
    if (words.hidden) send({ do: "terrain", words: select.value || null });
    else words.focus();
  };
  const select = makeElement("select", {
    "data-testid": "terrain",
    "aria-label": "Ground",
    title: "Ground",
    onchange: choose,
  });
  const words = makeElement("input", {
    type: "text",
    class: "words",
    hidden: true,
    placeholder: "slope:12",
    "aria-label": "Ground in words",
    "data-testid": "terrain-words",
    onchange: () => words.value.trim() && send({ do: "terrain", words: words.value.trim() }),
    onkeydown: (event) => event.key === "Enter" && words.blur(),
  });
  store.on(["welcome", "state"], () => {
    const now = store.get("state")?.terrain ?? null;
    const offered = store.get("welcome")?.terrains ?? [];
    const extra = now !== null && !offered.some((each) => each.words === now) ? [{ value: now, text: now }] : [];
    setOptions(select, [
      { value: NONE, text: "no ground" },
      ...offered.map(({ words: value, title }) => ({ value, text: title })),
      ...extra,
      { value: own, text: "in words ..." },
    ]);
    if (document.activeElement === words) return;
    select.value = now ?? NONE;
    words.hidden = true;
  });
  return makeElement("span", { class: "pair" }, select, words);
}
