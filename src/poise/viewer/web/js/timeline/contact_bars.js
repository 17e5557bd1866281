/** When each foot is on the ground. A row of bars a foot, under the scrubber, with a line at the time shown. */

/**
 * @import { State } from "poise/protocol/messages.ts"
 * @import { Store } from "poise/state/store.js"
 */

import { makeElement } from "poise/widgets/element.js";

export class ContactBars {
  /** @param {Store} store */
  constructor(store) {
    this.store = store;
    this.drawn = "";
    this.seconds = 0; // of the clip
    this.rows = makeElement("div", { class: "contact-rows" });
    this.now = makeElement("div", { class: "now" });
    this.whole = makeElement("div", { class: "contacts", "data-testid": "contacts", role: "img" }, this.rows, this.now);
    store.on("state", (state) => this.draw(state));
    store.on("frame", (frame) => this.move(frame.time));
  }

  /** @param {State} state */
  draw(state) {
    const clip = state.clips.find((each) => each.name === state.clip);
    this.seconds = state.duration || clip?.seconds || 0;
    const contacts = this.seconds ? (state.contacts ?? []) : [];
    const drawn = JSON.stringify([contacts, this.seconds]);
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    this.whole.hidden = contacts.length === 0;
    const said = contacts.map(({ foot, intervals }) => `${foot}: ${intervals.length} contacts`);
    this.whole.setAttribute("aria-label", said.join(", "));
    this.rows.replaceChildren(
      ...contacts.map(({ foot, intervals }) =>
        makeElement(
          "div",
          { class: "contact-row", title: `${foot} on the ground` },
          makeElement("span", { class: "foot" }, foot),
          ...intervals.map((interval) => this.makeBar(interval)),
        ),
      ),
    );
    this.move(this.store.get("frame")?.time ?? 0);
  }

  /** @param {number[]} numbers */
  makeBar([from, to]) {
    const bar = makeElement("div", { class: "bar" });
    bar.style.left = `${(100 * from) / this.seconds}%`;
    bar.style.width = `${(100 * (to - from)) / this.seconds}%`;
    return bar;
  }

  /** @param {number} time */
  move(time) {
    if (this.seconds) this.now.style.left = `${Math.min(100, (100 * time) / this.seconds)}%`;
  }
}
