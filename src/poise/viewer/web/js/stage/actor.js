/** All that is drawn of one model. Bones, skin, ghost, axes, limits, trail, handles; made anew with each model. */

/**
 * @import { Frame } from "poise/protocol/frames.js"
 * @import { Model, Retargeting, State } from "poise/protocol/messages.ts"
 * @import { Palette } from "poise/stage/palette.js"
 * @import { Stage } from "poise/stage/stage.js"
 */

import { Axes } from "poise/figure/axes.js";
import { Bones } from "poise/figure/bones.js";
import { Figure } from "poise/figure/figure.js";
import { Limits } from "poise/figure/limits.js";
import { Loops } from "poise/figure/loops.js";
import { Skin } from "poise/figure/skin.js";
import { Surface } from "poise/figure/surface.js";
import { Trail } from "poise/figure/trail.js";
import { Handles, listWanted } from "poise/handles/handles.js";
import { Poles } from "poise/handles/poles.js";
import { Ranges } from "poise/handles/ranges.js";
import { readView } from "poise/protocol/frames.js";
import { PALETTES } from "poise/stage/palette.js";
import { SHOWN_AT_FIRST } from "poise/state/settings.js";
import { Color, Matrix4, Vector3 } from "three";

const _scale = new Matrix4();

/** What is drawn of a model, as long as nobody has chosen. */
export const SHOW = { ...SHOWN_AT_FIRST, ghost: false, trail: false, shadows: false };

export class Actor {
  /**
   * @param {Stage} stage
   * @param {Model} model
   */
  constructor(stage, model) {
    this.stage = stage;
    this.model = model;
    this.figure = new Figure(model);
    this.bones = new Bones(this.figure);
    this.start = new Figure(model);
    this.ghost = new Bones(this.start, { ghost: true });
    this.axes = new Axes(this.figure);
    this.limits = new Limits(this.figure);
    this.trail = new Trail(this.figure);
    this.handles = new Handles(this.figure);
    this.poles = new Poles(this.figure, this.handles);
    this.ranges = new Ranges(this.figure, this.handles);
    this.loops = new Loops(this.figure, model.loops ?? []);
    this.skin = new Skin(this.figure, model.nodes);
    this.surface = new Surface(this.skin);
    this.palette = PALETTES.dark;
    this.selected = -1;
    this.hovered = -1;
    /** @type {Set<number>} rows of the chains' joints */
    this.moving = new Set();
    /** @type {Set<number>} rows at an end of their limits */
    this.hit = new Set();
    /** @type {Map<number, string>} limbs of the joints of a retargeted clip */
    this.limbs = new Map();
    /** @type {[number, number[][]][]} rows, and when they exceed their bounds [s] */
    this.misses = [];
    /** @type {Set<number>} rows that do now */
    this.missed = new Set();
    this.show = { ...SHOW };
    this.resting = false; // a whole body of which nothing is pulled
    this.compared = true; // whether there is something to see beside the start pose
    stage.world.add(this.skin.group);
    stage.world.add(this.ghost.group); // behind the skin, not over it
    for (const part of [this.limits, this.ranges, this.loops, this.trail, this.handles, this.poles])
      stage.front.add(part.group);
    stage.front.add(this.axes.lines);
  }

  /** @param {Palette} palette */
  setPalette(palette) {
    this.palette = palette;
    for (const part of [this.axes, this.limits, this.ranges, this.loops, this.trail, this.poles])
      part.setPalette(palette);
    this.ghost.paint(() => new Color(palette.ghost), palette.ghost);
    this.paintBones();
  }

  /** Colour selected bones, moving ones, and those at a limit. */
  paintBones() {
    const { palette } = this;
    const plain = new Color(palette.bone);
    const colours = new Map();
    for (const row of this.moving) colours.set(row, new Color(palette.chain));
    for (const [row, limb] of this.limbs)
      colours.set(row, new Color(palette.limbs[/** @type {keyof Palette["limbs"]} */ (limb)]));
    for (const row of this.missed) colours.set(row, new Color(palette.missed));
    for (const row of this.hit) colours.set(row, new Color(palette.hit));
    if (this.selected >= 0) colours.set(this.selected, new Color(palette.selected));
    if (this.hovered >= 0) {
      const base = colours.get(this.hovered) ?? plain;
      colours.set(this.hovered, base.clone().lerp(new Color(palette.hovered), 0.5));
    }
    this.bones.paint((row) => colours.get(row) ?? plain, palette.link);
  }

  /** @param {typeof SHOW} show */
  setShow(show) {
    this.show = show;
    this.bones.group.visible = show.bones;
    this.ghost.group.visible = show.ghost && this.compared;
    this._showLimits();
    this.ranges.group.visible = show.ranges;
    this.loops.group.visible = show.loops;
    this.trail.group.visible = show.trail;
    this.axes.lines.visible = show.axes;
    this.skin.setOpacity(show.skin ? show.skinOpacity : 0);
    const over = show.through || this.limbs.size > 0; // limbs of two figures are compared by their colours
    (over ? this.stage.front : this.stage.world).add(this.bones.group); // over the skin, or inside of it
    if (this.figure.ready) this.axes.update();
  }

  /** Whether limits are seen. Those of a whole body are while a part is pulled, or a bone is selected. */
  _showLimits() {
    this.limits.group.visible = this.show.limits && (!this.resting || this.selected >= 0);
  }

  /** @param {State} state @param {Vector3} up */
  setState(state, up) {
    const chains = (state.chains ?? []).filter(({ enabled, kind }) => enabled !== false && kind !== "pin");
    const rows = chains
      .flatMap(({ joints, others = [] }) => [...joints, ...others])
      .flatMap((name) => this.figure.rows.get(name) ?? []);
    this.moving = new Set(rows);
    this.trail.setTips(chains.map(({ tip }) => tip));
    this.compared = chains.length > 0 || !state.clip; // a clip alone has no start pose that it comes from
    this.ghost.group.visible = this.show.ghost && this.compared;
    this.resting = state.scope === "body" && !state.pulled && !state.clip;
    this._showLimits();
    this.limits.set(state.outlines ?? {}, state.limits ?? {});
    if (this.figure.ready) this.limits.update();
    this._setLimbs(state.retargeting);
    this.handles.set(listWanted(state, up), state.serial, up);
    this.poles.set(state.chains ?? []);
    this.ranges.set(state.chains ?? []);
    this.paintBones();
  }

  /** @param {Retargeting|null} retargeting */
  _setLimbs(retargeting) {
    const { rows } = this.figure;
    const limbs = Object.entries(retargeting?.limbs ?? {});
    this.limbs = new Map(limbs.flatMap(([joint, limb]) => (rows.has(joint) ? [[rows.get(joint) ?? 0, limb]] : [])));
    const missed = Object.entries(retargeting?.missed ?? {});
    if (this.limbs.size) this.setShow(this.show);
    this.misses = missed.flatMap(([joint, times]) => (rows.has(joint) ? [[rows.get(joint) ?? 0, times]] : []));
  }

  /** Colour what exceeds its bound at a time of the clip. @param {number} time */
  _showMissed(time) {
    const found = this.misses.filter(([, times]) => times.some(([from, to]) => from <= time && time <= to));
    const rows = found.map(([row]) => row);
    if (rows.length === this.missed.size && rows.every((row) => this.missed.has(row))) return;
    this.missed = new Set(rows);
    this.paintBones();
  }

  /** @param {string|null} joint */
  select(joint) {
    this.selected = (joint === null ? null : this.figure.rows.get(joint)) ?? -1;
    this._showLimits();
    this.paintBones();
  }

  /** @param {string[]} names of joints at an end of their limits */
  setHit(names) {
    const rows = names.flatMap((name) => this.figure.rows.get(name) ?? []);
    const same = rows.length === this.hit.size && rows.every((row) => this.hit.has(row));
    if (same) return;
    this.hit = new Set(rows);
    this.limits.setHit(names);
    this.paintBones();
  }

  /** Show one view of a frame. @param {Frame} frame @param {number} slot */
  setFrame(frame, slot) {
    this.figure.update(readView(frame, slot), frame.width, frame.characters);
    this._showMissed(frame.time);
    this.bones.update();
    this.skin.update();
    this.axes.update();
    this.limits.update();
    this.loops.update();
    this.handles.follow();
    this.trail.update();
  }

  /** @param {Frame} frame */
  setGhost(frame) {
    this.start.update(readView(frame, 0), frame.width, frame.characters);
    this.ghost.update();
  }

  /** Places of all that is to be seen. Joints, bone ends, some of the skin, the ghost. @returns {number[][]} */
  listPoints() {
    const ghost = this.ghost.group.visible && this.start.ready ? listJoints(this.start) : [];
    return [...this.skin.listPoints(), ...this.listJoints(), ...ghost];
  }

  /** Places of all shown joints and bone ends. @returns {number[][]} */
  listJoints() {
    return listJoints(this.figure);
  }

  /** A joint, the end of its bone, and its children. @param {number} row @returns {number[][]} */
  listAround(row) {
    const { figure } = this;
    const below = figure.joints.flatMap(({ parent, shown }, child) => (parent === row && shown ? [child] : []));
    return [figure.readPosition(row), figure.computeTail(row), ...below.map((child) => figure.readPosition(child))];
  }

  /** To where it faces, by its left and right limbs; null without. @param {Vector3} up */
  findFront(up) {
    const { figure } = this;
    /** @param {string} role */
    const findRow = (role) => figure.joints.findIndex((joint) => joint.role === role);
    for (const limb of ["UpperLeg", "UpperArm"]) {
      const [left, right] = [findRow(`left${limb}`), findRow(`right${limb}`)];
      if (left < 0 || right < 0) continue;
      const across = new Vector3()
        .fromArray(figure.readPosition(left))
        .sub(new Vector3().fromArray(figure.readPosition(right)));
      const front = across.cross(up);
      if (front.length() > 1e-3 * figure.size) return front.toArray();
    }
    return null;
  }

  /** The matrix that a joint is drawn with, in rig coordinates. @param {number} row @param {number} character */
  readDrawnMatrix(row, character) {
    const drawn = this.bones.computeBallMatrix(row, character);
    if (drawn) return drawn;
    const node = this.skin.findNode(row, character);
    const { size } = this.figure;
    if (node) return node.matrixWorld.clone().premultiply(_scale.makeScale(size, size, size));
    const t = this.figure.turns.subarray(9 * (character * this.figure.count + row));
    const [x, y, z] = this.figure.readPosition(row, character);
    return new Matrix4().set(t[0], t[1], t[2], x, t[3], t[4], t[5], y, t[6], t[7], t[8], z, 0, 0, 0, 1);
  }

  dispose() {
    for (const part of [
      this.bones,
      this.ghost,
      this.axes,
      this.limits,
      this.ranges,
      this.loops,
      this.trail,
      this.poles,
      this.handles,
      this.skin,
    ])
      part.dispose();
  }
}

/** Places of shown joints, and of the ends of their bones. @param {Figure} figure */
function listJoints(figure) {
  /** @type {number[][]} */
  const found = [];
  for (let c = 0; c < figure.characters; c++) {
    figure.joints.forEach((joint, row) => {
      if (joint.shown) found.push(figure.readPosition(row, c), figure.computeTail(row, c));
    });
  }
  return found;
}
