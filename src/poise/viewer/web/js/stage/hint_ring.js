/** A ring about a hand, for somebody who has pulled nothing yet. */

/** @import { Viewport } from "poise/stage/viewport.js" */

const ROLES = ["leftHand", "rightHand"];

export class HintRing {
  /** @param {HTMLElement} container */
  constructor(container) {
    this.element = document.createElement("div");
    this.element.className = "hint-ring";
    this.element.setAttribute("aria-hidden", "true");
    this.element.hidden = true;
    container.append(this.element);
    this.on = false;
  }

  /** Put it about the hand; called before each drawing. @param {Viewport} viewport */
  follow({ actor, state, view }) {
    const figure = actor?.figure;
    const row = figure?.joints.findIndex(({ role }) => ROLES.includes(role ?? "")) ?? -1;
    const seen = this.on && figure?.ready && state?.scope === "body" && row >= 0;
    this.element.hidden = !seen;
    if (!seen) return;
    const [from, to] = [view.project(figure.readPosition(row)), view.project(figure.computeTail(row))];
    const [x, y] = [0, 1].map((k) => (from[k] + to[k]) / 2);
    this.element.style.transform = `translate(${x}px, ${y}px)`;
  }

  dispose() {
    this.element.remove();
  }
}
