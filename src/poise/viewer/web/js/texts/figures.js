/** Numbers as people read them. */

/** @import { Model } from "poise/protocol/messages.ts" */

import { sayLength, sayUnitless } from "poise/texts/spoken.js";

/** Names of a file's unit, by its length in metres. @type {[number, string][]} */
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
export function shorten(value, digits = 3) {
  if (!Number.isFinite(value)) return "-";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-3 || size >= 1e6) return value.toExponential(digits - 1);
  return String(Number(value.toPrecision(digits)));
}

/**
 * @param {Model|null|undefined} model
 * @returns {string} the unit of a model's lengths: "m", "cm", or "units" where the file does not say
 */
export function findLengthUnit(model) {
  const metres = model?.metres_per_unit;
  if (!metres) return "units";
  const known = UNITS.find(([size]) => Math.abs(size - metres) < 1e-6 * metres);
  return known ? known[1] : "units";
}

/**
 * @param {number} value
 * @param {Model|null|undefined} model
 * @returns {string} a distance as it is spoken of; of rigs in metres in millimetres
 */
export function formatDistance(value, model) {
  if (!Number.isFinite(value)) return "-";
  const metres = model?.metres_per_unit;
  return metres ? sayLength(value * metres * 1000) : `${sayUnitless(value, model?.size ?? 1)} units`;
}

/**
 * @param {Model|null|undefined} model
 * @returns {number} digits after the point that a coordinate of a rig is worth: a thousandth of its size
 */
export function countDigits(model) {
  return Math.min(Math.max(3 - Math.floor(Math.log10(model?.size || 1)), 0), 12);
}

/**
 * @param {number[]} values
 * @returns {number} the one in the middle
 */
export function findMedian(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** @param {number} radians */
export const toDegrees = (radians) => (radians * 180) / Math.PI;
/** @param {number} degrees */
export const toRadians = (degrees) => (degrees * Math.PI) / 180;

/**
 * @param {string} key of a column of `poise compare`
 * @param {number} value
 * @returns {string} with the digits that Poise gives it
 */
export function formatFigure(key, value) {
  if (Number.isNaN(value)) return "-";
  if (key.startsWith("solved")) return value < 100 ? String(Number(value.toPrecision(4))) : "100";
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en");
  return Math.abs(value) <= 1e-12 ? "0" : String(Number(value.toPrecision(3)));
}
