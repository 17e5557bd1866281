/** Ranges about targets. A box of the places that count, and arcs and cones of the turns, as limits are drawn. */

/**
 * @import { Figure } from "poise/figure/figure.js"
 * @import { Handle, Handles } from "poise/handles/handles.js"
 * @import { Chain, TargetRange } from "poise/protocol/messages.ts"
 * @import { Palette } from "poise/stage/palette.js"
 */

import { drawOutline, isLoop, makeGeometry } from "poise/figure/limits.js";
import { readFrame } from "poise/handles/handles.js";
import { DoubleSide, Group, LineBasicMaterial, LineSegments, Matrix4, Mesh, MeshBasicMaterial, Vector3 } from "three";

const TURN = 0.065; // radius of arcs and cones, of the figure's size
const THIN = 0.0025; // half of what is exact, of the figure's size: lines are rods, planes are plates
const FAR = 3; // where an infinite side is cut, of the figure's size
const FAINT = 0.3; // of the opacity: what has no end
const _size = new Vector3();

/**
 * @typedef {{lines: LineSegments, faces: Mesh}} Outline
 *
 * @typedef {{text: string, chain: Chain, box: Outline|null, turns: Outline|null}} Shown
 */

export class Ranges {
  /**
   * @param {Figure} figure
   * @param {Handles} handles
   */
  constructor(figure, handles) {
    this.figure = figure;
    this.handles = handles;
    this.group = new Group();
    this.lines = new LineBasicMaterial({ transparent: true, opacity: 0.9 });
    this.faces = new MeshBasicMaterial({ transparent: true, opacity: 0.16, side: DoubleSide, depthWrite: false });
    this.faint = { lines: this.lines.clone(), faces: this.faces.clone() };
    for (const material of Object.values(this.faint)) material.opacity *= FAINT;
    /** @type {Map<string, Shown>} by id of the chain */
    this.shown = new Map();
  }

  /** @param {Palette} palette */
  setPalette(palette) {
    for (const { lines, faces } of [this, this.faint])
      for (const each of [lines, faces]) each.color.setHex(palette.limit);
  }

  /** @param {Chain[]} chains those of the state */
  set(chains) {
    const wanted = chains.filter(({ enabled, range }) => enabled && range);
    const ids = new Set(wanted.map(({ id }) => id));
    for (const id of [...this.shown.keys()]) if (!ids.has(id)) this._remove(id);
    for (const chain of wanted) {
      const text = JSON.stringify([chain.range, chain.kind]);
      const known = this.shown.get(chain.id);
      if (known?.text === text)
        known.chain = chain; // most messages change no range
      else {
        this._remove(chain.id);
        if (chain.range) this.shown.set(chain.id, { text, chain, ...this._draw(chain.range) });
      }
    }
  }

  /** @param {TargetRange} range */
  _draw(range) {
    const exact = range.box.every(([low, high]) => low === 0 && high === 0);
    const endless = range.box.flat().includes(null);
    const box = exact ? null : this._drawBox(listCorners(range.box, this.figure.size), endless ? this.faint : this);
    const { turns } = range;
    return { box, turns: turns.length ? drawOutline(this.group, turns, turns.filter(isLoop), this) : null };
  }

  /** @param {number[][]} corners @param {{lines: LineBasicMaterial, faces: MeshBasicMaterial}} materials */
  _drawBox(corners, materials) {
    const lines = new LineSegments(makeGeometry(EDGES.map((i) => corners[i])), materials.lines);
    const faces = new Mesh(makeGeometry(FACES.map((i) => corners[i])), materials.faces);
    for (const drawn of [lines, faces]) {
      drawn.matrixAutoUpdate = false;
      drawn.frustumCulled = false;
      this.group.add(drawn);
    }
    faces.renderOrder = 1;
    lines.renderOrder = 2;
    return { lines, faces };
  }

  /** Bring the drawings to where targets and joints are now. Call before each drawing. */
  update() {
    if (!this.figure.ready) return;
    for (const { chain, box, turns } of this.shown.values()) {
      const handle = this.handles.all.get(`target:${chain.id}`);
      for (const drawn of [box, turns]) {
        if (!drawn || !handle) continue;
        const matrix = drawn === box ? this._computeBoxMatrix(chain, handle) : this._turnMatrix(handle);
        for (const each of [drawn.lines, drawn.faces]) {
          each.matrix.copy(matrix);
          each.matrixWorldNeedsUpdate = true;
        }
      }
    }
  }

  /** The axes of the turns: those of the target. @param {Handle} handle */
  _turnMatrix({ object }) {
    const size = TURN * this.figure.size;
    return new Matrix4()
      .makeRotationFromQuaternion(object.quaternion)
      .scale(_size.setScalar(size))
      .setPosition(object.position);
  }

  /**
   * The axes of a box: the target's, the world's, or the tip's. They are in the units of the joint that it is relative
   * to.
   * @param {Chain} chain
   * @param {Handle} handle
   */
  _computeBoxMatrix(chain, { object }) {
    const { figure } = this;
    const [reference, tip] = [chain.relative_to ?? "", chain.tip].map((name) => figure.rows.get(name));
    const frame = reference === undefined ? null : readFrame(figure, reference);
    const matrix = new Matrix4();
    if (chain.range?.axes === "joint" && tip !== undefined) {
      matrix.makeRotationFromQuaternion(readFrame(figure, tip).turn);
    } else if (chain.kind === "place") matrix.makeRotationFromQuaternion(object.quaternion);
    else if (frame) matrix.makeRotationFromQuaternion(frame.turn);
    if (frame) {
      const back = new Matrix4().makeRotationFromQuaternion(frame.turn.clone().invert());
      const stretch = new Matrix4().setFromMatrix3(frame.map).multiply(back);
      matrix.premultiply(stretch);
    }
    return matrix.setPosition(object.position);
  }

  /** @param {string} id */
  _remove(id) {
    const gone = this.shown.get(id);
    for (const drawn of [gone?.box, gone?.turns]) {
      for (const each of drawn ? [drawn.lines, drawn.faces] : []) {
        each.removeFromParent();
        each.geometry.dispose();
      }
    }
    this.shown.delete(id);
  }

  dispose() {
    for (const id of [...this.shown.keys()]) this._remove(id);
    for (const { lines, faces } of [this, this.faint]) for (const each of [lines, faces]) each.dispose();
    this.group.removeFromParent();
  }
}

/**
 * The eight corners. Bit k of the number is the high end of axis k.
 * @param {(number|null)[][]} box
 * @param {number} size
 */
function listCorners(box, size) {
  const ends = box.map(([low, high]) => {
    const [from, to] = [low ?? -FAR * size, high ?? FAR * size];
    const more = Math.max(THIN * size - (to - from) / 2, 0);
    return [from - more, to + more];
  });
  return Array.from({ length: 8 }, (_, i) => ends.map((pair, k) => pair[(i >> k) & 1]));
}

/** Pairs of corners that differ in one axis. */
const EDGES = [0, 1, 2].flatMap((k) =>
  [0, 1, 2, 3, 4, 5, 6, 7].filter((i) => !(i & (1 << k))).flatMap((i) => [i, i | (1 << k)]),
);

/** Two triangles for each of the six sides. */
const FACES = [0, 1, 2].flatMap((k) => {
  const [u, v] = [1 << ((k + 1) % 3), 1 << ((k + 2) % 3)];
  return [0, 1 << k].flatMap((i) => [i, i | u, i | u | v, i, i | u | v, i | v]);
});
