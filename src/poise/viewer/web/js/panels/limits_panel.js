/** The selected bone. Its value, whether it is at its limit, its limit to edit, and its pin. */

/**
 * @import { Commands, Page } from "poise/commands/commands.js"
 * @import { Form } from "poise/panels/limit_forms.js"
 * @import { Answer, Joint, Limit, Message, State } from "poise/protocol/messages.ts"
 */

import { isPinned } from "poise/commands/commands.js";
import { makeBoneSlider } from "poise/panels/bone_slider.js";
import { makeLimitForm, readType, TYPES } from "poise/panels/limit_forms.js";
import { shorten, toDegrees } from "poise/texts/figures.js";
import { makeElement, setOptions } from "poise/widgets/element.js";
import { makeLine, tick } from "poise/widgets/fields.js";
import { makeIcon } from "poise/widgets/icons.js";

const ANSWERED = 3000; // [ms] an error this soon after Apply is about it

export class LimitsPanel {
  /**
   * @param {Page} page
   * @param {Commands} commands
   */
  constructor(page, commands) {
    this.page = page;
    this.shown = ""; // what the form was filled with: it is not filled again while somebody types
    /** @type {Form|null} */
    this.form = null;
    this.appliedAt = -Infinity;
    this.people = tick({ "data-testid": "anatomical" }, (on) => page.send({ do: "anatomical", on }));
    this.peopleLine = makeLine("Anatomical limits", this.people);
    this.none = makeElement("p", { class: "hint" }, "Click a bone, here or in the view.");
    this.name = makeElement("span", { class: "bone-name" });
    this.kind = makeElement("span", { class: "unit" });
    this.pin = makeElement(
      "button",
      { type: "button", "data-testid": "pin", title: "Pin this joint where it is (P)", onclick: () => commands.pin() },
      makeIcon("pin"),
      "Pin",
    );
    this.value = makeElement("p", { class: "bone-value", "data-testid": "bone-value" });
    this.type = makeElement("select", {
      "data-testid": "limit-type",
      "aria-label": "Limit",
      onchange: () => this.showForm(this.type.value, null),
    });
    this.place = makeElement("div", { class: "limit-form" });
    this.apply = makeElement("button", { type: "submit", class: "primary", "data-testid": "limit-apply" }, "Apply");
    this.remove = makeElement(
      "button",
      { type: "button", "data-testid": "limit-remove", onclick: () => this.send(null) },
      "Remove",
    );
    this.error = makeElement("p", { class: "problem", role: "alert", "data-testid": "limit-error", hidden: true });
    this.unlimited = makeElement("p", { class: "hint" }, "A joint of this kind has no limit.");
    this.limit = makeElement(
      "form",
      { novalidate: true, onsubmit: (event) => this.submit(event) },
      makeLine("Limit", this.type),
      this.place,
      makeElement("div", { class: "buttons" }, this.apply, this.remove),
      this.error,
    );
    this.body = makeElement(
      "div",
      { hidden: true },
      makeElement("div", { class: "bone-top" }, this.name, this.kind, this.pin),
      this.value,
      makeBoneSlider(page),
      this.unlimited,
      this.limit,
    );
    this.whole = makeElement("div", { class: "bone" }, this.peopleLine, this.none, this.body);
    page.store.on("state", (state) => this.showPeople(state.anatomical));
    page.store.on(["selected", "state", "model"], () => this.show());
    page.store.on("answer", (answer) => this.showValue(answer));
    page.store.on("message", (message) => this.showError(message));
  }

  get joint() {
    const { store } = this.page;
    return store.get("model")?.message.joints.find((joint) => joint.name === store.get("selected")) ?? null;
  }

  show() {
    const { joint } = this;
    const state = this.page.store.get("state");
    this.none.hidden = joint !== null;
    this.body.hidden = joint === null;
    if (!joint || !state) return;
    this.name.textContent = joint.name;
    this.kind.textContent = joint.role ? `${joint.kind}, ${joint.role}` : joint.kind;
    this.pin.setAttribute("aria-pressed", String(isPinned(state, joint.name)));
    const limit = state.limits[joint.name] ?? null;
    const filling = JSON.stringify([joint.name, joint.kind, limit]);
    if (filling === this.shown) return;
    this.shown = filling;
    this.fill(joint, limit);
    this.showValue(this.page.store.get("answer"));
  }

  /** @param {State["anatomical"]} of */
  showPeople({ on, why }) {
    this.people.checked = on;
    this.people.disabled = why !== null;
    this.peopleLine.title = why ?? "Joints without a limit get that of people: knees bend backward";
  }

  /** @param {Joint} joint @param {Limit|null} limit */
  fill(joint, limit) {
    const types = TYPES[joint.kind] ?? [];
    this.limit.hidden = types.length === 0;
    this.unlimited.hidden = types.length > 0;
    this.error.hidden = true;
    if (!types.length) return;
    setOptions(this.type, [{ value: "none", text: "none" }, ...types]);
    this.type.value = readType(limit) ?? "none";
    this.remove.disabled = limit === null;
    this.showForm(this.type.value, limit);
  }

  /** @param {string} type @param {Limit|null} limit */
  showForm(type, limit) {
    const { joint } = this;
    const { joints } = this.page.store.need("model").message;
    this.form = type === "none" || !joint ? null : makeLimitForm(type, joint, joints[joint.parent] ?? null);
    this.form?.show(limit);
    this.place.replaceChildren(...(this.form ? [this.form.whole] : []));
    this.apply.disabled = !this.form && this.remove.disabled;
    this.error.hidden = true;
  }

  /** @param {Answer|null} answer */
  showValue(answer) {
    const { joint } = this;
    if (!joint || !answer) return;
    const at = answer.views[0]?.at_limit.includes(joint.name) === true;
    const stand = answer.selected?.joint === joint.name ? answer.selected : null;
    const own = stand ? describePlace(joint, stand) : "";
    const words = [own, at ? "at its limit" : ""].filter(Boolean).join(", ");
    this.value.textContent = words && answer.views.length > 1 ? `in view A ${words}` : words;
    this.value.title = stand && own ? `q: ${stand.values.join(", ")}` : ""; // with all digits
    this.value.classList.toggle("at-limit", at);
  }

  /** @param {Event} event */
  submit(event) {
    event.preventDefault();
    const problem = this.form?.findProblem() ?? null;
    if (problem === null) this.send(this.form?.read() ?? null);
    else this.complain(problem);
  }

  /** @param {any} limit */
  send(limit) {
    this.error.hidden = true;
    this.appliedAt = performance.now();
    this.page.send({ do: "limit", joint: this.joint?.name, limit });
  }

  /** @param {Message} message */
  showError({ level, text }) {
    if (level === "error" && performance.now() - this.appliedAt < ANSWERED) this.complain(text);
  }

  /** @param {string} text */
  complain(text) {
    this.error.textContent = text;
    this.error.hidden = false;
  }
}

/** What a joint stands at, in degrees or file units. @param {Joint} joint @param {{values: number[]}} of */
function describePlace(joint, { values }) {
  if (joint.kind === "hinge") return `at ${toDegrees(values[0]).toFixed(1)}°`;
  if (joint.kind === "slide") return `at ${shorten(values[0], 4)}`;
  if (joint.kind === "fixed") return "";
  const w = Math.min(1, Math.abs(values[joint.kind === "free" ? 3 : 0]));
  return `turned ${toDegrees(2 * Math.acos(w)).toFixed(1)}° from rest`;
}
