/** Kernels in WebAssembly: arrays in its memory, and calls with their addresses. */

// @ts-nocheck: the types of its problems are still to be written

const SLOT_BYTES = 8;
const MAX_SLOTS = 192;
const MAX_RESULTS = 8;
const ALIGNMENT = 64; // bytes: lanes are read as wide registers
const PAGE_BYTES = 65536;
const ITEM_BYTES = { F: 8, I: 8, B: 1 };
const VIEWS = { F: Float64Array, I: BigInt64Array, B: Uint8Array };

export class Kernels {
  /** Make the kernels of a module, given as bytes. */
  static async load(bytes) {
    const { instance } = await WebAssembly.instantiate(bytes, {});
    return new Kernels(instance.exports);
  }

  constructor(exports) {
    this.exports = exports;
    this.end = exports.__heap_base.value;
    this.slots = this.reserve(MAX_SLOTS * SLOT_BYTES);
    this.results = this.reserve(MAX_RESULTS * SLOT_BYTES);
  }

  /** Reserve memory, aligned for lanes, and return its address. */
  reserve(byteCount) {
    const address = Math.ceil(this.end / ALIGNMENT) * ALIGNMENT;
    this.end = address + byteCount;
    const { memory } = this.exports;
    const missing = this.end - memory.buffer.byteLength;
    if (missing > 0) memory.grow(Math.ceil(missing / PAGE_BYTES));
    return address;
  }

  /** Reserve an array of a type, with the items of its shape. */
  reserveArray(type, shape) {
    const count = shape.reduce((product, extent) => product * extent, 1);
    return { type, shape, count, address: this.reserve(Math.max(count * ITEM_BYTES[type], 1)) };
  }

  /** View items of an array. Memory that grows makes older views empty. */
  view({ type, address }, start, count) {
    return new VIEWS[type](this.exports.memory.buffer, address + start * ITEM_BYTES[type], count);
  }

  /** Fill the slots with arguments: {array, start, shape}, or a number as {f}, {i} or {b}. */
  fill(words) {
    const slots = new DataView(this.exports.memory.buffer, this.slots, MAX_SLOTS * SLOT_BYTES);
    let offset = 0;
    const add = (value) => {
      slots.setBigInt64(offset, BigInt(value), true);
      offset += SLOT_BYTES;
    };
    for (const word of words) {
      if (word.array) {
        add(word.array.address + word.start * ITEM_BYTES[word.array.type]);
        word.shape.forEach(add);
      } else if ("f" in word) {
        slots.setFloat64(offset, word.f, true);
        offset += SLOT_BYTES;
      } else add(word.i ?? word.b);
    }
    return new Uint8Array(this.exports.memory.buffer.slice(this.slots, this.slots + offset));
  }

  /** Call a kernel with slots made by `fill`. Returns its first number, an integer. */
  call(name, slots) {
    const { memory } = this.exports;
    new Uint8Array(memory.buffer, this.slots, slots.length).set(slots);
    const status = this.exports[`poise_${name.replaceAll(".", "__")}__portable`](this.slots, this.results);
    if (status !== 0) throw new Error(`${name} ended with status ${status}`);
    return Number(new BigInt64Array(memory.buffer, this.results, 1)[0]);
  }
}
