/** The newest value of each topic, and its listeners. topics.ts lists the topics. */

/** @import { Topics } from "poise/state/topics.ts" */

/** @typedef {keyof Topics} Topic */

export class Store {
  constructor() {
    /** @type {Partial<Topics>} */
    this.values = {};
    /** @type {Map<Topic, Set<(value: any) => void>>} */
    this.listeners = new Map();
  }

  /**
   * @template {Topic} T
   * @param {T} topic
   * @returns {Topics[T]|null} the newest value, null before the first
   */
  get(topic) {
    return this.values[topic] ?? null;
  }

  /**
   * Get a value that must be there by now.
   * @template {Topic} T
   * @param {T} topic
   * @returns {NonNullable<Topics[T]>}
   */
  need(topic) {
    const value = this.values[topic];
    if (value === undefined || value === null) throw new Error(`nothing is known of ${topic} yet`);
    return value;
  }

  /**
   * Keep a value and tell it to the listeners of its topic.
   * @template {Topic} T
   * @param {T} topic
   * @param {Topics[T]} value
   */
  set(topic, value) {
    this.values[topic] = value;
    for (const listener of this.listeners.get(topic) ?? []) listener(value);
  }

  /**
   * Call `listener` after each change of the topics. It is called now for those with a value.
   *
   * @template {Topic} T
   * @param {T|T[]} topics
   * @param {(value: Topics[T]) => void} listener
   * @returns {() => void} to listen no longer
   */
  on(topics, listener) {
    const all = [topics].flat();
    for (const topic of all) {
      if (!this.listeners.has(topic)) this.listeners.set(topic, new Set());
      this.listeners.get(topic)?.add(listener);
      if (topic in this.values) listener(/** @type {Topics[T]} */ (this.values[topic]));
    }
    return () => {
      for (const topic of all) this.listeners.get(topic)?.delete(listener);
    };
  }
}
