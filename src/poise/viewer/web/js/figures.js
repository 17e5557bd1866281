/** Numbers as people read them. */

/** Names of a file's unit, by its length in metres. */
const UNITS = [
  [1, "m"],
  [0.1, "dm"],
  [0.01, "cm"],
  [0.001, "mm"],
  [0.0254, "in"],
  [0.3048, "ft"],
];

/**
 * @param {number} value
 * @param {number} [digits] significant
 * @returns {string}
 */
export function short(value, digits = 3) {
  if (!Number.isFinite(value)) return "-";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-3 || size >= 1e6) return value.toExponential(digits - 1);
  return String(Number(value.toPrecision(digits)));
}

/** @returns {string} a time of a solve: "41 us", "1.3 ms" */
export function duration(microseconds) {
  if (!Number.isFinite(microseconds) || microseconds <= 0) return "-";
  if (microseconds >= 1e6) return `${short(microseconds / 1e6)} s`;
  return microseconds >= 1000 ? `${short(microseconds / 1000)} ms` : `${short(microseconds)} µs`;
}

/** @returns {string} the unit of a model's lengths: "m", "cm", or "units" where the file does not say */
export function lengthUnit(model) {
  const metres = model?.metres_per_unit;
  if (!metres) return "units";
  const known = UNITS.find(([size]) => Math.abs(size - metres) < 1e-6 * metres);
  return known ? known[1] : "units";
}

/** @returns {string} a distance; small ones of rigs in metres in millimetres */
export function distance(value, model) {
  if (!Number.isFinite(value)) return "-";
  const metres = model?.metres_per_unit;
  return metres ? `${short(value * metres * 1000)} mm` : `${short(value)} units`;
}

/** @returns {number} the one in the middle */
export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export const toDegrees = (radians) => (radians * 180) / Math.PI;
export const toRadians = (degrees) => (degrees * Math.PI) / 180;
