/** Programs of kernel calls. What Python does for one target, packed by viewer/offline/program.py. */

/**
 * @import { ArrayWord, Kernels } from "poise/engine/kernels.js"
 * @import { PackedProgram, PackedStep, Part, PartName, Scalar } from "poise/engine/packed.ts"
 */

/** @typedef {{step: PackedStep, slots: Uint8Array|null}} Prepared a step; a call has the slots of its arguments */

/** A program with its arrays in the memory of the kernels. */
export class Program {
  /**
   * @param {Kernels} kernels
   * @param {PackedProgram} packed
   * @param {Uint8Array} numbers
   */
  constructor(kernels, packed, numbers) {
    this.kernels = kernels;
    this.packed = packed;
    this.arrays = packed.arrays.map((array) => this.#reserve(array, numbers));
    this.cleared = this.arrays.filter((_, i) => packed.arrays[i].data === undefined && !packed.arrays[i].scratch);
    this.steps = packed.steps.map((step) => this.#prepare(step));
    this.rowSteps = (packed.row_steps ?? []).map((step) => this.#prepare(step));
  }

  /** @param {PackedProgram["arrays"][number]} array @param {Uint8Array} numbers */
  #reserve({ type, shape, data }, numbers) {
    const array = this.kernels.reserveArray(type, shape);
    if (data !== undefined) {
      const bytes = this.kernels.viewBytes(array);
      bytes.set(numbers.subarray(data, data + bytes.length));
    }
    return array;
  }

  /** Prepare a step. The addresses of its arguments stay the same in all runs. @param {PackedStep} step */
  #prepare(step) {
    if (!("call" in step)) return { step, slots: null };
    const words = step.with.map((word) => (Array.isArray(word) ? this.#locate(word) : word));
    return { step, slots: this.kernels.fill(words) };
  }

  /** @param {Part} part @returns {ArrayWord} */
  #locate([number, start, shape]) {
    return { array: this.arrays[number], start, shape };
  }

  /** View the numbers of an array by its name. It may be a part of one. @param {PartName} name */
  view(name) {
    return this.viewPart(this.#find(name));
  }

  /** View the numbers of a part. @param {Part} part */
  viewPart([number, start, shape]) {
    return this.kernels.viewNumbers(this.arrays[number], start, shape);
  }

  /** Read the first number of an array, of integers too. @param {PartName} name */
  read(name) {
    return this.readPart(this.#find(name));
  }

  /** Read the first number of a part. @param {Part} part */
  readPart([number, start]) {
    const array = this.arrays[number];
    const [first] =
      array.type === "I" ? this.kernels.viewIntegers(array, start, [1]) : this.viewPart([number, start, [1]]);
    return Number(first);
  }

  /** @param {PartName} name @returns {Part} */
  #find(name) {
    const part = this.packed[name];
    if (!part) throw new Error(`the program has no ${name}`);
    return part;
  }

  /** Run the steps with numbers for named arrays. @param {Partial<Record<PartName, ArrayLike<number>>>} inputs */
  run(inputs) {
    for (const array of this.cleared) this.kernels.viewBytes(array).fill(0);
    this.#write(inputs);
    for (const step of this.steps) this.#runStep(step);
  }

  /** Copy a row of the trace of the last run. @param {number} i */
  copyRow(i) {
    const { numbers, stride } = this.#rows;
    return this.viewPart(numbers).slice(stride * i, stride * (i + 1));
  }

  /**
   * Convert a row of a trace into a configuration.
   * @param {Float64Array} row
   * @param {ArrayLike<number>} start q
   */
  convertRow(row, start) {
    const { u: part, links } = this.#rows;
    const u = this.viewPart(part);
    if (!links.length) u.set(row.subarray(0, u.length));
    for (const [column, uColumn, width, ratio, offset, low, high] of links) {
      const [first] = row.subarray(column);
      const value = (first - (offset ?? 0)) / (ratio ?? 1);
      if (width > 1) u.set(row.subarray(column, column + width), uColumn);
      else u[uColumn] = Math.min(Math.max(value, low ?? -Infinity), high ?? Infinity);
    }
    this.#write({ start });
    for (const step of this.rowSteps) this.#runStep(step);
    return Float64Array.from(this.view("q"));
  }

  get #rows() {
    if (!this.packed.rows) throw new Error("the program has no trace");
    return this.packed.rows;
  }

  /** @param {Partial<Record<PartName, ArrayLike<number>>>} inputs */
  #write(inputs) {
    for (const [name, numbers] of Object.entries(inputs)) this.view(/** @type {PartName} */ (name)).set(numbers);
  }

  /** @param {Prepared} prepared */
  #runStep({ step, slots }) {
    if ("call" in step) {
      const returned = this.kernels.call(step.call, /** @type {Uint8Array} */ (slots));
      if (step.expected && !step.expected.includes(returned)) throw new Error(`${step.call} refuses: ${returned}`);
    } else if ("copy" in step) {
      this.viewPart(step.to).set(this.viewPart(step.from).subarray(0, step.copy));
    } else {
      const [number, start] = step.flag;
      this.kernels.viewBytes(this.arrays[number])[start] = this.readPart(step.counts) > 0 ? 1 : 0;
    }
  }
}
