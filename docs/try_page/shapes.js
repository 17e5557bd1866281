// Shapes of the drawing, as triangles: numbers of position and normal of each corner.

import { cross, findPerpendicular, normalise, rotateAbout, scale, subtract, transform } from "./matrices.js";

const SEGMENTS = 40; // round the axis of a turned shape
const ARC_STEPS = 8; // of a quarter circle
const RANGE_STEPS = 64;
const EDGE_STEPS = 4; // of the rounded edge of a box

/** Turn a profile of [radius, height, normal radius, normal height] about the y axis. */
function turn(profile) {
  const corners = [];
  const at = ([radius, height, outward, upward], k) => {
    const angle = (2 * Math.PI * k) / SEGMENTS;
    const [sin, cos] = [Math.sin(angle), Math.cos(angle)];
    return [radius * cos, height, radius * sin, outward * cos, upward, outward * sin];
  };
  for (let i = 0; i + 1 < profile.length; i++)
    for (let k = 0; k < SEGMENTS; k++) {
      const [a, b] = [profile[i], profile[i + 1]];
      corners.push(...at(a, k), ...at(b, k), ...at(b, k + 1), ...at(a, k), ...at(b, k + 1), ...at(a, k + 1));
    }
  return new Float32Array(corners);
}

/** Make an arc of a profile round a centre, between two angles from the plane [rad]. */
function makeArc(radius, centreRadius, centreHeight, from, to) {
  return Array.from({ length: ARC_STEPS + 1 }, (_, i) => {
    const angle = from + ((to - from) * i) / ARC_STEPS;
    const [sin, cos] = [Math.sin(angle), Math.cos(angle)];
    return [centreRadius + radius * cos, centreHeight + radius * sin, cos, sin];
  });
}

/** Make a bone along y: two spheres and the cone between them. */
export function makeBone(startRadius, endRadius, boneLength) {
  const slope = Math.asin((startRadius - endRadius) / boneLength);
  return turn([
    ...makeArc(startRadius, 0, 0, -Math.PI / 2, slope),
    ...makeArc(endRadius, 0, boneLength, slope, Math.PI / 2),
  ]);
}

export const makeSphere = (radius) => turn(makeArc(radius, 0, 0, -Math.PI / 2, Math.PI / 2));

/** Make a cylinder about y with rounded edges, between two heights. */
export function makeCylinder(radius, low, high, edge) {
  return turn([
    [0, low, 0, -1],
    ...makeArc(edge, radius - edge, low + edge, -Math.PI / 2, 0),
    ...makeArc(edge, radius - edge, high - edge, 0, Math.PI / 2),
    [0, high, 0, 1],
  ]);
}

/** Make a cone about y. */
export function makeCone(radius, low, high) {
  const slant = Math.atan2(radius, high - low);
  const normal = [Math.cos(slant), Math.sin(slant)];
  return turn([
    [0, low, 0, -1],
    [radius, low, 0, -1],
    [radius, low, ...normal],
    [0, high, ...normal],
  ]);
}

/** Make a cube with rounded edges. */
export function makeBox(half, edge) {
  const corners = [];
  const inner = half - edge;
  const rounded = Array.from(
    { length: EDGE_STEPS },
    (_, i) => inner + edge * Math.tan(((i + 1) / EDGE_STEPS) * (Math.PI / 4)),
  );
  const steps = [...rounded.map((value) => -value).reverse(), -inner, inner, ...rounded];
  for (const axis of [0, 1, 2])
    for (const side of [-1, 1]) {
      const at = (a, b) => {
        const point = [0, 0, 0];
        [point[axis], point[(axis + 1) % 3], point[(axis + 2) % 3]] = [side * half, a, b];
        const core = point.map((value) => Math.min(Math.max(value, -inner), inner));
        const normal = normalise(subtract(point, core));
        return [...core.map((value, j) => value + edge * normal[j]), ...normal];
      };
      for (let i = 0; i + 1 < steps.length; i++)
        for (let k = 0; k + 1 < steps.length; k++) {
          const [a, b, c, d] = [steps[i], steps[i + 1], steps[k], steps[k + 1]];
          corners.push(...[at(a, c), at(b, c), at(b, d), at(a, c), at(b, d), at(a, d)].flat());
        }
    }
  return new Float32Array(corners);
}

/** Make a part of a flat ring about an axis, from one angle to another [rad]; angle 0 is at `zero`. */
export function makeRange(axis, zero, [low, high], innerRadius, outerRadius) {
  const corners = [];
  for (let i = 0; i < RANGE_STEPS; i++) {
    const [a, b] = [i, i + 1].map((k) => rotateAbout(zero, axis, low + ((high - low) * k) / RANGE_STEPS));
    const [a0, a1, b0, b1] = [
      scale(a, innerRadius),
      scale(a, outerRadius),
      scale(b, innerRadius),
      scale(b, outerRadius),
    ];
    for (const corner of [a0, a1, b1, a0, b1, b0]) corners.push(...corner, ...axis);
  }
  return new Float32Array(corners);
}

/** Choose the direction of angle 0 in a ring: that of the bone, if it is not the axis. */
export function chooseZero(axis, bone) {
  const across = cross(axis, normalise(bone));
  return Math.hypot(...across) > 0.1 ? normalise(cross(across, axis)) : findPerpendicular(axis);
}

/** Move a shape by a matrix. */
export function moveShape(shape, matrix) {
  const moved = new Float32Array(shape.length);
  for (let i = 0; i < shape.length; i += 6) {
    moved.set(transform(matrix, shape.subarray(i, i + 3)).slice(0, 3), i);
    moved.set(transform(matrix, shape.subarray(i + 3, i + 6), 0).slice(0, 3), i + 3);
  }
  return moved;
}
