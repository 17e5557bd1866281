// The page: it loads kernels and scenes, and answers every drag before the next picture.

import { Kernels } from "../../src/poise/viewer/web/js/engine/kernels.js";
import { Arm } from "./arm.js";
import { Camera } from "./camera.js";
import { Painter } from "./painter.js";
import { choose, find, makeChoices, showAnswer } from "./panel.js";
import { isEmbedded, Pointer } from "./pointer.js";
import { Scene } from "./solver.js";
import { readTheme } from "./theme.js";

const WARM_UP_SOLVES = 6; // of each method, before its first drag: browsers compile what runs often
const CLOCK_SAMPLES = 40;

const decode = (id) => Uint8Array.from(atob(find(id).textContent), (letter) => letter.charCodeAt(0));

/** Measure the step of the browser's clock [ms]; browsers make it coarse on purpose. */
function measureClockStep() {
  let step = Infinity;
  for (let i = 0; i < CLOCK_SAMPLES; i++) {
    const began = performance.now();
    let now = began;
    while (now === began) now = performance.now();
    step = Math.min(step, now - began);
  }
  return step;
}

class Page {
  constructor(kernels, data, numbers) {
    this.data = data;
    this.scenes = new Map(data.scenes.map((packed) => [packed.name, new Scene(kernels, packed, numbers)]));
    this.canvas = find("view");
    this.painter = new Painter(this.canvas);
    this.camera = new Camera();
    this.theme = readTheme();
    this.clockStep = measureClockStep();
    this.method = "ccd";
    this.frames = []; // [ms] from an event to the end of its drawing
    this.arms = new Map();
    this.pointer = new Pointer(this.canvas, this);
    this.#listen();
    this.openScene(data.scenes[0].name);
  }

  #listen() {
    const entries = this.data.scenes.map(({ name, title }) => ({ value: name, title }));
    makeChoices(find("scenes"), "scene", entries, (name) => this.openScene(name));
    find("from-rest").addEventListener("change", () => this.solve());
    find("reset").addEventListener("click", () => this.openScene(this.scene.packed.name));
    find("home").addEventListener("click", () => {
      this.camera.reset();
      this.requestPicture();
    });
    new ResizeObserver(() => this.#fit()).observe(this.canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#readTheme());
    // The documentation, which has a switch for light and dark, shows this page in a frame.
    addEventListener("message", ({ data }) => {
      if (!["light", "dark", "auto"].includes(data?.theme)) return;
      document.documentElement.dataset.theme = data.theme;
      this.#readTheme();
    });
    this.canvas.addEventListener("webglcontextrestored", () => location.reload());
  }

  #readTheme() {
    this.theme = readTheme();
    this.requestPicture();
  }

  #fit() {
    this.painter.resize();
    this.camera.resize(this.canvas.clientWidth, this.canvas.clientHeight);
    this.draw();
  }

  /** Show a scene with its first target, from its rest pose. */
  openScene(name) {
    this.scene = this.scenes.get(name);
    if (!this.arms.has(name)) this.arms.set(name, new Arm(this.painter, this.scene));
    this.arm = this.arms.get(name);
    this.target = this.scene.firstTarget;
    this.q = this.scene.rest;
    this.pointer.turnsDirection = false;
    const { title, text, hint } = this.scene.packed;
    find("scene-title").textContent = title;
    find("scene-text").textContent = text;
    find("hint").textContent = hint;
    find("keys-direction").hidden = !this.hasDirection;
    choose("scene", name);
    const methods = this.data.methods.map(({ name: value, title: label }) => {
      const refusal = this.scene.refusal(value);
      return { value, title: label, note: refusal, disabled: refusal !== undefined };
    });
    makeChoices(find("methods"), "method", methods, (method) => this.chooseMethod(method));
    this.chooseMethod(this.scene.refusal(this.method) === undefined ? this.method : methods[0].value);
  }

  chooseMethod(method) {
    this.method = method;
    choose("method", method);
    for (let i = 0; i < WARM_UP_SOLVES; i++) this.scene.solve(method, this.target, this.scene.rest);
    this.q = this.scene.rest;
    this.solve();
  }

  get hasDirection() {
    return this.scene.hasDirection;
  }

  /** Solve for the target, from the last pose or from rest, and ask for a picture. */
  solve() {
    const start = find("from-rest").checked ? this.scene.rest : this.q;
    this.answer = this.scene.solve(this.method, this.target, start);
    this.q = this.answer.q;
    const limited = this.arm.findLimited(this.q).map((joint) => this.arm.joints[joint].name);
    showAnswer(this.answer, this.scene, limited, this.clockStep);
    this.requestPicture();
    return this.answer;
  }

  onTarget(target, event) {
    this.target = target;
    this.eventTime ??= event.timeStamp;
    this.solve();
  }

  onCamera() {
    this.requestPicture();
  }

  requestPicture() {
    this.picture ??= requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.picture = undefined;
    if (!this.answer) return;
    this.painter.draw(this.camera, this.arm.listParts(this.answer, this.theme), this.theme);
    if (this.eventTime === undefined) return;
    this.frames.push(performance.now() - this.eventTime);
    this.eventTime = undefined;
  }

  /** Return where a point is on the page [px]. */
  screenOf(point) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = this.camera.project(point);
    return [box.left + x, box.top + y];
  }
}

async function start() {
  const data = JSON.parse(find("poise-scenes").textContent);
  const kernels = await Kernels.load(decode("poise-kernels"));
  globalThis.page = new Page(kernels, data, decode("poise-numbers"));
  document.body.dataset.ready = "true";
  if (isEmbedded()) parent.postMessage("poise page is ready", "*");
}

start().catch((error) => {
  find("failure").hidden = false;
  find("failure").textContent = `The page cannot solve here: ${error.message}`;
  throw error;
});
