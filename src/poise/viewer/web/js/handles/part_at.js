/** Which part of the figure is under a point of the canvas. A bone, or the skin and the joint that it follows there. */

/**
 * @import { Bones } from "poise/figure/bones.js"
 * @import { Figure } from "poise/figure/figure.js"
 * @import { Actor } from "poise/stage/actor.js"
 * @import { Camera } from "poise/stage/camera.js"
 * @import { Viewport } from "poise/stage/viewport.js"
 */

import { computeWidth } from "poise/figure/bones.js";

const BESIDE = 7; // pixels beside a bone that still hit it, where no skin is hit
const ON = 1; // pixels beside it, where skin is seen there
const IN_FRONT = 40; // pixels that a figure's size nearer to the camera is worth
const RING = 8; // places around the point that are tried where it misses the skin itself

/**
 * @typedef {object} Part
 * @property {number} row of the joint
 * @property {number} character
 * @property {number[]} point where, in rig coordinates
 *
 * @typedef {Part & {ahead: number}} Seen ahead of the camera [figure sizes]
 */

/**
 * @param {Viewport} viewport
 * @param {number} x pixels on the canvas
 * @param {number} y
 * @param {number} [around] pixels beside the skin that still hit it: a finger is no point
 * @returns {Part|null}
 */
export function findPart({ actor, view, show }, x, y, around = 0) {
  if (!actor?.figure.ready) return null;
  view.refresh();
  /** @param {number[]} point */
  const project = (point) => view.project(point);
  const bone = show.bones ? findBone(actor.bones, project, x, y) : null;
  const skin = findSkin(actor, view, x, y, around);
  if (bone === null || skin === null) return bone ?? skin;
  const over = show.through || show.skinOpacity < 1;
  return over || (bone.beside <= ON && bone.ahead < skin.ahead) ? bone : skin;
}

/**
 * The nearest bone on the screen. Thin bones are as easy to hit as thick ones.
 * @param {Bones} bones
 * @param {(point: number[]) => number[]} screen
 * @param {number} x
 * @param {number} y
 */
function findBone({ figure, struts }, screen, x, y) {
  let best = /** @type {(Seen & {beside: number, score: number})|null} */ (null);
  /**
   * @param {number} row
   * @param {number} character
   * @param {number[]} from
   * @param {number[]} to
   * @param {number} width
   */
  const meet = (row, character, from, to, width) => {
    const [head, tail] = [screen(from), screen(to)];
    if (head[2] <= 0 || tail[2] <= 0) return; // behind the camera
    const { gap, share } = measureGap(x, y, head, tail);
    const beside = Math.max(gap - width * head[3], 0);
    if (beside > BESIDE) return;
    const ahead = head[2] + share * (tail[2] - head[2]);
    const point = from.map((value, k) => value + share * (to[k] - value));
    const score = beside + IN_FRONT * ahead; // a bone in front wins over one far behind that is a little nearer
    if (best === null || score < best.score) best = { row, character, point, beside, ahead, score };
  };
  for (let c = 0; c < figure.characters; c++) {
    figure.joints.forEach((joint, row) => {
      if (joint.shown)
        meet(row, c, figure.readPosition(row, c), figure.computeTail(row, c), computeWidth(joint, figure.size));
    });
    for (const { parent, child, whole, width } of struts) {
      meet(
        parent,
        c,
        whole ? figure.readPosition(parent, c) : figure.computeTail(parent, c),
        figure.readPosition(child, c),
        width,
      );
    }
  }
  return best;
}

/**
 * The skin at a point, or at one around it.
 * @param {Actor} actor
 * @param {Camera} view
 * @param {number} x
 * @param {number} y
 * @param {number} around
 */
function findSkin({ figure, skin, surface }, view, x, y, around) {
  if (!skin.group.visible || !skin.hasMeshes) return null;
  let hit = surface.findHit(view.makeRay(x, y));
  for (let k = 0; around > 0 && hit === null && k < RING; k++) {
    const angle = (2 * Math.PI * k) / RING;
    hit = surface.findHit(view.makeRay(x + around * Math.cos(angle), y + around * Math.sin(angle)));
  }
  if (hit === null || hit.row < 0) return null;
  const point = hit.point.multiplyScalar(figure.size).toArray();
  return { row: findShownRow(figure, hit.row), character: hit.character, point, ahead: view.project(point)[2] };
}

/**
 * The nearest joint upwards that is a bone. Where none is, the joint itself.
 * @param {number} row
 * @param {Figure} figure
 */
function findShownRow(figure, row) {
  let up = row;
  while (up >= 0 && !figure.joints[up].shown) up = figure.joints[up].parent;
  return up >= 0 ? up : row;
}

/**
 * Distance of a point from a line on the screen. The second number is where along it.
 * @param {number} x
 * @param {number} y
 * @param {number[]} head
 * @param {number[]} tail
 */
function measureGap(x, y, head, tail) {
  const [across, down] = [tail[0] - head[0], tail[1] - head[1]];
  const squared = across * across + down * down;
  const along = squared > 0 ? ((x - head[0]) * across + (y - head[1]) * down) / squared : 0;
  const share = Math.min(Math.max(along, 0), 1);
  return { gap: Math.hypot(x - head[0] - share * across, y - head[1] - share * down), share };
}
