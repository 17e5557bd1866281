/** A race of methods for one chain. Their ways to a target, iteration by iteration, and how they do along a drag. */

/**
 * @import { Solved } from "poise/engine/chains.js"
 * @import { Kernels } from "poise/engine/kernels.js"
 * @import { PackedRace } from "poise/engine/packed.ts"
 * @import { Program } from "poise/engine/program.js"
 * @import { Drag, Vector } from "poise/protocol/messages.ts"
 */

import { Chains } from "poise/engine/chains.js";
import { LiveRecord } from "poise/engine/live_record.js";

const RACED = 4; // methods of a race for which nobody chose any
const SLOW_MOTION = 5; // iterations a second

/** @typedef {{q: Float64Array, position: Vector|null}} Begun where a race begins; no target: where the tip is */

/** The iteration that is shown; between two of them while it plays. See RaceClock in session/race.py. */
class RaceClock {
  iteration = 0;
  last = 0; // of the method with the most
  playing = false;
  speed = SLOW_MOTION; // iterations a second

  /** Play from the start pose on. */
  restart() {
    this.iteration = 0;
    this.playing = true;
  }

  /** Play or pause; at its end a race restarts. @param {boolean} on */
  play(on) {
    if (on && this.iteration >= this.last) this.restart();
    this.playing = on;
  }

  /** Go on by a time, up to the end. @param {number} seconds */
  advance(seconds) {
    if (!this.playing) return;
    this.iteration = Math.min(this.iteration + seconds * this.speed, this.last);
    this.playing = this.iteration < this.last;
  }

  /** Pause and show an iteration. @param {number} iteration */
  seek(iteration) {
    this.iteration = Math.min(Math.max(Math.trunc(iteration), 0), this.last);
    this.playing = false;
  }

  /** Set the last iteration. A race at its end stays there. @param {number} last */
  setLast(last) {
    const isAtEnd = this.last > 0 && this.iteration >= this.last;
    this.last = last;
    this.iteration = isAtEnd ? last : Math.min(this.iteration, last);
  }
}

/** What a method did for a target. A pose for each iteration, and the errors. */
class Path {
  /**
   * @param {Solved} solved
   * @param {Float64Array} start q
   * @param {(q: Float64Array) => number|null} measure what a pose leaves
   */
  constructor({ program, curve, q, isMet, iterations }, start, measure) {
    const { rows } = program.packed;
    const count = rows ? curve.length : 0;
    this.isMet = isMet;
    this.iterations = iterations;
    this.start = start;
    this.answer = q;
    this.program = program;
    /** Rows of the trace behind the first, which is the start. @type {Float64Array[]} */
    this.rows = Array.from({ length: Math.max(count - 1, 0) }, (_, i) => program.copyRow(i + 1));
    this.errors = count ? [...curve] : [measure(start) ?? NaN];
    // Of several restarts the best one is the answer, and a straightened chain has no trace.
    this.jumps = !isSame(q, this.rows.length ? this.findPose(this.rows.length) : start);
    if (this.jumps) this.errors.push(!count || program.packed.curve?.is_distance ? (measure(q) ?? NaN) : NaN);
  }

  /** Its last iteration. */
  get last() {
    return this.rows.length + (this.jumps ? 1 : 0);
  }

  /**
   * The pose after so many iterations; behind the last its answer.
   * @param {number} iteration
   * @returns {Float64Array}
   */
  findPose(iteration) {
    if (iteration <= 0) return this.start;
    return iteration > this.rows.length ? this.answer : this.program.convertRow(this.rows[iteration - 1], this.start);
  }
}

/** @param {Float64Array} a @param {Float64Array} b */
function isSame(a, b) {
  return a.every((value, i) => value === b[i]);
}

export class Race {
  /**
   * @param {Kernels} kernels
   * @param {PackedRace} packed by viewer/offline/races.py
   * @param {Uint8Array} numbers
   */
  constructor(kernels, packed, numbers) {
    this.packed = packed;
    this.chains = new Chains(kernels, packed.solved, numbers, { chains: [packed.chain], scope: "chains" });
    this.clock = new RaceClock();
    const usable = this.chains.methods.filter(({ refusal }) => refusal === undefined).map(({ value }) => value);
    this.raced = packed.raced.length ? packed.raced : usable.slice(0, RACED);
    this.record = new LiveRecord(this.chains, packed);
    /** @type {Path[]} */
    this.paths = [];
    this.solve();
  }

  /** The chain with its target. */
  get chain() {
    return this.chains.chains[0];
  }

  /** Who races. @param {string[]} methods */
  setRaced(methods) {
    this.raced = methods;
    this.reset();
  }

  /** Figures begin anew, and all methods solve. */
  reset() {
    this.record = new LiveRecord(this.chains, this.packed);
    this.solve();
  }

  /**
   * Begin at a pose; without one at that of the rig.
   * @param {Begun|null} begun
   */
  begin(begun) {
    const { q = null, position = null } = begun ?? {};
    const isKnown = q ? isSame(q, this.chains.start) : !this.chains.adopted;
    if (isKnown && !position) return;
    if (!isKnown) this.chains.adopt(q);
    if (position) this.chain.position = position;
    this.reset();
  }

  /** @param {Drag} drag of the target */
  drag(drag) {
    if (this.chains.move(drag)) this.solve();
  }

  /** Solve by all methods from the start pose. */
  solve() {
    const { chains } = this;
    this.record.follow(this.raced); // before the traces, which the next run of a program overwrites
    this.paths = this.raced.map((method) => {
      const { start } = chains;
      return new Path(chains.run(method, start), start, (q) => chains.measure(q));
    });
    this.clock.setLast(Math.max(...this.paths.map(({ last }) => last)));
  }

  /** What each method shows at the iteration of the clock. */
  show() {
    const iteration = Math.trunc(this.clock.iteration);
    return this.paths.map((path, i) => {
      const q = path.findPose(iteration);
      const isOver = iteration >= path.last;
      return {
        maps: Float32Array.from(this.chains.computeMaps(q)),
        left: this.chains.measure(q),
        status: !isOver ? "on_the_way" : path.isMet ? "reached" : "missed",
        iterations: isOver ? path.iterations : iteration,
        last: path.last,
        errors: path.errors,
        microseconds: this.record.findNewestTime(this.raced[i]),
      };
    });
  }
}
