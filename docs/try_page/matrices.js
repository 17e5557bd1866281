// Vectors of three numbers and 4 x 4 matrices, by columns as WebGL takes them.

export const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
export const subtract = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const scale = (a, factor) => [a[0] * factor, a[1] * factor, a[2] * factor];
export const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const length = (a) => Math.hypot(a[0], a[1], a[2]);
export const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];

export function normalise(a) {
  const size = length(a);
  return size > 0 ? scale(a, 1 / size) : [0, 1, 0];
}

/** Return any unit vector perpendicular to a unit vector. */
export function findPerpendicular(a) {
  return normalise(cross(a, Math.abs(a[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0]));
}

/** Rotate a vector about a unit axis by an angle [rad]. */
export function rotateAbout(vector, axis, angle) {
  const [cosine, sine] = [Math.cos(angle), Math.sin(angle)];
  const along = scale(axis, dot(axis, vector) * (1 - cosine));
  return add(add(scale(vector, cosine), scale(cross(axis, vector), sine)), along);
}

/** Make a matrix from three axes and an origin. */
export function fromAxes(x, y, z, origin) {
  return new Float32Array([...x, 0, ...y, 0, ...z, 0, ...origin, 1]);
}

/** Make a rigid matrix whose y axis has a direction. */
export function alignY(direction, origin) {
  const y = normalise(direction);
  const x = findPerpendicular(y);
  return fromAxes(x, y, cross(x, y), origin);
}

export const IDENTITY = fromAxes([1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]);

/** Convert a world map of the kernels: three rows of four numbers. */
export function fromMap(map) {
  return new Float32Array([
    map[0],
    map[4],
    map[8],
    0,
    map[1],
    map[5],
    map[9],
    0,
    map[2],
    map[6],
    map[10],
    0,
    map[3],
    map[7],
    map[11],
    1,
  ]);
}

export function multiply(a, b) {
  const out = new Float32Array(16);
  for (let column = 0; column < 4; column++)
    for (let row = 0; row < 4; row++)
      for (let k = 0; k < 4; k++) out[4 * column + row] += a[4 * k + row] * b[4 * column + k];
  return out;
}

/** Transform a point; the fourth number is kept. */
export function transform(matrix, [x, y, z], w = 1) {
  return [0, 1, 2, 3].map((row) => matrix[row] * x + matrix[4 + row] * y + matrix[8 + row] * z + matrix[12 + row] * w);
}

export const getOrigin = (matrix) => [matrix[12], matrix[13], matrix[14]];

/** Rotate a vector by a matrix. */
export const rotate = (matrix, vector) => transform(matrix, vector, 0).slice(0, 3);

export function makePerspective(fieldOfView, aspect, near, far) {
  const f = 1 / Math.tan(fieldOfView / 2);
  const out = new Float32Array(16);
  out.set([f / aspect, 0, 0, 0, 0, f], 0);
  out[10] = (far + near) / (near - far);
  out[11] = -1;
  out[14] = (2 * far * near) / (near - far);
  return out;
}
