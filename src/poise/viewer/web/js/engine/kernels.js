/** Kernels in WebAssembly: arrays in its memory, and calls with their addresses. */

/** @import { Letter, Scalar } from "poise/engine/packed.ts" */

const SLOT_BYTES = 8;
const MAX_SLOTS = 192;
const MAX_RESULTS = 8;
const ALIGNMENT = 64; // bytes: lanes are read as wide registers
const PAGE_BYTES = 65536;
const ITEM_BYTES = { F: 8, I: 8, B: 1 };

/**
 * @typedef {object} Memory an array in the memory of the kernels
 * @property {Letter} type
 * @property {number[]} shape
 * @property {number} count
 * @property {number} address
 *
 * @typedef {{array: Memory, start: number, shape: number[]}} ArrayWord an argument: an array, or a part of one
 *
 * @typedef {{memory: WebAssembly.Memory, __heap_base: WebAssembly.Global<"i32">}} Exports
 */

export class Kernels {
  /** Make the kernels of a module. @param {Uint8Array<ArrayBuffer>} bytes */
  static async load(bytes) {
    const { instance } = await WebAssembly.instantiate(bytes, {});
    return new Kernels(instance.exports);
  }

  /** @param {WebAssembly.Exports} exports */
  constructor(exports) {
    const { memory, __heap_base: base } = /** @type {WebAssembly.Exports & Exports} */ (exports);
    this.exports = exports;
    this.memory = memory;
    this.end = base.value;
    this.slots = this.reserve(MAX_SLOTS * SLOT_BYTES);
    this.results = this.reserve(MAX_RESULTS * SLOT_BYTES);
  }

  /** Reserve memory, aligned for lanes, and return its address. @param {number} byteCount */
  reserve(byteCount) {
    const address = Math.ceil(this.end / ALIGNMENT) * ALIGNMENT;
    this.end = address + byteCount;
    const missing = this.end - this.memory.buffer.byteLength;
    if (missing > 0) this.memory.grow(Math.ceil(missing / PAGE_BYTES));
    return address;
  }

  /**
   * Reserve an array of a type, with the items of its shape.
   * @param {Letter} type
   * @param {number[]} shape
   * @returns {Memory}
   */
  reserveArray(type, shape) {
    const count = countItems(shape);
    return { type, shape, count, address: this.reserve(Math.max(count * ITEM_BYTES[type], 1)) };
  }

  /** View numbers of an array. Memory that grows makes older views empty. @param {Memory} array */
  viewNumbers({ address, shape: all }, start = 0, shape = all) {
    return new Float64Array(this.memory.buffer, address + start * ITEM_BYTES.F, countItems(shape));
  }

  /** View integers of an array. @param {Memory} array */
  viewIntegers({ address, shape: all }, start = 0, shape = all) {
    return new BigInt64Array(this.memory.buffer, address + start * ITEM_BYTES.I, countItems(shape));
  }

  /** View the bytes of an array. @param {Memory} array */
  viewBytes({ type, address, count }) {
    return new Uint8Array(this.memory.buffer, address, count * ITEM_BYTES[type]);
  }

  /** Fill the slots with arguments. Arrays, or numbers as {f}, {i} or {b}. @param {(ArrayWord|Scalar)[]} words */
  fill(words) {
    const slots = new DataView(this.memory.buffer, this.slots, MAX_SLOTS * SLOT_BYTES);
    let offset = 0;
    const add = (/** @type {number} */ value) => {
      slots.setBigInt64(offset, BigInt(value), true);
      offset += SLOT_BYTES;
    };
    for (const word of words) {
      if ("array" in word) {
        add(word.array.address + word.start * ITEM_BYTES[word.array.type]);
        word.shape.forEach(add);
      } else if (word.f !== undefined) {
        slots.setFloat64(offset, word.f, true);
        offset += SLOT_BYTES;
      } else add(word.i ?? word.b ?? 0);
    }
    return new Uint8Array(this.memory.buffer.slice(this.slots, this.slots + offset));
  }

  /**
   * Call a kernel with slots made by `fill`. Returns its first number, an integer.
   * @param {string} name
   * @param {Uint8Array} slots
   */
  call(name, slots) {
    new Uint8Array(this.memory.buffer, this.slots, slots.length).set(slots);
    const kernel = this.exports[`poise_${name.replaceAll(".", "__")}__portable`];
    const status = /** @type {(slots: number, results: number) => number} */ (kernel)(this.slots, this.results);
    if (status !== 0) throw new Error(`${name} ended with status ${status}`);
    return Number(new BigInt64Array(this.memory.buffer, this.results, 1)[0]);
  }
}

/** Count the items of a shape. @param {number[]} shape */
function countItems(shape) {
  return shape.reduce((product, extent) => product * extent, 1);
}
