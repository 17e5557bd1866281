/** What Poise says with all its digits, as a person says it. "reached", "0.05 mm", "12 µs". */

const NUMBER = "(-?\\d+(?:\\.\\d+)?(?:e[+-]?\\d+)?)";
const LENGTH = new RegExp(`(?<![\\w.'-])${NUMBER} mm\\b`, "g");
const METRES = new RegExp(`(?<![\\w.'-])${NUMBER} m\\b`, "g");
const BOTH = new RegExp(`(?<![\\w.'-])${NUMBER} rad \\(${NUMBER} deg\\)`, "g");
const DEGREES = new RegExp(`(?<![\\w.'-])${NUMBER} deg\\b`, "g");
const RADIANS = new RegExp(`(?<![\\w.'-])${NUMBER} rad\\b`, "g");
const BARE = /(?<![\w.'-])-?(?:\d+(?:\.\d+)?e[+-]?\d+|\d*\.\d+|\d{4,})(?![\w°.]| mm| m\b)/g; // in file units
const REACHED = /\breached: (.+?) left(?:, (\d+) iterations?)?/;
const NOTHING = /^(?:nothing|0|0 mm|0°|under .*)$/; // a part of what is left that a person takes for none
const LEAST = 0.01; // [mm] and [degrees]: less is not told apart from nothing
const LEAST_SHARE = 1e-5; // the same of a rig without a unit, by its size

/**
 * A number with so many digits as it is worth reading.
 * @param {number} value
 * @param {number} digits significant, but whole numbers are whole
 * @returns {string}
 */
function roundNumber(value, digits) {
  const size = Math.abs(value);
  if (size >= 10 ** digits) return String(Math.round(value));
  return String(Number(value.toPrecision(digits)));
}

/** @param {number} mm @returns {string} "0.05 mm", "12 mm", "1.25 m" */
export function sayLength(mm) {
  const size = Math.abs(mm);
  if (size === 0) return "0 mm";
  if (size < LEAST) return `under ${LEAST} mm`;
  return size >= 1000
    ? `${roundNumber(mm / 1000, 3)} m`
    : `${size < 1 ? Number(mm.toFixed(2)) : roundNumber(mm, 2)} mm`;
}

/** @param {number} degrees @returns {string} "0.3°" */
function sayAngle(degrees) {
  const size = Math.abs(degrees);
  if (size === 0) return "0°";
  return size < LEAST ? `under ${LEAST}°` : `${size < 1 ? Number(degrees.toFixed(2)) : roundNumber(degrees, 3)}°`;
}

/** A length in file units that have no name. @param {number} value @param {number} size of the figure */
export function sayUnitless(value, size) {
  if (Math.abs(value) < LEAST_SHARE * size) return "0";
  return Math.abs(value) < 1e-4 || Math.abs(value) >= 1e6 ? value.toExponential(1) : roundNumber(value, 3);
}

/** @param {number} microseconds @returns {string} "12 µs", "1.3 ms", "2.4 s" */
export function sayTime(microseconds) {
  if (!Number.isFinite(microseconds) || microseconds <= 0) return "-";
  if (microseconds >= 999_500) return `${roundNumber(microseconds / 1e6, 2)} s`;
  if (microseconds >= 999.5) return `${roundNumber(microseconds / 1000, 2)} ms`;
  return microseconds < 1 ? "under 1 µs" : `${roundNumber(Number(microseconds.toPrecision(2)), 2)} µs`;
}

/**
 * A sentence of a solver with its figures rounded. Where the target is reached, what is left is said only where a
 * person
 * would see it.
 *
 * @param {string} sentence
 * @param {number} size of the figure [file units]
 * @returns {string}
 */
export function speak(sentence, size) {
  const told = sentence
    .replace(BOTH, (_, _radians, degrees) => sayAngle(Number(degrees)))
    .replace(LENGTH, (_, value) => sayLength(Number(value)))
    .replace(METRES, (_, value) => sayLength(1000 * Number(value)))
    .replace(DEGREES, (_, value) => sayAngle(Number(value)))
    .replace(RADIANS, (_, value) => sayAngle((Number(value) * 180) / Math.PI))
    .replace(BARE, (value) => sayUnitless(Number(value), size));
  return told.replace(REACHED, (_, left, iterations) => {
    const parts = left.split(" and ").filter((/** @type {string} */ part) => !NOTHING.test(part));
    const took = Number(iterations) ? `, ${iterations} iteration${iterations === "1" ? "" : "s"}` : "";
    return parts.length ? `reached: ${parts.join(" and ")} left${took}` : `reached${took}`;
  });
}
