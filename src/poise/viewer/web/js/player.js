/** The page that plays a clip without Poise: everything that it shows is in the file itself. */

/**
 * @import { Poser } from "poise/panels/solve_panel.js"
 * @import { Frame } from "poise/protocol/frames.js"
 * @import { Chain, Model, State } from "poise/protocol/messages.ts"
 * @import { Told } from "poise/stage/viewport.js"
 * @import { Show } from "poise/state/topics.ts"
 */

import { letGo, listenToKeys } from "poise/commands/shortcuts.js";
import { showMenu } from "poise/panels/show_menu.js";
import { Solving } from "poise/solving.js";
import { Viewport } from "poise/stage/viewport.js";
import { chooseShadows, keepSettings, nextTheme } from "poise/state/settings.js";
import { Store } from "poise/state/store.js";
import { element, setOptions } from "poise/widgets/element.js";
import { redraw, themeButton, toolButton } from "poise/widgets/tool_button.js";

const SPEEDS = [0.1, 0.25, 0.5, 1, 2];

/** @param {string} id */
const at = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * @typedef {object} Data what the page plays
 * @property {Model} model
 * @property {number[]} times [s]
 * @property {string} title
 * @property {Chain[]} [chains]
 * @property {number} characters
 * @property {number} width numbers of a joint
 * @property {unknown} [body] problems of a whole body that the page solves
 * @property {unknown} [solved] problems of a chain
 */

class Player {
  constructor() {
    /** @type {Data} */
    const data = JSON.parse(at("poise-data").textContent ?? "{}");
    const { model, times, title, chains, characters, width } = data;
    this.model = model;
    this.data = data;
    /** @type {Solving|null} */
    this.solving = null;
    this.chains = chains ?? [];
    this.times = times.map((time) => time - times[0]);
    this.shape = { characters, width, joints: model.joints.length };
    this.floats = new Float32Array(0);
    this.time = 0;
    this.speed = 1;
    this.playing = this.moves;
    this.shown = -1;
    this.clipShown = times.length > 1; // until a part is pulled
    this.before = this.ticking = 0; // [ms] when the last picture was; of the next one that was asked for
    this.store = new Store();
    keepSettings(this.store);
    document.title = `${title} - Poise`;
    this.picked = element("div", { class: "picked", role: "status", "data-testid": "picked", hidden: true });
    this.canvas = element("div", { class: "view-canvas" });
    at("views").append(element("section", { class: "view" }, this.canvas, this.picked));
    this.viewport = new Viewport(this.canvas, this.hands());
    this.button = toolButton("play", "pause", "Pause (Space)", () => this.toggle());
    this.clock = element("output", { class: "clock", "data-testid": "clock" });
    /** @type {HTMLInputElement} */
    this.slider = element("input", {
      type: "range",
      class: "scrub",
      min: 0,
      max: this.seconds,
      step: "any",
      value: 0,
      "aria-label": "Time",
      "data-testid": "seek",
      oninput: () => this.seek(Number(this.slider.value)),
    });
    this.build(title);
  }

  /** Whether kernels are in the file. */
  get solves() {
    return this.data.body != null || this.data.solved != null;
  }

  /** What the view reports; without kernels nothing can be dragged. @returns {Told} */
  hands() {
    const shared = { slot: 0, onSelect: (/** @type {string|null} */ joint) => this.pick(joint), onCamera() {} };
    if (!this.solves) return shared;
    return {
      ...shared,
      onDrag: (drag) => this.solving?.drag(drag) ?? 0,
      onPin: (joint) => this.solving?.pin(joint),
    };
  }

  /** Whether there is more than one pose to play. */
  get moves() {
    return this.times.length > 1;
  }

  get seconds() {
    return this.times[this.times.length - 1];
  }

  /** @param {string} title */
  build(title) {
    chooseShadows(this.store, this.viewport);
    this.fillToolbar(title);
    if (this.moves) this.fillTimeline();
    else at("timeline").hidden = true;
    /** @param {number} frames */
    const step = (frames) => this.step(frames);
    listenToKeys({
      play: () => this.toggle(),
      scrub: step,
      frameAll: () => this.viewport.frameAll(),
      frameSelected: () => this.viewport.frameSelected(),
      lookFrom: (side) => this.viewport.lookFrom(side),
      unselect: () => this.pick(null),
    });
    letGo();
  }

  /** @param {string|null} joint */
  pick(joint) {
    this.picked.hidden = joint === null;
    this.picked.textContent = joint ?? "";
    this.viewport.setSelected(joint);
  }

  /** @param {string} title */
  fillToolbar(title) {
    const { store, viewport } = this;
    /** @param {keyof Show} what @param {any} value */
    const show = (what, value) => store.set("show", { ...store.need("show"), [what]: value });
    store.on("show", (all) => viewport.setShow({ ...all, ghost: false, limits: false, trail: false }));
    store.on("theme", (theme) => viewport.setTheme(theme));
    at("toolbar").append(
      element("b", { class: "mark" }, title),
      element("span", { class: "spring" }),
      showMenu(store, { show }, ["ghost", "limits", "trail"]),
      toolButton("frame-all", "frame", "Frame all (F)", () => viewport.frameAll()),
      themeButton(store, () => nextTheme(store)),
    );
  }

  fillTimeline() {
    const speed = element("select", {
      "aria-label": "Speed",
      "data-testid": "speed",
      onchange: () => (this.speed = Number(speed.value)),
    });
    setOptions(
      speed,
      SPEEDS.map((each) => ({ value: String(each), text: `${each} x` })),
    );
    speed.value = "1";
    at("timeline").append(this.button, this.slider, this.clock, speed);
  }

  async start() {
    const parts = ["poise-frames", "poise-asset", "poise-terrain"];
    const [frames, asset, terrain] = await Promise.all(parts.map(bytesOf));
    this.floats = new Float32Array(frames);
    await this.viewport.setModel(this.model, asset.byteLength ? asset : null);
    if (terrain.byteLength) await this.viewport.setTerrain({ id: 1 }, terrain);
    /** @type {Pick<State, "limits"|"outlines"|"handles">} */
    const nothing = { limits: {}, outlines: {}, handles: [] };
    const shown = { views: 1, name: this.model.name, clip: null, chains: this.chains, ...nothing };
    this.viewport.setState(/** @type {State} */ (shown));
    this.draw();
    this.viewport.frameAll();
    if (this.solves) await this.startSolving();
    if (this.playing) this.play(true);
  }

  async startSolving() {
    const [kernels, numbers] = await Promise.all(["poise-kernels", "poise-numbers"].map(bytesOf));
    const page = {
      store: this.store,
      viewport: this.viewport,
      model: this.model,
      data: this.data,
      onStart: (/** @type {Poser} */ poser) => this.leaveClip(poser),
    };
    this.solving = await Solving.load(page, new Uint8Array(kernels), new Uint8Array(numbers));
    at("views").firstElementChild?.append(this.solving.panel.whole);
    if (this.clipShown) this.solving.watch();
    else this.solving.show();
  }

  /** What is pulled begins at the frame that is shown. @param {Poser} poser */
  leaveClip(poser) {
    this.play(false);
    if (this.clipShown) poser.adoptFrame(this.shown);
    this.clipShown = false;
  }

  /** The clip is shown again. */
  returnToClip() {
    if (this.clipShown) return;
    this.clipShown = true;
    this.shown = -1;
    this.solving?.watch();
  }

  /** The next picture, as long as it plays. @param {number} now */
  tick(now) {
    this.ticking = 0;
    if (!this.playing) return;
    this.time = (this.time + (this.speed * (now - this.before)) / 1000) % this.seconds;
    this.before = now;
    this.draw();
    this.ticking = requestAnimationFrame((next) => this.tick(next));
  }

  /** @param {number} time */
  seek(time) {
    this.play(false);
    this.returnToClip();
    this.time = Math.min(Math.max(time, 0), this.seconds);
    this.draw();
  }

  toggle() {
    if (!this.moves) return;
    if (!this.playing) this.returnToClip();
    this.play(!this.playing);
  }

  /** Some frames on or back; the time is that of a frame, so that none is left out. @param {number} frames */
  step(frames) {
    const to = nearest(this.times, this.time) + frames;
    if (this.moves) this.seek(this.times[Math.min(Math.max(to, 0), this.times.length - 1)]);
  }

  /** @param {boolean} on */
  play(on) {
    this.playing = on;
    this.before = performance.now();
    if (on) this.ticking ||= requestAnimationFrame((now) => this.tick(now));
    if (this.button) redraw(this.button, on ? "pause" : "play", on ? "Pause (Space)" : "Play (Space)");
  }

  draw() {
    const i = nearest(this.times, this.time);
    if (i !== this.shown) this.viewport.setFrame(this.frame(i));
    this.shown = i;
    if (!this.moves) return;
    this.slider.value = String(this.time);
    const [now, all] = [this.time, this.seconds].map((seconds) => seconds.toFixed(2));
    this.clock.textContent = `${now} / ${all} s   frame ${i + 1} / ${this.times.length}`;
  }

  /** One pose, in the form in which the server sends poses. @param {number} i @returns {Frame} */
  frame(i) {
    const { characters, joints, width } = this.shape;
    const size = characters * joints * width;
    return {
      kind: "pose",
      views: 1,
      width,
      characters,
      joints,
      frame: i,
      serial: 0,
      time: this.times[i],
      status: ["nothing"],
      playing: this.playing,
      busy: false,
      iteration: 0,
      microseconds: [0],
      left: [NaN],
      iterations: [0],
      version: 0,
      data: this.floats.subarray(i * size, (i + 1) * size),
      bytes: 4 * size,
    };
  }
}

/** What a script element holds, unpacked. @param {string} id @returns {Promise<ArrayBuffer>} */
async function bytesOf(id) {
  return (await /** @type {any} */ (globalThis).unpackPart(id)).buffer; // of unpack.js
}

/** The last time that is not after this one. @param {number[]} times @param {number} time */
function nearest(times, time) {
  let [low, high] = [0, times.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (times[middle] <= time + 1e-9) low = middle;
    else high = middle - 1;
  }
  return low;
}

const player = new Player();
/** @type {any} */ (window).poise = player; // for tests
player.start();
