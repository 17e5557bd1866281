/**
 * Pose frames as they come through the socket. A header of 28 bytes and 12 for each view, then 32-bit floats
 * [views][characters][joints][width]. Nothing is copied: the numbers stay where they arrived.
 */

const HEADER = 28;
const VIEW = 12; // bytes of the header for each view
const VERSION = 2;
const MOST_VIEWS = 6;
const WIDTHS = [7, 12];

/** What the status numbers of a frame mean. */
const STATUS = [
  "reached",
  "out_of_reach",
  "limited",
  "stalled",
  "nothing_to_move",
  "over_constrained",
  "on_the_way",
  "held_back",
  "contradictory",
  "loops_open",
];
const MISSED = 253; // no number of a status: the answer has the reason
const REFUSED = 254; // the solver does not take the goals

/**
 * @typedef {object} Frame
 * @property {"pose"|"ghost"} kind
 * @property {number} views
 * @property {number} width 7: x y z w x y z of each joint; 12: its 3 x 4 matrix, row by row
 * @property {number} characters
 * @property {number} joints
 * @property {number} frame the number to acknowledge
 * @property {number} serial of the newest target that this answers
 * @property {number} time of the clip [s]
 * @property {string[]} status one a view; "nothing": nothing was solved
 * @property {boolean} playing
 * @property {boolean} busy more iterations follow
 * @property {number} iteration that a race shows
 * @property {number[]} microseconds one a view
 * @property {number[]} left position errors [file units], NaN where there are none
 * @property {number[]} iterations one a view
 * @property {number} version of the document
 * @property {Float32Array} data all views
 * @property {number} bytes length of the message
 */

/** @param {number} code */
function readStatus(code) {
  if (code === MISSED) return "missed";
  return code === REFUSED ? "refused" : (STATUS[code] ?? "nothing");
}

/**
 * Read a pose or ghost frame.
 * @param {ArrayBuffer} buffer
 * @returns {Frame}
 */
export function parseFrame(buffer) {
  if (!(buffer instanceof ArrayBuffer) || buffer.byteLength < HEADER) {
    throw new Error(`a pose frame has at least ${HEADER} bytes, this one has ${buffer?.byteLength}`);
  }
  const at = new DataView(buffer);
  const [kind, version, views, width] = [0, 1, 2, 3].map((i) => at.getUint8(i));
  const [characters, joints] = [at.getUint16(4, true), at.getUint16(6, true)];
  checkHeader(kind, version, views, width);
  const count = views * characters * joints * width;
  const head = HEADER + views * VIEW;
  if (buffer.byteLength !== head + 4 * count) {
    const shape = `${views} x ${characters} x ${joints} x ${width}`;
    throw new Error(`a pose frame of ${shape} numbers has ${head + 4 * count} bytes, not ${buffer.byteLength}`);
  }
  const flags = at.getUint16(20, true);
  /** @template T @param {(start: number) => T} read @returns {T[]} one a view */
  const readViews = (read) => Array.from({ length: views }, (_, view) => read(HEADER + view * VIEW));
  return {
    kind: kind === 1 ? "pose" : "ghost",
    views,
    width,
    characters,
    joints,
    frame: at.getUint32(8, true),
    serial: at.getUint32(12, true),
    time: at.getFloat32(16, true),
    status: readViews((start) => readStatus(at.getUint8(start))),
    playing: (flags & 1) !== 0,
    busy: (flags & 2) !== 0,
    iteration: at.getUint16(22, true),
    microseconds: readViews((start) => at.getFloat32(start + 4, true)),
    left: readViews((start) => at.getFloat32(start + 8, true)),
    iterations: readViews((start) => at.getUint16(start + 2, true)),
    version: at.getUint32(24, true),
    data: new Float32Array(buffer, head, count),
    bytes: buffer.byteLength,
  };
}

/**
 * The numbers of one view. A view that the frame lacks shows the last one it has.
 * @param {Frame} frame
 * @param {number} view
 * @returns {Float32Array}
 */
export function readView(frame, view) {
  const size = frame.characters * frame.joints * frame.width;
  const start = Math.min(view, frame.views - 1) * size;
  return frame.data.subarray(start, start + size);
}

/** @param {number} kind @param {number} version @param {number} views @param {number} width */
function checkHeader(kind, version, views, width) {
  if (kind !== 1 && kind !== 2) throw new Error(`a pose frame is of kind 1 or 2, not ${kind}`);
  if (version !== VERSION) throw new Error(`this page reads pose frames of version ${VERSION}, not ${version}`);
  if (!WIDTHS.includes(width)) throw new Error(`a joint takes 7 or 12 numbers, not ${width}`);
  if (views < 1 || views > MOST_VIEWS) throw new Error(`a pose frame has 1 to ${MOST_VIEWS} views, not ${views}`);
}
