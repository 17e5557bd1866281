/** Which time of the clip is asked for. What a hand wants counts here until a frame shows it. */

/**
 * @import { Send } from "poise/protocol/messages.ts"
 * @import { Store } from "poise/state/store.js"
 */

const NEAR = 1e-5; // [s] frames tell the time in 32 bits

export class Playhead {
  /**
   * @param {Store} store
   * @param {Send} send
   */
  constructor(store, send) {
    this.store = store;
    this.send = send;
    /** @type {string|null} */
    this.clip = null;
    this.waiting = false; // a time goes out with the next picture
    store.on("frame", ({ time }) => {
      if (this.asked !== null && Math.abs(time - this.asked) < NEAR * Math.max(1, time)) store.set("asked", null);
    });
    store.on("state", (state) => {
      if (state.clip !== this.clip) store.set("asked", null);
      this.clip = state.clip;
    });
    store.on("connection", () => store.set("asked", null));
  }

  /** @returns {number|null} [s] */
  get asked() {
    return this.store.get("asked");
  }

  /** The shown time, or the next one. @returns {number} [s] */
  get time() {
    return this.asked ?? this.store.get("frame")?.time ?? 0;
  }

  /** Stop where it is: a hand takes over. */
  pause() {
    if (this.store.get("state")?.playing) this.send({ do: "play", on: false });
  }

  /** Play on, or pause. */
  toggle() {
    const state = this.store.get("state");
    if (!state?.clip) return;
    this.store.set("asked", null);
    this.send({ do: "play", on: !state.playing });
  }

  /** Pause, and go to a time. @param {number} time [s] */
  seek(time) {
    const state = this.store.get("state");
    if (!state?.clip) return;
    this.pause();
    this.store.set("asked", Math.min(Math.max(time, 0), state.duration));
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      if (this.asked !== null) this.send({ do: "seek", time: this.asked });
    });
  }

  /** Pause, and go some frames on or back. @param {number} frames */
  step(frames) {
    const state = this.store.get("state");
    const clip = state?.clips.find((each) => each.name === state.clip);
    if (clip) this.seek(this.time + frames / (clip.fps || 30));
  }
}
