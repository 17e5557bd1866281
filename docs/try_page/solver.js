// Scenes with their methods: targets in, poses with errors out.

import { Program } from "../../src/poise/viewer/web/js/engine/program.js";

const POSITION_WIDTH = 3;

/** A scene, solved by the kernels. */
export class Scene {
  constructor(kernels, packed, numbers) {
    this.kernels = kernels;
    this.packed = packed;
    this.numbers = numbers;
    this.programs = new Map();
    this.maps = new Program(kernels, packed.maps, numbers);
  }

  /** Return the reason against a method, or undefined. */
  refusal(method) {
    return this.packed.methods[method].refusal;
  }

  /** Make a program at its first use. */
  #program(key, packed) {
    if (!this.programs.has(key)) this.programs.set(key, new Program(this.kernels, packed, this.numbers));
    return this.programs.get(key);
  }

  /** Solve for a target, a point and perhaps a direction, from a start q. */
  solve(method, target, start) {
    const began = performance.now();
    const program = this.#choose(method, target);
    program.run({ target, start });
    const milliseconds = performance.now() - began;
    const errors = this.#readErrors(program.view("errors"));
    return {
      q: Float64Array.from(program.view("q")),
      target: Float64Array.from(program.view("target")), // directions have unit length there
      errors,
      reached: errors.every((error, i) => error <= this.packed.bounds[i]),
      iterations: program.read("iterations"),
      milliseconds,
    };
  }

  /** Choose the program of a method. A free chain is straightened towards targets out of reach. */
  #choose(method, target) {
    const { program, line } = this.packed.methods[method];
    if (line) {
      const check = this.#program(`${method} check`, line.check);
      check.run({ target });
      const [x, y, z] = check.view("point");
      const [dx, dy, dz] = [x - line.origin[0], y - line.origin[1], z - line.origin[2]];
      if (dx * dx + dy * dy + dz * dz > line.distance * line.distance)
        return this.#program(`${method} line`, line.program);
    }
    return this.#program(method, program);
  }

  /** Read distances [m] and angles [rad] from the parts that a kernel measured. */
  #readErrors(parts) {
    return this.packed.factors.map((factor, i) => {
      const [sine, cosine] = parts.subarray(2 * i, 2 * i + 2);
      return factor ? factor * Math.atan2(sine + 0, cosine + 0) : sine;
    });
  }

  /** Return whether bone lengths rule a target out, and how: "far", "near" or undefined. */
  findReach(target) {
    const { min, max, centre } = this.packed.reach;
    const distance = Math.hypot(...centre.map((value, i) => target[i] - value));
    if (distance > max + this.packed.bounds[0]) return "far";
    return distance < min - this.packed.bounds[0] ? "near" : undefined;
  }

  /** Compute the world map (12 numbers, three rows of four) of each joint. */
  computeMaps(q) {
    this.maps.run({ q });
    const maps = this.maps.view("maps");
    return this.packed.joints.map((_, i) => Float64Array.from(maps.subarray(12 * i, 12 * i + 12)));
  }

  /** Return the target of the scene as it is first shown. */
  get firstTarget() {
    return Float64Array.from(this.packed.target);
  }

  /** Return whether the scene has a direction to reach. */
  get hasDirection() {
    return this.packed.target.length > POSITION_WIDTH;
  }

  /** Return the rest pose. */
  get rest() {
    return Float64Array.from(this.packed.start);
  }
}
