/** The ways of the chains' tips. The last places of each, older ones fainter. */

/**
 * @import { Figure } from "poise/figure/figure.js"
 * @import { Palette } from "poise/stage/palette.js"
 */

import { BufferAttribute, BufferGeometry, Color, DynamicDrawUsage, Group, Line, LineBasicMaterial } from "three";

const LENGTH = 240;
const STEP = 2e-4; // of the figure's size: a tip that stands still leaves no new place
const JUMP = 0.4; // of the figure's size in one frame: a clip that starts again, another pose; no way leads there

export class Trail {
  /** @param {Figure} figure */
  constructor(figure) {
    this.figure = figure;
    this.group = new Group();
    this.material = new LineBasicMaterial({ vertexColors: true, transparent: true, depthWrite: false });
    this.tips = new Map(); // row -> {line, count}
    this.colour = new Color();
  }

  /** @param {Palette} palette */
  setPalette(palette) {
    this.colour.setHex(palette.trail);
    for (const { line } of this.tips.values()) this._paint(line);
  }

  /** Whose ways are drawn. @param {string[]} names of the tips */
  setTips(names) {
    const rows = new Set(names.map((name) => this.figure.rows.get(name)).filter((row) => row !== undefined));
    for (const row of [...this.tips.keys()]) if (!rows.has(row)) this._remove(row);
    for (const row of rows) if (!this.tips.has(row)) this._add(row);
  }

  /** @param {number} row */
  _add(row) {
    /** @param {number} width */
    const makeAttribute = (width) =>
      new BufferAttribute(new Float32Array(width * LENGTH), width).setUsage(DynamicDrawUsage);
    const geometry = new BufferGeometry()
      .setAttribute("position", makeAttribute(3))
      .setAttribute("color", makeAttribute(4));
    geometry.setDrawRange(0, 0);
    const line = new Line(geometry, this.material);
    line.frustumCulled = false;
    this._paint(line);
    this.tips.set(row, { line, count: 0 });
    this.group.add(line);
  }

  /** @param {Line} line */
  _paint(line) {
    const colours = line.geometry.attributes.color;
    const { r, g, b } = this.colour;
    for (let k = 0; k < LENGTH; k++) colours.array.set([r, g, b, ((k + 1) / LENGTH) ** 1.5], 4 * k);
    colours.needsUpdate = true;
  }

  /** Add where the tips are now. The newest place is the last of the buffer, where colours are strongest. */
  update() {
    for (const [row, tip] of this.tips) {
      const at = this.figure.readPosition(row);
      const points = tip.line.geometry.attributes.position;
      const last = points.array.subarray(3 * LENGTH - 3);
      const moved = Math.hypot(at[0] - last[0], at[1] - last[1], at[2] - last[2]);
      if (tip.count > 0 && moved < STEP * this.figure.size) continue;
      if (moved > JUMP * this.figure.size) tip.count = 0;
      points.array.copyWithin(0, 3);
      points.array.set(at, 3 * LENGTH - 3);
      points.needsUpdate = true;
      tip.count = Math.min(tip.count + 1, LENGTH);
      tip.line.geometry.setDrawRange(LENGTH - tip.count, tip.count);
    }
  }

  clear() {
    for (const tip of this.tips.values()) {
      tip.count = 0;
      tip.line.geometry.setDrawRange(0, 0);
    }
  }

  /** @param {number} row */
  _remove(row) {
    const { line } = this.tips.get(row);
    line.removeFromParent();
    line.geometry.dispose();
    this.tips.delete(row);
  }

  dispose() {
    for (const row of [...this.tips.keys()]) this._remove(row);
    this.material.dispose();
    this.group.removeFromParent();
  }
}
