/** How the targets are solved for. The method of each view, what of the limits counts, how it runs. */

/**
 * @import { Commands, Page } from "poise/commands/commands.js"
 * @import { Store } from "poise/state/store.js"
 */

import { SolverOptions } from "poise/panels/solver_options.js";
import { VIEW_LETTERS } from "poise/widgets/colours.js";
import { makeElement, setOptions } from "poise/widgets/element.js";
import { makeLine, makeNumberField, makeSegments, showNumber, tick } from "poise/widgets/fields.js";
import { makeIcon } from "poise/widgets/icons.js";

const MODES = [
  { value: "plain", text: "plain", testid: "mode-plain", title: "No limits: every joint turns freely" },
  { value: "hinge", text: "hinge", testid: "mode-hinge", title: "Hinges keep their axis, without a range" },
  { value: "limits", text: "hinge + range", testid: "mode-limits", title: "All limits count" },
];
const RUNS = [
  { value: "live", text: "live", testid: "run-live", title: "Solve to the end for each target" },
  { value: "iterate", text: "1 a frame", testid: "run-iterate", title: "One iteration a frame: watch the method work" },
  { value: "step", text: "by step", testid: "run-step", title: "Only Step moves it, one iteration at a time" },
  {
    value: "race",
    text: "race",
    testid: "run-race",
    title: "Each solve is shown iteration by iteration, from the start pose",
  },
];
const STARTS = [
  { value: "last", text: "last pose", testid: "from-last", title: "Each solve starts from the pose that is shown" },
  { value: "start", text: "start pose", testid: "from-start", title: "Each solve starts from the start pose" },
];

/**
 * @param {Page} page
 * @param {Commands} commands
 * @returns {HTMLElement}
 */
export function makeSolverPanel(page, commands) {
  const { store, send } = page;
  const methods = [...VIEW_LETTERS].map((_, view) => makeMethod(page, view));
  const count = countMethods(page, commands);
  const tolerance = makeNumberField({ min: 0, placeholder: "automatic", "data-testid": "tolerance" }, (value) =>
    send({ do: "tolerance", value }),
  );
  const freeRoot = tick({ "data-testid": "free-root" }, (on) => send({ do: "free_root", on }));
  /** @param {"mode"|"run"|"from"} what */
  const choose = (what) => (/** @type {string} */ value) => send({ do: what, value });
  const mode = makeSegments("What of the limits counts", MODES, choose("mode"));
  const run = makeSegments("How it runs", RUNS, choose("run"));
  const from = makeSegments("Where each solve starts", STARTS, choose("from"));
  const driven = makeElement(
    "p",
    { class: "hint" },
    "A Python program shows the poses: there is nothing to solve here.",
  );
  const body = makeElement(
    "div",
    { class: "solver" },
    ...methods.map(({ choice }) => choice),
    count.whole,
    listRefusedMethods(store),
    mode.whole,
    run.whole,
    makeElement(
      "div",
      { class: "buttons" },
      makeButton("step", "step", "Step", "One iteration (S)", commands.step),
      makeButton("reset", "reset", "Reset", "Back to the start pose (R)", commands.reset),
      makeButton("keep-start", "pin", "Keep", "The pose that is shown becomes the start pose", commands.keepStart),
    ),
    makeFold(
      store,
      makeLine("Starts from", from.whole),
      makeLine("Tolerance", tolerance, "What counts as reached [file units]; empty: the library's own"),
      makeLine("Free root", freeRoot, "The root of the rig may move too"),
      ...methods.map(({ options }) => options),
    ),
  );
  store.on("state", (state) => {
    driven.hidden = !state.driven;
    body.hidden = state.driven;
    mode.show(state.mode, state.modes);
    run.show(state.run);
    from.show(state.from);
    showNumber(tolerance, state.tolerance);
    freeRoot.checked = state.free_root;
    methods.forEach(({ choice, options }, view) => (choice.hidden = options.hidden = view >= state.views));
    count.show(state.views);
    body.classList.toggle("comparing", state.views > 1);
  });
  return makeElement("div", {}, driven, body);
}

/** One view more, one fewer: each has a method of its own. @param {Page} page @param {Commands} commands */
function countMethods({ store }, commands) {
  const change = (/** @type {number} */ step) => () => commands.countViews((store.get("state")?.views ?? 1) + step);
  const fewer = makeButton("views-fewer", "less", "Fewer", "The last view goes", change(-1));
  const more = makeButton("views-more", "add", "More", "One more view, with another method", change(1));
  const show = (/** @type {number} */ views) => {
    fewer.disabled = views <= 1;
    more.disabled = views >= VIEW_LETTERS.length;
  };
  const race = makeButton(
    "race",
    "race",
    "Race",
    "Methods race for the active chain, iteration by iteration (M)",
    commands.race,
  );
  return { whole: makeElement("div", { class: "buttons" }, more, fewer, race), show };
}

/**
 * @param {string} testid
 * @param {string} drawing
 * @param {string} text
 * @param {string} title
 * @param {() => void} act
 */
function makeButton(testid, drawing, text, title, act) {
  return makeElement("button", { type: "button", "data-testid": testid, title, onclick: act }, makeIcon(drawing), text);
}

/** What is set less often; whether it is folded is kept. @param {Store} store @param {...HTMLElement} lines */
function makeFold(store, ...lines) {
  const whole = makeElement(
    "details",
    { class: "solver-options", "data-testid": "solver-options" },
    makeElement("summary", {}, "Options"),
    makeElement("div", { class: "solver" }, ...lines),
  );
  store.on("options", (open) => (whole.open = open));
  whole.addEventListener("toggle", () => store.get("options") === whole.open || store.set("options", whole.open));
  return whole;
}

/** Why some methods are greyed: lists show no titles everywhere. @param {Store} store */
function listRefusedMethods(store) {
  const title = makeElement("summary", {});
  const list = makeElement("ul", {});
  const whole = makeElement("details", { class: "refused-methods", "data-testid": "refused-methods" }, title, list);
  store.on("state", ({ refused = {} }) => {
    const sentences = Object.values(refused);
    whole.hidden = !sentences.length;
    title.textContent = `${sentences.length} greyed: why`;
    title.title = "Methods that cannot take the chains as they are";
    list.replaceChildren(...sentences.map((sentence) => makeElement("li", {}, sentence)));
  });
  return whole;
}

/** The method of one view, and its options. @param {Page} page @param {number} view */
function makeMethod({ store, send }, view) {
  const letter = VIEW_LETTERS[view].toLowerCase();
  const select = makeElement("select", {
    "data-testid": `solver-${letter}`,
    "aria-label": `Method ${letter.toUpperCase()}`,
    onchange: () => send({ do: "solver", view, name: select.value }),
  });
  const text = makeElement("p", { class: "hint" });
  const title = makeElement("span", { "data-testid": `options-of-${letter}` }); // whose options stand below
  const options = new SolverOptions(letter, (name, value) => send({ do: "option", view, name, value }));
  const show = () => {
    const [known, chosen] = [store.get("welcome")?.solvers ?? [], store.get("state")?.solvers[view]];
    setOptions(
      select,
      known.map((each) => ({ value: each.name, text: each.title, title: each.text })),
    );
    const refused = store.get("state")?.refused ?? {};
    for (const option of select.options) {
      const { name, missing, text } = known[option.index];
      option.disabled = missing === true || name in refused;
      option.title = refused[name] ?? text;
    }
    if (!chosen) return;
    select.value = chosen.name;
    const solver = known.find((each) => each.name === chosen.name);
    text.textContent = solver?.text ?? "";
    title.textContent = solver?.title ?? chosen.name;
    select.title = refused[chosen.name] ?? text.textContent;
    options.show(chosen.name, solver?.options ?? [], chosen.options);
  };
  store.on(["welcome", "state"], show);
  const makeSign = () => makeElement("b", { class: `letter letter-${letter}` }, letter.toUpperCase());
  const choice = makeElement("label", { class: "method" }, makeSign(), select);
  const legend = makeElement("legend", {}, makeSign(), title);
  return { choice, options: makeElement("fieldset", {}, legend, text, options.whole) };
}
