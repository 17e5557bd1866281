/**
 * The canvas and when it is drawn. A renderer, two scenes that are drawn one over the other, and frames on demand.
 *
 * Everything in rig coordinates hangs in `world` (or `front`, its twin in the scene drawn on top), which is scaled by
 * one over the figure's size: to three.js every figure is one unit tall, so that its own tolerances suit any file.
 */

/** @import { Palette } from "poise/stage/palette.js" */

import { DirectionalLight, Group, HemisphereLight, Object3D, PerspectiveCamera, Scene, WebGLRenderer } from "three";

const MOST_PIXELS = 2; // of the device for one of the page
const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i;

export class Stage {
  /**
   * @param {HTMLElement} container
   * @param {() => void} onDraw called before each drawing
   */
  constructor(container, onDraw) {
    this.container = container;
    this.onDraw = onDraw;
    this.scene = new Scene();
    this.overlay = new Scene();
    this.world = new Group();
    this.front = new Group();
    this.scene.add(this.world);
    this.overlay.add(this.front);
    this.lights = [addLights(this.scene, 1.7), addLights(this.overlay, 1.0)]; // bones show their facets
    this.camera = new PerspectiveCamera();
    this._fitted = ""; // extent and density that the canvas was fitted to
    this.size = 1;
    this.drawn = 0; // how many times
    this.drawing = 0; // [ms] of JavaScript that the last drawing took
    this._asked = 0;
    /** @type {HTMLElement|null} */
    this._sentence = null;
    this._lost = false;
    this._ends = new AbortController();
    this.canvas = document.createElement("canvas");
    this.canvas.className = "viewport-canvas";
    Object.assign(this.canvas.style, { display: "block", width: "100%", height: "100%", outline: "none" });
    if (getComputedStyle(container).position === "static") container.style.position = "relative";
    container.append(this.canvas);
    this.renderer = this._makeRenderer();
    this.software = this.renderer !== null && SOFTWARE.test(readName(this.renderer.getContext()));
    this._observer = new ResizeObserver(() => this.resize());
    this._observer.observe(container);
  }

  /** @returns {WebGLRenderer|null} null where this browser has no WebGL */
  _makeRenderer() {
    const context = this.canvas.getContext("webgl2", { antialias: true, powerPreference: "high-performance" });
    if (context === null) {
      this._say("This browser draws no 3D (WebGL 2 is off or missing): the picture stays empty, the panels work.");
      return null;
    }
    const renderer = new WebGLRenderer({ canvas: this.canvas, context, antialias: true });
    renderer.autoClear = false;
    renderer.setPixelRatio(Math.min(window.devicePixelRatio || 1, MOST_PIXELS));
    const { signal } = this._ends;
    this.canvas.addEventListener("webglcontextlost", (event) => this._lose(event), { signal });
    this.canvas.addEventListener("webglcontextrestored", () => this._regain(), { signal });
    return renderer;
  }

  /** @param {Event} event */
  _lose(event) {
    event.preventDefault(); // asks the browser to give it back
    this._lost = true;
    this._say("The graphics driver took the picture away; it comes back by itself when it can.");
  }

  _regain() {
    this._lost = false;
    this._say(null);
    this.invalidate();
  }

  /** Show a sentence in the middle of the picture. @param {string|null} text */
  _say(text) {
    this._sentence ??= addSentence(this.container);
    this._sentence.textContent = text ?? "";
    this._sentence.hidden = text === null;
  }

  /** Size of the figure [file units]: the unit of what is drawn. @param {number} size */
  setSize(size) {
    this.size = size;
    for (const group of [this.world, this.front]) group.scale.setScalar(1 / size);
  }

  /** @param {Palette} palette */
  setPalette(palette) {
    this.renderer?.setClearColor(palette.background, 1);
    for (const { sky } of this.lights) {
      sky.color.setHex(palette.sky);
      sky.groundColor.setHex(palette.soil);
    }
    this.invalidate();
  }

  /** Ask for a drawing at the next animation frame. */
  invalidate() {
    this._asked ||= requestAnimationFrame(() => this.draw());
  }

  /** Draw now. */
  draw() {
    cancelAnimationFrame(this._asked);
    this._asked = 0;
    const start = performance.now();
    this.onDraw();
    if (this.renderer === null || this._lost) return;
    this.renderer.clear();
    this.renderer.render(this.scene, this.camera);
    this.renderer.clearDepth();
    this.renderer.render(this.overlay, this.camera);
    this.drawn++;
    this.drawing = performance.now() - start;
  }

  /** Fit the canvas to its container. */
  resize() {
    const [width, height] = this.measureExtent();
    const asked = [width, height, window.devicePixelRatio].join();
    if (asked === this._fitted) return;
    this._fitted = asked;
    this.camera.aspect = width / height;
    this.camera.updateProjectionMatrix();
    if (this.renderer === null) return;
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio || 1, MOST_PIXELS));
    this.renderer.setSize(width, height, false);
    this.draw(); // at once: a canvas that changes its size is blank
  }

  /** Width and height [page pixels], never zero. @returns {[number, number]} */
  measureExtent() {
    return [Math.max(this.container.clientWidth, 1), Math.max(this.container.clientHeight, 1)];
  }

  /** The picture as PNG. @returns {Promise<Blob>} */
  snapshot() {
    this.draw(); // what was drawn is gone once the browser has shown it
    return new Promise((resolve, reject) => {
      /** @param {Blob|null} blob */
      const finish = (blob) => (blob ? resolve(blob) : reject(new Error("the picture could not be written")));
      this.canvas.toBlob(finish, "image/png");
    });
  }

  dispose() {
    cancelAnimationFrame(this._asked);
    this._observer.disconnect();
    this._ends.abort();
    this.renderer?.dispose();
    this.renderer?.forceContextLoss(); // a browser has room for few contexts, and collects them late
    this.canvas.remove();
    this._sentence?.remove();
  }
}

/** The name of what draws. @param {WebGLRenderingContext|WebGL2RenderingContext} context */
function readName(context) {
  const info = context.getExtension("WEBGL_debug_renderer_info");
  return String(context.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : context.RENDERER));
}

/** @param {HTMLElement} container */
function addSentence(container) {
  const element = document.createElement("p");
  element.className = "viewport-sentence";
  element.setAttribute("role", "status");
  Object.assign(element.style, { position: "absolute", inset: "40% 10% auto", textAlign: "center", margin: "0" });
  container.append(element);
  return element;
}

/** Light from the sky, and a lamp that throws the shadow. @param {Scene} scene @param {number} strength of the sky */
function addLights(scene, strength) {
  const sky = new HemisphereLight(0xffffff, 0x444444, strength);
  const lamp = new DirectionalLight(0xffffff, 2.1);
  const aim = new Object3D();
  lamp.target = aim;
  scene.add(sky, lamp, aim);
  return { sky, lamp, aim };
}
