// Parts of an arm and of its target: shapes made once for a scene, placed by each answer.

import {
  add,
  alignY,
  cross,
  dot,
  fromAxes,
  fromMap,
  getOrigin,
  length,
  normalise,
  rotate,
  scale,
  subtract,
} from "./matrices.js";
import { chooseZero, makeBone, makeBox, makeCone, makeCylinder, makeRange, makeSphere, moveShape } from "./shapes.js";

const [BASE_RADIUS, TIP_RADIUS] = [0.054, 0.03]; // [m] of the first and the last bone
const RANGE_RADII = [0.125, 0.165]; // [m]
const AT_LIMIT = 1e-3; // [rad] to the end of a range
const TARGET_HALF = 0.042; // [m]
export const ARROW_LENGTH = 0.26; // [m] of the direction's arrow, to its knob
const FULL_TURN = 2 * Math.PI;

export class Arm {
  constructor(painter, scene) {
    this.painter = painter;
    this.scene = scene;
    this.joints = scene.packed.joints;
    this.showsRanges = scene.packed.name === "ccd_hinge_range";
    this.bodies = []; // {shape, joint, colour}
    this.ranges = []; // {shape, needle, joint}
    this.#buildStand();
    this.joints.forEach((_, i) => this.#buildJoint(i));
    this.target = painter.upload(makeBox(TARGET_HALF, 0.012));
    this.thread = painter.upload(makeCylinder(1, 0, 1, 0.001));
    this.mark = painter.upload(makeRange([0, 1, 0], [0, 0, 1], [0, FULL_TURN], 0.026, 0.034));
    this.arrow = painter.upload(
      joinShapes(
        makeCylinder(0.009, 0, ARROW_LENGTH, 0.004),
        makeCone(0.027, ARROW_LENGTH - 0.13, ARROW_LENGTH - 0.055),
      ),
    );
    this.knob = painter.upload(moveShape(makeSphere(0.034), alignY([0, 1, 0], [0, ARROW_LENGTH, 0])));
  }

  #add(joint, shape, colour, options = {}) {
    this.bodies.push({ joint, shape: this.painter.upload(shape), colour, ...options });
  }

  /** Return the origin of a joint's child in the joint's frame; undefined at the end. */
  #findEnd(joint) {
    const child = this.joints.findIndex(({ parent }) => parent === joint);
    if (child < 0) return undefined;
    this.restMaps ??= this.scene.computeMaps(this.scene.rest).map(fromMap);
    const offset = subtract(getOrigin(this.restMaps[child]), getOrigin(this.restMaps[joint]));
    const matrix = this.restMaps[joint];
    return [0, 1, 2].map((i) => dot(offset, [matrix[4 * i], matrix[4 * i + 1], matrix[4 * i + 2]]));
  }

  #buildStand() {
    const height = this.#findEnd(0)[1];
    this.#add(0, makeCylinder(0.17, 0, 0.028, 0.012), "stand", { gloss: 0.3 });
    this.#add(0, makeCylinder(0.085, 0.02, height - 0.02, 0.02), "stand", { gloss: 0.3 });
  }

  #buildJoint(i) {
    const { moves, axis, range } = this.joints[i];
    if (!moves) return;
    const moving = this.joints.filter((joint) => joint.moves).length;
    const number = this.joints.slice(0, i).filter((joint) => joint.moves).length;
    const radiusAt = (k) => BASE_RADIUS + ((TIP_RADIUS - BASE_RADIUS) * k) / moving;
    const [radius, endRadius] = [radiusAt(number), radiusAt(number + 1)];
    const end = this.#findEnd(i);
    const isLast = number + 1 === moving;
    if (isLast && this.scene.hasDirection) this.#buildTool(i, end, radius);
    else {
      this.#add(i, moveShape(makeBone(radius * 0.8, endRadius * 0.72, length(end)), alignY(end, [0, 0, 0])), "bone");
      if (isLast) this.#add(i, moveShape(makeSphere(endRadius * 1.05), alignY([0, 1, 0], end)), "tool");
    }
    if (axis === null) this.#add(i, makeSphere(radius * 1.16), "joint");
    else this.#buildHinge(i, axis, end, radius);
    if (range !== null) this.#buildRange(i, axis, end, range);
  }

  /** Build a pointed tool, so its direction is seen. */
  #buildTool(i, end, radius) {
    const size = length(end);
    const shape = joinShapes(
      makeBone(radius * 0.8, radius * 0.6, size * 0.35),
      moveShape(makeCylinder(radius * 0.95, size * 0.36, size * 0.5, 0.006), alignY([0, 1, 0], [0, 0, 0])),
    );
    this.#add(i, moveShape(shape, alignY(end, [0, 0, 0])), "bone");
    this.#add(i, moveShape(makeCone(radius * 0.72, size * 0.48, size), alignY(end, [0, 0, 0])), "tool");
  }

  /** Build a hinge: a drum about its axis, or a collar where the axis is the bone. */
  #buildHinge(i, axis, end, radius) {
    const isCollar = Math.abs(dot(normalise(axis), normalise(end))) > 0.9;
    const half = isCollar ? radius * 0.55 : radius * 1.3;
    const frame = alignY(axis, [0, 0, 0]);
    const drum = makeCylinder(radius * (isCollar ? 1.4 : 1.12), -half, half, radius * 0.22);
    this.#add(i, moveShape(drum, frame), "joint");
    if (!isCollar) {
      const cap = makeCylinder(radius * 0.55, -half * 1.14, half * 1.14, radius * 0.1);
      this.#add(i, moveShape(cap, frame), "stand");
    }
  }

  #buildRange(i, axis, end, range) {
    const unit = normalise(axis);
    const zero = chooseZero(unit, end);
    const [inner, outer] = RANGE_RADII;
    const needle = moveShape(makeCylinder(0.006, 0, outer + 0.012, 0.003), alignY(zero, [0, 0, 0]));
    this.ranges.push({
      joint: i,
      axis: unit,
      shape: this.painter.upload(makeRange(unit, zero, range, inner, outer)),
      needle: this.painter.upload(needle),
    });
  }

  /** Read the angle of a hinge [rad]. */
  readAngle(i, q) {
    const { axis, column, quaternion } = this.joints[i];
    if (!quaternion) return q[column];
    const [w, ...vector] = q.subarray(column, column + 4);
    const angle = 2 * Math.atan2(dot(vector, normalise(axis)), w);
    return angle - FULL_TURN * Math.round(angle / FULL_TURN);
  }

  /** List the joints at an end of their range. */
  findLimited(q) {
    return this.ranges
      .map(({ joint }) => joint)
      .filter((joint) => {
        const [angle, [low, high]] = [this.readAngle(joint, q), this.joints[joint].range];
        return high - low < FULL_TURN - AT_LIMIT && (angle < low + AT_LIMIT || angle > high - AT_LIMIT);
      });
  }

  /** List the parts of an answer, for the painter. */
  listParts(answer, theme) {
    const maps = this.scene.computeMaps(answer.q).map(fromMap);
    const limited = new Set(this.findLimited(answer.q));
    this.tip = getOrigin(maps[maps.length - 1]);
    return [
      ...this.bodies.map(({ joint, colour, ...body }) => ({ ...body, matrix: maps[joint], colour: theme[colour] })),
      ...this.ranges.flatMap((range) => this.#placeRange(range, maps, limited, theme)),
      ...this.#listTargetParts(answer, theme),
    ];
  }

  #placeRange({ joint, shape, needle }, maps, limited, theme) {
    const isLimited = limited.has(joint);
    if (!this.showsRanges && !isLimited) return [];
    const parent = maps[this.joints[joint].parent];
    const matrix = Float32Array.from(parent);
    matrix.set(getOrigin(maps[joint]), 12);
    const colour = isLimited ? theme.limit : theme.range;
    return [
      { shape, matrix, colour, alpha: isLimited ? 0.5 : 0.2, flat: 1, shadowless: true },
      { shape: needle, matrix: maps[joint], colour, gloss: 0.2, shadowless: true },
    ];
  }

  #listTargetParts({ target, reached }, theme) {
    const point = [...target.subarray(0, 3)];
    const upright = alignY([0, 1, 0], point);
    const parts = [
      { shape: this.target, matrix: upright, colour: theme.target },
      {
        shape: this.mark,
        matrix: alignY([0, 1, 0], [point[0], 0.001, point[2]]),
        colour: theme.target,
        alpha: 0.6,
        flat: 1,
        shadowless: true,
      },
      { ...this.#makeThread([point[0], 0, point[2]], point, 0.0022), colour: theme.target, alpha: 0.45 },
    ];
    if (this.scene.hasDirection) {
      const matrix = alignY([...target.subarray(3, 6)], point);
      parts.push(
        { shape: this.arrow, matrix, colour: theme.target },
        { shape: this.knob, matrix, colour: theme.target },
      );
    }
    if (!reached && length(subtract(point, this.tip)) > 0.005)
      parts.push({ ...this.#makeThread(this.tip, point, 0.005), colour: theme.gap, alpha: 0.75 });
    return parts;
  }

  /** Make a thin line between two points. */
  #makeThread(from, to, radius) {
    const way = subtract(to, from);
    const y = normalise(way);
    const x = normalise(cross(y, Math.abs(y[1]) < 0.9 ? [0, 1, 0] : [1, 0, 0]));
    const matrix = fromAxes(scale(x, radius), scale(y, Math.max(length(way), 1e-6)), scale(cross(x, y), radius), from);
    return { shape: this.thread, matrix, flat: 1, shadowless: true };
  }

  /** Return the point of the knob that turns the direction. */
  static findKnob(target) {
    return add([...target.subarray(0, 3)], scale(normalise([...target.subarray(3, 6)]), ARROW_LENGTH));
  }

  /** Return the direction of the tool in a pose. */
  findToolDirection(q) {
    const maps = this.scene.computeMaps(q).map(fromMap);
    return rotate(maps[maps.length - 1], [0, 1, 0]);
  }
}

function joinShapes(...shapes) {
  const joined = new Float32Array(shapes.reduce((sum, shape) => sum + shape.length, 0));
  let start = 0;
  for (const shape of shapes) {
    joined.set(shape, start);
    start += shape.length;
  }
  return joined;
}
