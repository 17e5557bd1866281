/** Dashed lines from the pole handles to the joints they pull. The middle ones of their chains. */

/**
 * @import { Figure } from "poise/figure/figure.js"
 * @import { Handles } from "poise/handles/handles.js"
 * @import { Chain } from "poise/protocol/messages.ts"
 * @import { Palette } from "poise/stage/palette.js"
 */

import { BufferAttribute, BufferGeometry, Group, Line, LineDashedMaterial } from "three";

export class Poles {
  /** @param {Figure} figure @param {Handles} handles */
  constructor(figure, handles) {
    this.figure = figure;
    this.handles = handles;
    this.group = new Group();
    this.material = new LineDashedMaterial({ dashSize: 0.02 * figure.size, gapSize: 0.015 * figure.size });
    /** @type {{row: number, key: string, line: Line}[]} */
    this.lines = [];
  }

  /** @param {Palette} palette */
  setPalette(palette) {
    this.material.color.setHex(palette.pole);
  }

  /** @param {Chain[]} chains */
  set(chains) {
    this._clear();
    for (const chain of chains.filter(({ pole, enabled }) => pole && enabled)) {
      const row = findMiddle(this.figure, chain.joints);
      if (row === undefined) continue;
      const points = new BufferAttribute(new Float32Array(6), 3);
      const line = new Line(new BufferGeometry().setAttribute("position", points), this.material);
      line.frustumCulled = false;
      this.group.add(line);
      this.lines.push({ row, key: `pole:${chain.id}`, line });
    }
  }

  /** Bring the lines to where joints and handles are now. Called before each drawing. */
  update() {
    for (const { row, key, line } of this.lines) {
      const handle = this.handles.all.get(key);
      const points = line.geometry.attributes.position;
      if (!handle || !this.figure.ready) continue;
      points.array.set(this.figure.readPosition(row));
      points.array.set(handle.object.position.toArray(), 3);
      points.needsUpdate = true;
      line.computeLineDistances();
    }
  }

  _clear() {
    for (const { line } of this.lines) {
      line.removeFromParent();
      line.geometry.dispose();
    }
    this.lines = [];
  }

  dispose() {
    this._clear();
    this.material.dispose();
    this.group.removeFromParent();
  }
}

/**
 * The joint that a pole pulls. The one in the middle of those that move.
 * @param {Figure} figure
 * @param {string[]} names
 */
function findMiddle(figure, names) {
  const rows = names.slice(0, -1).flatMap((name) => figure.rows.get(name) ?? []);
  const moving = rows.filter((row) => figure.joints[row].kind !== "fixed");
  return moving[Math.floor(moving.length / 2)];
}
