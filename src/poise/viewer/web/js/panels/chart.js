/** The error after each iteration on a logarithmic axis. A line for the method of each view. */

/**
 * @import { Send } from "poise/protocol/messages.ts"
 * @import { Store } from "poise/state/store.js"
 */

import { VIEW_COLOURS, VIEW_DASHES, VIEW_LETTERS } from "poise/widgets/colours.js";
import { makeElement } from "poise/widgets/element.js";
import uPlot from "uplot";

const SMALLEST = 1e-16; // an error of zero has no place on a logarithmic axis: it is drawn here
const TALL = 168; // [px]
const LOW = 118; // [px] in a low window, where it shall not take the room of what it is about
const LOW_WINDOW = 720; // [px]
const FEW = 30; // iterations that get a dot each
const MOST_POWERS = 7; // lines across the chart

export class Chart {
  /** @param {Store} store @param {Send} send */
  constructor(store, send) {
    this.store = store;
    this.send = send;
    this.watched = true; // curves are sent
    /** @type {any} */
    this.plot = null;
    this.drawn = 0; // views in the chart as it is
    /** @type {(number[]|null)[]} the last curve of each view */
    this.kept = [];
    this.methods = ""; // what they were solved with
    this.place = makeElement("div", { class: "chart", "data-testid": "chart", role: "img" });
    this.empty = makeElement("p", { class: "hint" });
    this.whole = makeElement("div", { class: "chart-panel" }, this.empty, this.place);
    store.on("answer", () => this.draw());
    store.on("theme", () => this.rebuild());
    store.on("welcome", () => this.watch(true));
    store.on("frame", ({ iteration }) => this.mark(iteration));
    new ResizeObserver(() => this.resize()).observe(this.whole);
    window.addEventListener("resize", () => this.resize());
  }

  /** The newest curves, or why there are none. A solve that had nothing to do leaves the last curve in sight. */
  draw() {
    const { answer, methods } = this.refreshMethods();
    if (methods !== this.methods) this.kept = [];
    this.methods = methods;
    const views = answer?.views ?? [];
    views.forEach((view, i) => {
      if (view.errors?.length !== 1) this.kept[i] = view.errors?.some((error) => error > 0) ? view.errors : null;
    });
    const curves = views.map((_view, i) => this.kept[i] ?? []);
    const any = curves.some((errors) => errors.length > 0);
    this.place.hidden = !any;
    this.empty.hidden = any;
    this.empty.textContent =
      views.find((view) => view.note)?.note ?? "The error after each iteration appears here while a target is dragged.";
    if (!any || this.whole.clientWidth === 0) return;
    const data = makeTable(curves);
    this.place.setAttribute("aria-label", describeCurves(curves));
    if (!this.plot || this.drawn !== views.length) this.build(data, views.length);
    else this.plot.setData(data);
    this.drawn = views.length;
  }

  /** A line at the iteration that a race shows. @param {number} iteration */
  mark(iteration) {
    if (!this.plot || this.store.get("state")?.run !== "race") return;
    this.plot.setCursor({ left: this.plot.valToPos(iteration, "x"), top: -1 }, false);
  }

  refreshMethods() {
    const state = this.store.get("state");
    const methods = JSON.stringify([state?.solvers, state?.mode, this.store.get("model")?.message.id]);
    return { answer: this.store.get("answer"), methods };
  }

  /** @param {uPlot.AlignedData} data @param {number} count */
  build(data, count) {
    this.plot?.destroy();
    const [text, grid] = ["--text-faint", "--line"].map((name) => readColour(this.whole, name));
    const [lines, ticks] = [
      { stroke: grid, width: 1 },
      { stroke: grid, size: 4 },
    ];
    const axis = { stroke: text, grid: lines, ticks, font: "11px system-ui", gap: 2 };
    const filter = filterPowers;
    const powers = { filter, grid: { ...lines, filter }, ticks: { ...ticks, filter }, values: formatPowers };
    /** @type {uPlot.Options} */
    const options = {
      width: this.whole.clientWidth,
      height: findHeight(),
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, points: { size: 5 } },
      scales: { x: { time: false, range: (_plot, low, high) => [low, Math.max(high, low + 1)] }, y: { distr: 3 } },
      axes: [
        { ...axis, size: 26, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] },
        { ...axis, ...powers, size: 42 },
      ],
      series: [
        {},
        ...Array.from({ length: count }, (_, view) => ({
          stroke: VIEW_COLOURS[view],
          dash: VIEW_DASHES[view],
          width: 1.75,
          points: { show: data[0].length < FEW, size: 4, fill: VIEW_COLOURS[view] },
        })),
      ],
    };
    this.place.replaceChildren();
    this.plot = new uPlot(options, data, this.place);
  }

  /** Make the chart anew. Its colours are read when it is made. */
  rebuild() {
    this.drawn = 0;
    requestAnimationFrame(() => this.draw()); // after the style sheet has followed
  }

  /** Say whether curves are looked at: each takes Poise another solve. @param {boolean} anew to a new connection */
  watch(anew = false) {
    const watched = this.whole.clientWidth > 0;
    if (watched !== (anew || this.watched)) this.send({ do: "watch", curve: watched });
    this.watched = watched;
  }

  resize() {
    const width = this.whole.clientWidth;
    this.watch();
    if (!width) return;
    if (this.plot) this.plot.setSize({ width, height: findHeight() });
    else this.draw();
  }
}

function findHeight() {
  return innerHeight < LOW_WINDOW ? LOW : TALL;
}

/**
 * Columns as uPlot has them. Iterations, then the errors of each view, null where one was done earlier.
 * @param {number[][]} curves
 * @returns {uPlot.AlignedData}
 */
function makeTable(curves) {
  const longest = Math.max(...curves.map((errors) => errors.length));
  /** @param {number[]} errors */
  const makeColumn = (errors) =>
    Array.from({ length: longest }, (_, i) => (i < errors.length ? raiseToAxis(errors[i]) : null));
  return [Array.from({ length: longest }, (_, i) => i), ...curves.map(makeColumn)];
}

/** @param {number} error */
function raiseToAxis(error) {
  return Number.isFinite(error) ? Math.max(error, SMALLEST) : null;
}

/**
 * Only whole powers of ten stand at the axis. There are so many that they can be read.
 * @param {uPlot} _plot
 * @param {number[]} splits
 */
function filterPowers(_plot, splits) {
  const exponents = splits.map((value) => roundOrNull(Math.log10(value)));
  const whole = exponents.filter((x) => x !== null);
  const every = Math.ceil(whole.length / MOST_POWERS);
  return splits.map((value, i) => (exponents[i] !== null && exponents[i] % every === 0 ? value : null));
}

/** @param {number} value */
function roundOrNull(value) {
  return Math.abs(value - Math.round(value)) < 1e-6 ? Math.round(value) : null;
}

/** @param {uPlot} _plot @param {(number|null)[]} splits */
function formatPowers(_plot, splits) {
  return splits.map((value) => (value === null ? null : formatPower(value)));
}

/** @param {number} value */
function formatPower(value) {
  const exponent = Math.round(Math.log10(value));
  return Math.abs(exponent) <= 3 ? String(Number(value.toPrecision(1))) : `1e${exponent}`;
}

/**
 * A canvas does not know the style sheet's variables. The colour that an element gets from one.
 * @param {HTMLElement} place
 * @param {string} variable
 */
function readColour(place, variable) {
  const probe = makeElement("span", { hidden: true });
  probe.style.color = `var(${variable})`;
  place.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

/** @param {number[][]} curves */
function describeCurves(curves) {
  const said = curves.map((errors, i) => {
    if (!errors.length) return `${VIEW_LETTERS[i]}: no curve`;
    const [first, last] = [errors[0], errors[errors.length - 1]].map((error) => error.toExponential(1));
    return `${VIEW_LETTERS[i]}: ${first} to ${last} in ${errors.length - 1} iterations`;
  });
  return `Error after each iteration. ${said.join("; ")}`;
}
