/** The newest of everything that was sent or chosen, and who wants to hear of it. */

/**
 * Topics: welcome, model ({message, asset}), terrain ({message, asset}), state, answer, frame, ghost, busy,
 * connection ("opening" | "open" | "lost" | "used" | "elsewhere" | "ended"), farewell (what the server said when it ended), and what only this page knows:
 * selected (joint name), active (chain id), picking ({what, take}), show, gizmo ("move" | "turn"), space
 * ("world" | "local"), holds ({turns, why}: whether what the gizmo has can be turned), turning (whether the gizmo
 * is on the selected bone), keying (whether what is turned is keyed into the clip), asked (the time that was asked
 * for and is not shown yet), sides (widths), closed (sides), hinted (whether the
 * stage says what to try), options (whether a solver's options are unfolded), theme ("dark" | "light").
 */
export class Store {
  constructor() {
    /** @type {Map<string, any>} */
    this.values = new Map();
    /** @type {Map<string, Set<(value: any) => void>>} */
    this.listeners = new Map();
  }

  /**
   * @param {string} topic
   * @returns {any} the newest value, null before the first
   */
  get(topic) {
    return this.values.get(topic) ?? null;
  }

  /** Keep a value and tell it to all who listen to its topic. */
  set(topic, value) {
    this.values.set(topic, value);
    for (const listener of this.listeners.get(topic) ?? []) listener(value);
  }

  /**
   * Call `listener` after each change of any of the topics, and now for those that have a value.
   *
   * @param {string|string[]} topics
   * @param {(value: any) => void} listener
   * @returns {() => void} to listen no longer
   */
  on(topics, listener) {
    for (const topic of [topics].flat()) {
      if (!this.listeners.has(topic)) this.listeners.set(topic, new Set());
      this.listeners.get(topic)?.add(listener);
      if (this.values.has(topic)) listener(this.values.get(topic));
    }
    return () => {
      for (const topic of [topics].flat()) this.listeners.get(topic)?.delete(listener);
    };
  }
}
