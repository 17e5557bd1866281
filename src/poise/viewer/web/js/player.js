/** The page that plays a clip without Poise: everything that it shows is in the file itself. */

import { letGo, listenToKeys } from "poise/commands/shortcuts.js";
import { showMenu } from "poise/panels/show_menu.js";
import { Solving } from "poise/solving.js";
import { Viewport } from "poise/stage/viewport.js";
import { chooseShadows, keepSettings, nextTheme } from "poise/state/settings.js";
import { Store } from "poise/state/store.js";
import { element, setOptions } from "poise/widgets/element.js";
import { redraw, themeButton, toolButton } from "poise/widgets/tool_button.js";

const SPEEDS = [0.1, 0.25, 0.5, 1, 2];

const at = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

class Player {
  constructor() {
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
    this.playing = times.length > 1;
    this.shown = -1;
    this.clipShown = times.length > 1; // until a part is pulled
    this.before = this.ticking = 0; // [ms] when the last picture was; of the next one that was asked for
    this.store = new Store();
    keepSettings(this.store);
    document.title = `${title} - Poise`;
    this.build(title);
  }

  /** Whether kernels are in the file. */
  get solves() {
    return this.data.body != null || this.data.solved != null;
  }

  get seconds() {
    return this.times[this.times.length - 1];
  }

  build(title) {
    const canvas = element("div", { class: "view-canvas" });
    const picked = element("div", { class: "picked", role: "status", "data-testid": "picked", hidden: true });
    const pick = (joint) => {
      picked.hidden = joint === null;
      picked.textContent = joint ?? "";
      this.viewport.setSelected(joint);
    };
    at("views").append(element("section", { class: "view" }, canvas, picked));
    const solves = this.solves;
    const hands = {
      onDrag: (drag) => this.solving?.drag(drag) ?? 0,
      onPin: (joint) => this.solving?.pin(joint),
    };
    // without kernels nothing can be dragged
    this.viewport = new Viewport(canvas, { slot: 0, onSelect: pick, onCamera() {}, ...(solves ? hands : {}) });
    chooseShadows(this.store, this.viewport);
    this.fillToolbar(title);
    if (this.times.length > 1) this.fillTimeline();
    else at("timeline").hidden = true;
    const step = (frames) => this.step(frames);
    const none = () => pick(null);
    listenToKeys({
      play: () => this.toggle(),
      scrub: step,
      frameAll: () => this.viewport.frameAll(),
      frameSelected: () => this.viewport.frameSelected(),
      lookFrom: (side) => this.viewport.lookFrom(side),
      unselect: none,
    });
    letGo();
  }

  fillToolbar(title) {
    const { store, viewport } = this;
    const show = (what, value) => store.set("show", { ...store.get("show"), [what]: value });
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
    this.button = toolButton("play", "pause", "Pause (Space)", () => this.toggle());
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
    this.clock = element("output", { class: "clock", "data-testid": "clock" });
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
    if (terrain.byteLength) await this.viewport.setTerrain({ kind: "terrain", id: 1, up: this.model.up }, terrain);
    const nothing = { limits: {}, outlines: {}, handles: [] };
    this.viewport.setState({ views: 1, name: this.model.name, clip: null, chains: this.chains, ...nothing });
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
      onStart: (poser) => this.leaveClip(poser),
    };
    this.solving = await Solving.load(page, new Uint8Array(kernels), new Uint8Array(numbers));
    at("views").firstElementChild?.append(this.solving.panel.whole);
    if (this.clipShown) this.solving.watch();
    else this.solving.show();
  }

  /** What is pulled begins at the frame that is shown. */
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

  /** The next picture, as long as it plays. */
  tick(now) {
    this.ticking = 0;
    if (!this.playing) return;
    this.time = (this.time + (this.speed * (now - this.before)) / 1000) % this.seconds;
    this.before = now;
    this.draw();
    this.ticking = requestAnimationFrame((next) => this.tick(next));
  }

  seek(time) {
    this.play(false);
    this.returnToClip();
    this.time = Math.min(Math.max(time, 0), this.seconds);
    this.draw();
  }

  toggle() {
    if (!this.button) return;
    if (!this.playing) this.returnToClip();
    this.play(!this.playing);
  }

  /** Some frames on or back; the time is that of a frame, so that none is left out. @param {number} frames */
  step(frames) {
    const to = nearest(this.times, this.time) + frames;
    if (this.button) this.seek(this.times[Math.min(Math.max(to, 0), this.times.length - 1)]);
  }

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
    if (!this.clock) return;
    this.slider.value = String(this.time);
    const [now, all] = [this.time, this.seconds].map((seconds) => seconds.toFixed(2));
    this.clock.textContent = `${now} / ${all} s   frame ${i + 1} / ${this.times.length}`;
  }

  /** One pose, in the form in which the server sends poses. */
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
      status: [null, null],
      playing: this.playing,
      busy: false,
      microseconds: [0, 0],
      left: [NaN, NaN],
      iterations: [0, 0],
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

/** The last time that is not after this one. */
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
