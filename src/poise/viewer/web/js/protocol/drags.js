/** Targets on their way out. Numbered, at most one per picture, and timed until the pose that answers them. */

/** @import { Action, Phase, Send } from "poise/protocol/messages.ts" */

const KEPT = 500; // newest round trips

/** @typedef {Action & {serial: number, phase?: Phase}} Numbered */

export class Drags {
  /** @param {Send} send */
  constructor(send) {
    this.send = send;
    this.serial = 0;
    /** @type {Numbered|null} */
    this.pending = null;
    this.open = false; // a move went out since the last picture
    /** @type {Map<number, number>} when the target of each serial went out [ms] */
    this.sentAt = new Map();
    /** @type {number[]} [ms] */
    this.roundTrips = [];
    /** @type {number[]} */
    this.sent = [];
  }

  /**
   * A drag of anything. The first move after a picture goes out at once, of later ones only the newest.
   * @param {Action} given
   * @returns {number} its serial: a state with the same or a later one contains it
   */
  drag(given) {
    this.serial += 1;
    /** @type {Numbered} */
    const action = { ...given, serial: this.serial };
    if (action.phase !== "move") {
      this.flush();
      this.sendNow(action);
    } else if (this.open) this.pending = action;
    else {
      this.sendNow(action);
      this.open = true;
      requestAnimationFrame(() => this.finishPicture());
    }
    return action.serial;
  }

  /** Numbers typed into a field. The end of a drag that was none, one step of undo. @param {Action} action */
  place(action) {
    this.drag({ ...action, phase: "end" });
  }

  finishPicture() {
    this.open = false;
    if (!this.pending) return;
    this.flush();
    this.open = true;
    requestAnimationFrame(() => this.finishPicture());
  }

  flush() {
    const action = this.pending;
    this.pending = null;
    if (action) this.sendNow(action);
  }

  /** @param {Numbered} action */
  sendNow(action) {
    if (!this.send(action)) return;
    const now = performance.now();
    this.sentAt.set(action.serial, now);
    this.sent.push(now);
    if (this.sent.length > KEPT) this.sent.shift();
  }

  /**
   * A frame arrived that answers targets up to `serial`. After a reload the numbers go on where the last page was.
   * @param {number} serial
   */
  receiveAnswer(serial) {
    if (serial > this.serial) this.serial = serial;
    const now = performance.now();
    for (const [number, at] of this.sentAt) {
      if (number > serial) break;
      this.roundTrips.push(now - at);
      this.sentAt.delete(number);
    }
    if (this.roundTrips.length > KEPT) this.roundTrips.splice(0, this.roundTrips.length - KEPT);
  }

  /** The connection is new: what was not answered never will be. */
  forget() {
    this.sentAt.clear();
    this.pending = null;
  }
}

/**
 * @param {number[]} times
 * @returns {number} how many of these times [ms] lie in the last second
 */
export function countPerSecond(times) {
  const since = performance.now() - 1000;
  return times.length - (times.findLastIndex((at) => at < since) + 1);
}
