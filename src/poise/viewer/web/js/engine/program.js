/** Programs of kernel calls: what Python does for one target, packed by viewer/offline/program.py. */

// @ts-nocheck: the types of its problems are still to be written

/** A program with its arrays in the memory of the kernels. */
export class Program {
  constructor(kernels, packed, numbers) {
    this.kernels = kernels;
    this.packed = packed;
    this.arrays = packed.arrays.map((array) => this.#place(array, numbers));
    this.cleared = this.arrays.filter((_, i) => !("data" in packed.arrays[i]) && !packed.arrays[i].scratch);
    this.steps = packed.steps.map((step) => this.#prepare(step));
  }

  #place({ type, shape, data }, numbers) {
    const array = this.kernels.reserveArray(type, shape);
    if (data !== undefined) {
      const view = this.kernels.view(array, 0, array.count);
      new Uint8Array(view.buffer, view.byteOffset, view.byteLength).set(numbers.subarray(data, data + view.byteLength));
    }
    return array;
  }

  /** Prepare a step; the addresses of its arguments stay the same in all runs. */
  #prepare(step) {
    if (!("call" in step)) return step;
    const words = step.with.map((word) =>
      Array.isArray(word) ? { array: this.arrays[word[0]], start: word[1], shape: word[2] } : word,
    );
    return { ...step, slots: this.kernels.fill(words) };
  }

  /** View an array, or a part of one, by its name in the program. */
  view(name) {
    return this.viewPart(this.packed[name]);
  }

  /** View a part: the number of its array, its first item, its shape. */
  viewPart([number, start, shape]) {
    return this.kernels.view(
      this.arrays[number],
      start,
      shape.reduce((product, extent) => product * extent, 1),
    );
  }

  /** Run the steps with numbers for named arrays. */
  run(inputs) {
    for (const array of this.cleared) this.kernels.view(array, 0, array.count).fill(array.type === "I" ? 0n : 0);
    for (const [name, numbers] of Object.entries(inputs)) this.view(name).set(numbers);
    for (const step of this.steps) this.#runStep(step);
  }

  #runStep(step) {
    if ("call" in step) {
      const returned = this.kernels.call(step.call, step.slots);
      if (step.expected && !step.expected.includes(returned)) throw new Error(`${step.call} refuses: ${returned}`);
    } else if ("copy" in step) {
      this.viewPart(step.to).set(this.viewPart(step.from).subarray(0, step.copy));
    } else {
      this.viewPart(step.flag)[0] = Number(this.viewPart(step.counts)[0]) > 0 ? 1 : 0;
    }
  }
}
