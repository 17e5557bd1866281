/** One view of the scene. What the rest of the page tells it is drawn, what is done in it is told back. */

/**
 * @import { Handle, Wanted } from "poise/handles/handles.js"
 * @import { Frame } from "poise/protocol/frames.js"
 * @import { Answer, Drag, Dragged, Model, State } from "poise/protocol/messages.ts"
 * @import { CameraState } from "poise/stage/camera.js"
 * @import { Palette } from "poise/stage/palette.js"
 * @import { Side } from "poise/stage/view_cube.js"
 * @import { Show } from "poise/state/topics.ts"
 */

import { BoneTurn } from "poise/handles/bone_turn.js";
import { Gizmo } from "poise/handles/gizmo.js";
import { Grab } from "poise/handles/grab.js";
import { LimitHandles } from "poise/handles/limit_handles.js";
import { Picking } from "poise/handles/picking.js";
import { Pull } from "poise/handles/pull.js";
import { StageKeys } from "poise/handles/stage_keys.js";
import { Actor, SHOW } from "poise/stage/actor.js";
import { Camera } from "poise/stage/camera.js";
import { Clouds } from "poise/stage/clouds.js";
import { Ground } from "poise/stage/ground.js";
import { HintRing } from "poise/stage/hint_ring.js";
import { NameLabel } from "poise/stage/name_label.js";
import { PALETTES } from "poise/stage/palette.js";
import { shine, useShadows } from "poise/stage/shadow.js";
import { Stage } from "poise/stage/stage.js";
import { findOpposite, ViewCube } from "poise/stage/view_cube.js";
import { formatDistance } from "poise/texts/figures.js";
import { makeElement } from "poise/widgets/element.js";
import { Quaternion, Vector3 } from "three";

const AROUND = 1.7; // of the distance, so that what is selected is seen where it belongs
const GIVING_ROOM = 1.02; // of the distance, in each frame in which the figure is cut

/**
 * @typedef {object} Told what the viewport tells
 * @property {number} slot 0: view A, 1: view B, and so on
 * @property {(joint: string|null) => void} onSelect
 * @property {(drag: Drag) => number} [onDrag] the serial that it is sent with; without it nothing can be dragged
 * @property {(chain: string, tip: string) => void} [onTake] a click or drag gives the gizmo to a target or pole of this
 *   chain
 * @property {(joint: string) => void} [onPin] a click on a hand or foot pins it, or lets it go
 * @property {(turns: boolean) => void} [onHold] the gizmo has got something that can be turned, or that cannot
 * @property {(state: CameraState) => void} onCamera
 * @property {(text: string) => void} [onMessage] what could not be drawn, and why
 */

export class Viewport {
  /** @param {HTMLElement} container @param {Told} told */
  constructor(container, told) {
    this.container = container;
    this.told = told;
    /** @type {Actor|null} */
    this.actor = null;
    /** @type {Actor|null} whose first frame was shown */
    this._met = null;
    /** @type {State|null} */
    this.state = null;
    /** @type {Answer|null} */
    this.answer = null;
    this.show = { ...SHOW };
    this.palette = PALETTES.dark;
    this._fresh = false; // the next frame is the first of a model or clip
    this._unsolved = false;
    this._time = 0; // of the clip, in the frame that was shown last [s]
    /** @type {string|null} */
    this._clip = null; // of that frame; null where the state of its version had not come
    this._carrier = 0; // index of the joint that the camera goes along with
    this._shape = "";
    this.stage = new Stage(container, () => this._prepareDraw());
    this.gizmo = new Gizmo(this.stage, (message) => told.onDrag?.(message) ?? 0);
    this.view = new Camera(this.stage, (state) => told.onCamera(state));
    this.gizmo.setCamera(this.view);
    this.ground = new Ground(this.stage);
    this.label = new NameLabel(container);
    this.contours =
      told.slot === 0 ? container.appendChild(makeElement("p", { class: "contours", hidden: true })) : null;
    this.cube = told.slot === 0 ? new ViewCube(container, (side) => this.lookFrom(side)) : null;
    this.ring = told.slot === 0 ? new HintRing(container) : null;
    this.bone = new BoneTurn(this);
    this.clouds = new Clouds(this.stage);
    this.limitHandles = new LimitHandles(this);
    this.pull = new Pull(this);
    this.grab = new Grab(this);
    this.picking = new Picking(this);
    this.keys = told.onDrag ? new StageKeys(this) : null;
    this.show.shadows = !this.stage.software; // drawn in software they take longer than everything else
    this.setTheme("dark");
    this.setShow({});
    this.resize();
  }

  get camera() {
    return this.view.camera;
  }

  /**
   * Show another model; what was shown of the last one goes.
   * @param {Model} model
   * @param {ArrayBuffer|null} asset its GLB
   */
  async setModel(model, asset) {
    const old = this.actor;
    const actor = new Actor(this.stage, model);
    this.actor = actor;
    this.stage.setSize(actor.figure.size);
    this.view.setUp(model.up);
    this.ground.setUp(model.up);
    this.gizmo.setHandles(actor.handles);
    old?.dispose();
    this._fresh = true;
    this._time = 0;
    this._carrier = Math.max(
      model.joints.findIndex(({ role }) => role === "hips"),
      0,
    );
    this.answer = null;
    actor.setPalette(this.palette);
    actor.setShow(this.show);
    if (asset) await this._loadSkin(actor, asset);
    this.stage.invalidate();
  }

  /** @param {Actor} actor @param {ArrayBuffer} asset */
  async _loadSkin(actor, asset) {
    try {
      await actor.skin.load(asset);
    } catch (/** @type {any} */ error) {
      this._complain(`The meshes of this file cannot be drawn: ${error.message}`);
    }
    if (actor !== this.actor) {
      actor.skin.dispose(); // another model came while this one was read
      return;
    }
    if (actor.figure.ready) actor.skin.update();
    actor.setShow(this.show);
  }

  /** @param {string} text */
  _complain(text) {
    if (this.told.onMessage) this.told.onMessage(text);
    else console.warn(text);
  }

  /**
   * @param {{id: number|null}|null} terrain the message
   * @param {ArrayBuffer|null} asset its GLB, in world coordinates
   */
  async setTerrain(terrain, asset) {
    try {
      await this.ground.setTerrain(terrain?.id != null ? asset : null);
    } catch (/** @type {any} */ error) {
      this._complain(`The terrain cannot be drawn: ${error.message}`);
    }
    this._sayContours();
    this._seeFigure();
  }

  /** At which heights the lines on the terrain are. */
  _sayContours() {
    if (!this.contours) return;
    const heights = this.ground.contours;
    this.contours.hidden = !heights;
    if (!heights) return;
    const [thin, thick] = heights.map((height) => formatDistance(height, this.actor?.model));
    this.contours.textContent = `contour lines every ${thin}, thick ones every ${thick}`;
  }

  /** Look from another side where the terrain hides the figure. A camera moved by hand stays. */
  _seeFigure() {
    const { actor, view } = this;
    if (!this.ground.terrain || !actor?.figure.ready || view.touched) return;
    const point = new Vector3().fromArray(actor.figure.readPosition(this._carrier)).divideScalar(this.stage.size);
    /** @type {Side[]} */
    const sides = ["left", "right", "back", "top"];
    for (const side of sides) {
      if (!this.ground.isHiding(this.camera.position, point)) return;
      view.lookFrom(side);
      this._fit();
      view.touched = false;
    }
  }

  /** @param {State} state */
  setState(state) {
    const pulled = state.pulled || this.state?.pulled; // a pull leaves a clip where it is, and so does its undoing
    const leaps = this.state?.clip !== state.clip && !pulled;
    if (this.state && (leaps || this.state.name !== state.name)) this._fresh = true;
    this.state = state;
    if (!this.actor) return;
    this.actor.setState(state, this.camera.up);
    this.bone.follow(state.serial);
    this.limitHandles.update();
    this.activate(this.gizmo.active);
  }

  /** Give the gizmo to a handle, or to the first target. A whole body has none by itself. @param {string|null} key */
  activate(key) {
    if (!this.actor) return;
    const { all } = this.actor.handles;
    /** @param {Handle|undefined} one */
    const isUsable = (one) => one?.enabled && one.what !== "pin" && this.told.onDrag !== undefined;
    const targets = this.state?.scope === "body" ? [] : [...all.values()].filter(({ what }) => what === "target");
    const first = targets.find(isUsable);
    this.gizmo.attach(key !== null && isUsable(all.get(key)) ? key : (first?.key ?? null));
    this.told.onHold?.(this.gizmo.turns);
    this._paintHandles();
  }

  /** Give the gizmo to a handle. @param {Wanted} handle */
  take({ key, what, id, tip }) {
    if (what !== "handle" && tip !== null) this.told.onTake?.(id, tip);
    this.activate(key);
  }

  /**
   * The chain whose target or pole the gizmo has. Nothing changes where it has one already.
   * @param {string|null} chain
   */
  activateChain(chain) {
    if (chain === null) return;
    if (this.state?.pulled === chain) return; // it follows the pointer
    const { all } = this.actor?.handles ?? {};
    const key = `target:${chain}`;
    if (all?.get(key)?.enabled && this.gizmo.handle?.id !== chain) this.activate(key);
  }

  /** Something is dragged in another view. @param {Dragged} drag @param {number} serial */
  moveHandle(drag, serial) {
    const what = drag.what === "pull" ? "target" : drag.what;
    this.actor?.handles.move(`${what}:${drag.chain ?? drag.name ?? this.state?.pulled}`, drag, serial);
    this.stage.invalidate();
  }

  /** @param {Answer} answer */
  setAnswer(answer) {
    this.answer = answer;
    const { at_limit = [], resting = [], open = [] } = this._answered ?? {};
    this.actor?.loops.setOpen(open);
    this.actor?.setHit(at_limit.filter((joint) => !resting.includes(joint))); // amber is where a limit may be in the way
    this._paintHandles();
  }

  /** How this view was solved. The first view's where it is not told yet. */
  get _answered() {
    const views = this.answer?.views ?? [];
    return views[this.told.slot] ?? views[0];
  }

  _paintHandles() {
    const told = this._answered?.status ?? "nothing";
    const status = told === "missed" ? "on_the_way" : told; // why it is missed is told at rest
    const known = /** @type {keyof Palette["status"]} */ (status in this.palette.status ? status : "nothing");
    this.actor?.handles.paint(this.palette, known, this.gizmo.active);
    this.stage.invalidate();
  }

  /** @param {Frame} frame */
  setFrame(frame) {
    if (!this.actor || frame.joints !== this.actor.figure.count) return; // of a model that is gone
    const { figure } = this.actor;
    const before = figure.ready ? figure.readPosition(this._carrier) : null;
    this.actor.setFrame(frame, this.told.slot);
    const solved = (frame.status[this.told.slot] ?? "nothing") !== "nothing";
    this.bone.follow(frame.serial);
    this.limitHandles.update();
    if (this._fresh) this._meet(this.actor);
    else if (before && this._isRunning(frame)) this._goAlong(this.actor, before);
    else if (solved && this._unsolved && !this.view.touched && this.view.isCut(this.actor.listJoints())) this._fit();
    this._time = frame.time;
    this._clip = this._findClip(frame);
    // what is shown is the pose alone: the solver is being compiled, unless it waits for a part to be pulled
    this._unsolved = !solved && this.state?.scope !== "body";
    this.stage.invalidate();
  }

  /**
   * Whether the clip of the last frame goes on in this one. A pull leaves the clip and its undoing comes back to it;
   * the camera stays.
   * @param {Frame} frame
   */
  _isRunning(frame) {
    const clip = this._findClip(frame);
    const sought = clip !== null && clip === this._clip && frame.time !== this._time;
    return (frame.playing || sought) && Boolean(this.state?.clip) && this.grab.taken === null;
  }

  /** The clip that a frame shows, as far as is known. @param {Frame} frame @returns {string|null} */
  _findClip(frame) {
    return frame.version === this.state?.version ? this.state.clip : null;
  }

  /**
   * A clip plays or is sought in. The camera follows the figure, and goes back where it stretches out of the picture.
   * @param {Actor} actor
   * @param {number[]} before
   */
  _goAlong(actor, before) {
    this.view.carry(before, actor.figure.readPosition(this._carrier));
    if (!this.view.touched && this.view.isCut(actor.listJoints())) this.view.backOff(GIVING_ROOM);
  }

  /** The first frame of a model or clip. @param {Actor} actor */
  _meet(actor) {
    this._fresh = false;
    this.ground.standUnder(actor.figure);
    actor.trail.clear();
    const same = this._met === actor;
    if (same && !this.view.isCut(actor.listJoints())) return; // of another clip that is in the picture
    this._met = actor;
    if (!same) {
      this.view.setFront(actor.findFront(this.camera.up));
      this.cube?.setSides(this.view.sides);
      this.view.lookFromFront();
    }
    this._fit();
    this._seeFigure();
  }

  /** @param {Frame} frame of the start pose */
  setGhost(frame) {
    if (!this.actor || frame.joints !== this.actor.figure.count) return;
    this.actor.setGhost(frame);
    this.stage.invalidate();
  }

  /** @param {string|null} joint */
  setSelected(joint) {
    if (!this.actor) return;
    this.actor.select(joint);
    this.limitHandles.select(joint);
    this.stage.invalidate();
  }

  /** @param {Partial<Show>} show what is left out stays */
  setShow(show) {
    const given = Object.entries(show).filter(([name, value]) => value != null && name in this.show);
    Object.assign(this.show, Object.fromEntries(given));
    this.ground.setShow(this.show);
    this._sayContours();
    useShadows(this.stage, this.show.shadows);
    this.actor?.setShow(this.show);
    this.limitHandles.update();
    this.stage.invalidate();
  }

  /** Show where to pull first, or no more. @param {boolean} on */
  setHinted(on) {
    if (this.ring) this.ring.on = on;
    this.stage.invalidate();
  }

  /** @param {"dark"|"light"} theme */
  setTheme(theme) {
    this.palette = PALETTES[theme] ?? PALETTES.dark;
    for (const part of [this.stage, this.ground, this.gizmo]) part.setPalette(this.palette);
    this.actor?.setPalette(this.palette);
    this.label.setTheme(theme);
    this._paintHandles();
  }

  /** Bring figure and targets into the picture. */
  frameAll() {
    this._fit();
    this.told.onCamera(this.view.readState());
  }

  /** Bring the selected joint into the picture, or else the gizmo's chain. */
  frameSelected() {
    const points = this._listChosen();
    if (!points.length) return this.frameAll();
    this.view.frame(points, { room: AROUND });
    this.view.touched = true; // somebody looks at this: it stays
    this.told.onCamera(this.view.readState());
  }

  /** Places of what is selected. @returns {number[][]} */
  _listChosen() {
    const { actor } = this;
    if (!actor?.figure.ready) return [];
    if (actor.selected >= 0) return actor.listAround(actor.selected);
    const { handle } = this.gizmo;
    const chain = this.state?.chains?.find(({ id }) => handle && id === handle.id);
    const rows = (chain?.joints ?? []).flatMap((name) => actor.figure.rows.get(name) ?? []);
    return handle ? [handle.object.position.toArray(), ...rows.flatMap((row) => actor.listAround(row))] : [];
  }

  /** Look from a side. Where it is looked from there already, from the other. @param {Side} side */
  lookFrom(side) {
    if (!this.actor?.figure.ready) return;
    const { touched } = this.view;
    this.view.lookFrom(this.view.side === side ? findOpposite(side) : side);
    if (!touched) this._fit();
    this.told.onCamera(this.view.readState());
  }

  _fit() {
    if (!this.actor?.figure.ready) return;
    this.stage.resize(); // a view that has just got a neighbour has not been told of its shape yet
    const { all } = this.actor.handles;
    const targets = [...all.values()].filter(({ what, enabled }) => enabled && (what === "target" || what === "pin"));
    const places = targets.map(({ object }) => object.position.toArray());
    this.view.frame(this.actor.listPoints(), { handles: this.told.onDrag ? places : [] });
  }

  /** Forget the way of the tips. */
  clearTrail() {
    this.actor?.trail.clear();
    this.stage.invalidate();
  }

  /** Fit the picture to its place. Where no hand has moved the camera and none pulls, everything is framed anew. */
  resize() {
    const shape = this.stage.measureExtent().join();
    this.stage.resize();
    if (shape !== this._shape && this._met === this.actor && !this.view.touched && !this.grab.taken) this._fit();
    this._shape = shape;
  }

  /** @returns {Promise<Blob>} PNG */
  snapshot() {
    return this.stage.snapshot();
  }

  /** Where a joint is drawn, from the matrix that is drawn. @param {number} row @returns {number[]} rig coordinates */
  readPosition(row, character = 0) {
    return new Vector3().setFromMatrixPosition(this._readDrawnMatrix(row, character)).toArray();
  }

  /** @param {number} row @param {number} character */
  _readDrawnMatrix(row, character) {
    if (!this.actor) throw new Error("no model is shown yet");
    return this.actor.readDrawnMatrix(row, character);
  }

  /** How a joint is turned, from the matrix that is drawn. @param {number} row @returns {number[]} w x y z */
  readRotation(row, character = 0) {
    const turn = new Quaternion();
    this._readDrawnMatrix(row, character).decompose(new Vector3(), turn, new Vector3());
    return [turn.w, turn.x, turn.y, turn.z];
  }

  /** @param {number[]} point rig coordinates @returns {[number, number]} pixels on the page */
  findPixels(point) {
    this.view.refresh();
    const [x, y] = this.view.project(point);
    const box = this.stage.canvas.getBoundingClientRect();
    return [box.left + x, box.top + y];
  }

  _prepareDraw() {
    this.gizmo.flush();
    this.view.fitPlanes();
    this.view.refresh();
    this.cube?.turn(this.camera);
    this.ring?.follow(this);
    this.ground.soft.follow(this.actor?.figure);
    shine(this.stage, this.view, this.actor);
    this.ground.follow(this.view.controls.target, this.camera.position.distanceTo(this.view.controls.target));
    if (!this.actor) return;
    this.actor.handles.fitToScreen((point) => this.view.project(point));
    this.actor.poles.update();
    this.actor.ranges.update();
    this.actor.loops.fitToScreen((point) => this.view.project(point), this.camera);
  }

  dispose() {
    for (const part of [
      this.picking,
      this.keys,
      this.grab,
      this.label,
      this.cube,
      this.ring,
      this.limitHandles,
      this.clouds,
      this.gizmo,
      this.actor,
      this.ground,
      this.view,
      this.stage,
    ])
      part?.dispose();
  }
}
