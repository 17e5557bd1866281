/** A slider for the selected hinge or slide. It goes between the ends of the limit. */

/**
 * @import { Page } from "poise/commands/commands.js"
 * @import { Joint, Limit, Phase } from "poise/protocol/messages.ts"
 * @import { Store } from "poise/state/store.js"
 */

import { describeKey } from "poise/timeline/keying.js";
import { makeElement } from "poise/widgets/element.js";
import { makeLine } from "poise/widgets/fields.js";

const HALF = Math.PI;

/**
 * @param {Page} page
 * @returns {HTMLElement}
 */
export function makeBoneSlider(page) {
  const { store } = page;
  let held = false;
  let sent = 0; // serial of the newest value; answers to what was before are too late
  /** @type {Phase} */
  let phase = "start";
  /** @param {boolean} last */
  const send = (last) => {
    const joint = store.get("selected");
    const action = { joint, value: Number(slider.value), ...describeKey(page, "turn", phase) };
    sent = page.drags.drag({ do: "turn", ...action, phase: last ? "end" : phase });
    phase = last ? "start" : "move";
  };
  const slider = makeElement("input", {
    type: "range",
    step: "any",
    "data-testid": "bone-slider",
    "aria-label": "Value of the selected joint",
    oninput: () => {
      held = true;
      send(false);
    },
    onchange: () => {
      held = false;
      send(true);
    },
  });
  const whole = makeLine("Value", slider, "Turn or push the joint, as far as its limit lets it");
  store.on(["selected", "model", "state", "answer"], () => {
    const { joint, limit } = findChosen(store);
    const ends = readEnds(joint, limit, store.get("model")?.message.size ?? 1);
    whole.hidden = ends === null || store.get("state")?.driven === true;
    if (joint === null || ends === null || held) return;
    [slider.min, slider.max] = ends.map(String);
    const { selected, serial = 0 } = store.get("answer") ?? {};
    slider.disabled = selected?.joint !== joint.name; // where the joint stands is not known yet
    if (selected && !slider.disabled && serial >= sent) slider.value = String(readValue(joint, limit, selected.values));
  });
  return whole;
}

/** @param {Store} store */
function findChosen(store) {
  const name = store.get("selected");
  const joint = store.get("model")?.message.joints.find((each) => each.name === name) ?? null;
  return { joint, limit: store.get("state")?.limits[name ?? ""] ?? null };
}

/**
 * Where the slider ends. Null for a joint that has no single value.
 * @param {Joint|null} joint
 * @param {Limit|null} limit
 * @param {number} size
 */
function readEnds(joint, limit, size) {
  const range = limit?.type === "range" ? limit : null;
  const single = joint?.kind === "hinge" || joint?.kind === "slide" || (joint?.kind === "ball" && range?.axis);
  if (!single) return null;
  const far = joint.kind === "slide" ? size : HALF;
  return [range?.low ?? -far, range?.high ?? far];
}

/**
 * Of a ball that is a hinge the angle about its axis.
 * @param {Joint} joint
 * @param {Limit|null} limit
 * @param {number[]} values
 */
function readValue(joint, limit, values) {
  if (joint.kind !== "ball") return values[0];
  const [w, ...turn] = values;
  const axis = limit?.type === "range" && limit.axis ? limit.axis : [0, 0, 0];
  const sine = turn.reduce((sum, value, k) => sum + value * axis[k], 0);
  const angle = 2 * Math.atan2(sine, w);
  return angle > HALF ? angle - 2 * HALF : angle < -HALF ? angle + 2 * HALF : angle;
}
