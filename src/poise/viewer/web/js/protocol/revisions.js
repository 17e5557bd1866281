/** Changes on their way out. Numbered, so that a state from before a change does not undo it on the page. */

/** @import { Action, Send, State } from "poise/protocol/messages.ts" */

/** Actions that ask for something and change no state. */
const ASKING = new Set([
  "cancel",
  "idle",
  "race_seek",
  "save",
  "seek",
  "seen",
  "select",
  "upload",
  "upload_cancel",
  "upload_done",
  "upload_file",
  "watch",
]);

const LONGEST_WAIT = 3000; // [ms] of a held state: a change that Poise never got must not stop the page

export class Revisions {
  /** @param {Send} out @param {(changes: Partial<State>) => void} show what has changed of the state */
  constructor(out, show) {
    this.out = out;
    this.show = show;
    this.sent = 0;
    this.known = 0; // the newest that the states have
    /** @type {Partial<State>} */
    this.held = {};
    this.timer = 0;
  }

  /** Number an action that changes the state. Drags have numbers of their own. @param {Action} action */
  send(action) {
    if (ASKING.has(action.do) || "serial" in action || action.phase === "move") return this.out(action);
    const sent = this.out({ ...action, revision: this.sent + 1 });
    if (sent) this.sent += 1;
    return sent;
  }

  /** A state from before the newest change waits for the next one. @param {Partial<State>} changes */
  receive(changes) {
    this.held = { ...this.held, ...changes };
    this.known = changes.revision ?? this.known;
    if (this.known >= this.sent) this.showHeld();
    else if (!this.timer) this.timer = window.setTimeout(() => this.showHeld(), LONGEST_WAIT);
  }

  showHeld() {
    const { held } = this;
    this.drop();
    this.show(held);
  }

  drop() {
    clearTimeout(this.timer);
    this.timer = 0;
    this.held = {};
  }

  /** Another connection, which begins with a whole state. */
  forget() {
    this.sent = this.known = 0;
    this.drop();
  }
}
