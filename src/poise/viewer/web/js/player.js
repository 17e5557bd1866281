/** The page that plays a clip without Poise. Everything that it shows is in the file itself. */

/**
 * @import { PackedBody, PackedChains, PackedRaces } from "poise/engine/packed.ts"
 * @import { Poser } from "poise/panels/solve_panel.js"
 * @import { Frame } from "poise/protocol/frames.js"
 * @import { Chain, Drag, Model, Retargeting } from "poise/protocol/messages.ts"
 * @import { Side } from "poise/stage/view_cube.js"
 * @import { Hands } from "poise/stage/views.js"
 * @import { Show } from "poise/state/topics.ts"
 */

import { letGo, listenToKeys } from "poise/commands/shortcuts.js";
import { Body } from "poise/engine/body.js";
import { Kernels } from "poise/engine/kernels.js";
import { makeShowMenu } from "poise/panels/show_menu.js";
import { makeFrame, makeState, makeViewAnswer } from "poise/protocol/own_messages.js";
import { Racing } from "poise/racing.js";
import { Solving } from "poise/solving.js";
import { Views } from "poise/stage/views.js";
import { chooseNextTheme, keepSettings } from "poise/state/settings.js";
import { Store } from "poise/state/store.js";
import { makeElement, setOptions } from "poise/widgets/element.js";
import { makeThemeButton, makeToolButton, redraw } from "poise/widgets/tool_button.js";

const SPEEDS = [0.1, 0.25, 0.5, 1, 2];

/** @param {string} id */
const findElement = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * @typedef {object} Data what the page plays
 * @property {Model} model
 * @property {number[]} times [s]
 * @property {string} title
 * @property {Chain[]} [chains]
 * @property {number} characters
 * @property {number} width numbers of a joint
 * @property {"body"|"limbs"|"chains"} scope
 * @property {Retargeting|null} [retargeting] source and target of a clip
 * @property {PackedBody|null} [body] problems of a whole body that the page solves
 * @property {PackedChains|null} [solved] problems of chains
 * @property {PackedRaces|null} [races] of methods, chain by chain
 */

class Player {
  constructor() {
    /** @type {Data} */
    const data = JSON.parse(findElement("poise-data").textContent ?? "{}");
    const { model, times, title, characters, width } = data;
    this.model = model;
    this.data = data;
    /** @type {Solving|null} */
    this.solving = null;
    /** @type {Racing|null} */
    this.racing = null;
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
    this.store.set("show", { ...this.store.need("show"), ghost: false, limits: false, trail: false });
    document.title = `${title} - Poise`;
    this.picked = makeElement("div", { class: "picked", role: "status", "data-testid": "picked", hidden: true });
    this.views = new Views(findElement("views"), this.store, this.makeHands());
    this.store.set(
      "state",
      makeState(model, { chains: data.chains ?? [], scope: data.scope, retargeting: data.retargeting ?? null }),
    );
    this.button = makeToolButton("play", "pause", "Pause (Space)", () => this.toggle());
    this.clock = makeElement("output", { class: "clock", "data-testid": "clock" });
    /** @type {HTMLInputElement} */
    this.slider = makeElement("input", {
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

  /** View A. */
  get viewport() {
    return this.views.viewports[0];
  }

  /** Whether kernels are in the file. */
  get solves() {
    return this.data.body != null || this.data.solved != null;
  }

  /** What the views report; without kernels nothing can be dragged. @returns {Hands} */
  makeHands() {
    const { store } = this;
    const onSelect = (/** @type {string|null} */ joint) => store.set("selected", joint);
    const shared = {
      onSelect,
      onMessage: console.warn,
      onCancel() {},
      onPin: (/** @type {string} */ joint) => this.pin(joint),
    };
    return this.solves || this.data.races ? { ...shared, onDrag: (drag) => this.drag(drag) } : shared;
  }

  /** @param {Drag} drag @returns {number} its serial */
  drag(drag) {
    return (this.racing?.race ? this.racing : this.solving)?.drag(drag) ?? 0;
  }

  /** @param {string} joint a hand or foot */
  pin(joint) {
    if (!this.racing?.race) this.solving?.pin(joint);
  }

  /** Pin the selected part, or let it go. A finger means its hand. */
  pinSelected() {
    const { joints } = this.model;
    const selected = joints.find(({ name }) => name === this.store.get("selected"));
    if (selected) this.pin(joints[selected.part].name);
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
    const { store, views } = this;
    this.fillToolbar(title);
    findElement("views").firstElementChild?.append(this.picked);
    store.on("selected", (joint) => {
      this.picked.hidden = joint === null;
      this.picked.textContent = joint ?? "";
    });
    if (this.moves) this.fillTimeline();
    findElement("timeline").hidden = !this.moves;
    listenToKeys({
      play: () => this.toggle(),
      scrub: (/** @type {number} */ frames) => this.step(frames),
      step: () => this.racing?.race && this.step(1),
      reset: () => this.reset(),
      race: () => this.toggleRace(),
      pin: () => this.pinSelected(),
      frameAll: () => views.frameAll(),
      frameSelected: () => views.frameSelected(),
      lookFrom: (/** @type {Side} */ side) => views.lookFrom(side),
      unselect: () => store.set("selected", null),
    });
    letGo();
  }

  /** @param {string} title */
  fillToolbar(title) {
    const { store, views } = this;
    /** @param {keyof Show} what @param {any} value */
    const show = (what, value) => store.set("show", { ...store.need("show"), [what]: value });
    const race = makeToolButton("race", "race", "Race of methods (M)", () => this.toggleRace());
    race.setAttribute("aria-pressed", "false");
    store.on("state", ({ run }) => race.setAttribute("aria-pressed", String(run === "race")));
    race.hidden = !this.data.races;
    findElement("toolbar").append(
      makeElement("b", { class: "mark" }, title),
      makeElement("span", { class: "spring" }),
      race,
      makeShowMenu(store, { show }, ["ghost", "limits", "trail"]),
      makeToolButton("frame-all", "frame", "Frame all (F)", () => views.frameAll()),
      makeThemeButton(store, () => chooseNextTheme(store)),
    );
  }

  fillTimeline() {
    const speed = makeElement("select", {
      "aria-label": "Speed",
      "data-testid": "speed",
      onchange: () => (this.speed = Number(speed.value)),
    });
    setOptions(
      speed,
      SPEEDS.map((each) => ({ value: String(each), text: `${each} x` })),
    );
    speed.value = "1";
    findElement("timeline").append(this.button, this.slider, this.clock, speed);
  }

  async start() {
    const parts = ["poise-frames", "poise-asset", "poise-terrain"];
    const [frames, asset, terrain] = await Promise.all(parts.map(unpackBytes));
    const { store, model } = this;
    this.floats = new Float32Array(frames);
    this.draw();
    const loaded = new Promise((done) => store.on("shown", done));
    store.set("model", { message: model, asset: asset.byteLength ? asset : null });
    if (terrain.byteLength) store.set("terrain", { message: { kind: "terrain", id: 1, words: null }, asset: terrain });
    await loaded;
    this.views.frameAll();
    if (this.solves || this.data.races) await this.startSolving();
    if (this.playing) this.play(true);
  }

  async startSolving() {
    const [bytes, rest] = await Promise.all(["poise-kernels", "poise-numbers"].map(unpackBytes));
    const [kernels, numbers] = [await Kernels.load(new Uint8Array(bytes)), new Uint8Array(rest)];
    const { store, model, data } = this;
    const { body = null, solved = null, races, chains = [], scope } = data;
    if (races) {
      const commands = {
        play: () => this.toggle(),
        scrub: (/** @type {number} */ n) => this.step(n),
        reset: () => this.reset(),
      };
      const findRace = (/** @type {string} */ tip) => this.findRace(tip);
      this.racing = new Racing({ store, model, races, commands, findRace }, kernels, numbers);
      findElement("timeline").append(this.racing.bar);
      findElement("views").after(this.racing.side.whole);
    }
    if (races?.opens) this.toggleRace();
    if (body || solved) {
      const onStart = (/** @type {Poser} */ poser) => this.leaveClip(poser);
      const page = { store, model, data: { body, solved, chains, scope: scope === "body" ? "limbs" : scope }, onStart };
      this.solving = new Solving(page, kernels, numbers);
      findElement("views").firstElementChild?.append(this.solving.panel.whole);
    }
    if (!races?.opens) this.showSolving();
  }

  /** Where the race for a tip begins. Null: at the pose of the rig. @param {string} tip */
  findRace(tip) {
    const { poser } = this.solving ?? {};
    if (!poser || !this.clipShown) return poser?.findRace(tip) ?? null;
    const q = poser.readFrame(this.shown);
    return q && { q, position: null };
  }

  /** What is solved is shown, or the clip. */
  showSolving() {
    if (this.clipShown) this.solving?.watch();
    else this.solving?.show();
    this.shown = -1;
    if (this.clipShown || !this.solving) this.draw();
  }

  /** Begin a race for the pulled or selected chain, or end it. */
  toggleRace() {
    const { racing, solving, store } = this;
    if (!racing) return;
    const begins = racing.race === null;
    this.play(false);
    document.body.classList.toggle("racing", begins);
    findElement("timeline").hidden = !begins && !this.moves;
    if (begins) {
      const pulled = solving?.poser instanceof Body ? solving.poser.pulled : null;
      racing.openFor(pulled?.joint ?? store.get("selected"));
      return;
    }
    racing.close();
    store.set(
      "state",
      makeState(this.model, {
        chains: this.data.chains ?? [],
        scope: this.data.scope,
        retargeting: this.data.retargeting ?? null,
      }),
    );
    this.showSolving();
  }

  /** Start again: the race, or what is solved. */
  reset() {
    if (this.racing?.race) this.racing.send({ do: "reset" });
    else this.solving?.act(() => this.solving?.poser.reset());
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
    if (this.racing?.race) return this.racing.send({ do: "race_play", on: !this.racing.race.clock.playing });
    if (!this.moves) return;
    if (!this.playing) this.returnToClip();
    this.play(!this.playing);
  }

  /** Some frames on or back. The time is that of a frame, so that none is left out. @param {number} frames */
  step(frames) {
    if (this.racing?.race) return this.racing.send({ do: "race_step", count: frames });
    const to = findFrame(this.times, this.time) + frames;
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
    const i = findFrame(this.times, this.time);
    if (i !== this.shown) this.store.set("frame", this.frame(i));
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
    const data = this.floats.subarray(i * size, (i + 1) * size);
    const values = { frame: i, time: this.times[i], playing: this.playing };
    return makeFrame(data, this.shape, [makeViewAnswer({})], values);
  }
}

/** What a script element holds, unpacked. @param {string} id @returns {Promise<ArrayBuffer>} */
async function unpackBytes(id) {
  return (await /** @type {any} */ (globalThis).unpackPart(id)).buffer; // of unpack.js
}

/** The last time that is not after this one. @param {number[]} times @param {number} time */
function findFrame(times, time) {
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
