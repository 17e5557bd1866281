/**
 * What the report of planted feet finds bad. A mark for each stretch, on the scrubber's scale, and what it is in
 * words.
 */

/**
 * @import { State, Stretch } from "poise/protocol/messages.ts"
 * @import { Store } from "poise/state/store.js"
 */

import { makeElement } from "poise/widgets/element.js";
import { makeToolButton } from "poise/widgets/tool_button.js";

const NEAR = 1e-3; // [s] a time at a mark

export class BadFrames {
  /**
   * @param {Store} store
   * @param {(time: number) => void} seek
   */
  constructor(store, seek) {
    this.store = store;
    this.seek = seek;
    /** @type {Stretch[]} */
    this.stretches = [];
    /** @type {Stretch|null} that was asked for last */
    this.asked = null;
    this.drawn = "";
    this.marks = makeElement("div", { class: "bad-marks", role: "group", "aria-label": "Bad frames" });
    this.words = makeElement("span", { class: "bad-words", role: "status", "data-testid": "bad-words" });
    this.previous = makeToolButton("bad-previous", "back", "Previous bad frame (Shift+N)", () => this.go(-1));
    this.next = makeToolButton("bad-next", "step", "Next bad frame (N)", () => this.go(1));
    this.whole = makeElement(
      "div",
      { class: "bad-frames", hidden: true, "data-testid": "bad-frames" },
      this.marks,
      makeElement("div", { class: "bad-line" }, this.previous, this.next, this.words),
    );
    store.on("state", (state) => this.draw(state));
    store.on("frame", ({ time }) => this.say(time));
  }

  /** @param {State} state */
  draw(state) {
    const seconds = state.duration;
    const drawn = JSON.stringify([state.bad, seconds]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    this.stretches = state.bad ?? [];
    this.whole.hidden = !state.bad || !seconds;
    this.marks.hidden = this.previous.hidden = this.next.hidden = !this.stretches.length;
    this.marks.replaceChildren(...this.stretches.map((stretch) => this.mark(stretch, seconds)));
    this.say(this.store.get("frame")?.time ?? 0);
  }

  /** @param {Stretch} stretch @param {number} seconds of the clip */
  mark(stretch, seconds) {
    const mark = makeElement("button", {
      type: "button",
      class: "bad-mark",
      title: stretch.text,
      "aria-label": stretch.text,
      "data-testid": "bad-mark",
      tabindex: -1, // the two buttons and N lead through them all
      onclick: () => this.show(stretch),
    });
    mark.style.left = `${(100 * stretch.from) / seconds}%`;
    mark.style.width = `${(100 * (stretch.to - stretch.from)) / seconds}%`;
    mark.style.zIndex = String(Math.round(100 * (1 - (stretch.to - stretch.from) / seconds))); // short ones over long ones
    return mark;
  }

  /** The next one after the shown time, or the one before. The first follows the last. @param {1|-1} way */
  go(way) {
    if (!this.stretches.length) return;
    const time = this.asked?.from ?? this.store.get("frame")?.time ?? 0;
    const at = this.asked ? this.stretches.indexOf(this.asked) : -1;
    if (at >= 0) this.show(this.stretches[(at + way + this.stretches.length) % this.stretches.length]);
    else if (way > 0) this.show(this.stretches.find(({ from }) => from > time + NEAR) ?? this.stretches[0]);
    else
      this.show(this.stretches.findLast(({ from }) => from < time - NEAR) ?? this.stretches[this.stretches.length - 1]);
  }

  /** @param {Stretch} stretch */
  show(stretch) {
    this.asked = stretch;
    this.seek(stretch.from);
    this.say(stretch.from);
  }

  /** What is bad at a time, in the words of the report. @param {number} time [s] */
  say(time) {
    if (this.whole.hidden) return;
    if (this.asked && Math.abs(time - this.asked.from) > NEAR && !this.store.get("asked")) this.asked = null;
    const here = this.asked ?? this.stretches.find(({ from, to }) => time > from - NEAR && time < to + NEAR);
    const count = this.stretches.length;
    const none = "the report finds nothing beyond its bounds";
    const all = count === 1 ? "1 bad stretch" : `${count} bad stretches`;
    const words = here ? `${this.stretches.indexOf(here) + 1} of ${count}: ${here.text}` : count ? all : none;
    if (this.words.textContent !== words) this.words.textContent = words;
    [...this.marks.children].forEach((mark, i) => mark.classList.toggle("here", this.stretches[i] === here));
  }
}
