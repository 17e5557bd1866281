/** The error after each iteration on a logarithmic axis: the method of A, and of B beside it. */

import uPlot from "uplot";
import {VIEW_COLOURS} from "poise/colours.js";
import {element} from "poise/element.js";

const SMALLEST = 1e-16; // an error of zero has no place on a logarithmic axis: it is drawn here
const HEIGHT = 168; // [px]

export class Chart {
  /** @param {import("poise/store.js").Store} store */
  constructor(store) {
    this.store = store;
    /** @type {any} */
    this.plot = null;
    this.drawn = "";
    this.place = element("div", {class: "chart", "data-testid": "chart", role: "img"});
    this.empty = element("p", {class: "hint"});
    this.whole = element("div", {class: "chart-panel"}, this.empty, this.place);
    store.on("answer", () => this.draw());
    store.on("theme", () => this.rebuild());
    new ResizeObserver(() => this.resize()).observe(this.whole);
  }

  /** The newest curves, or why there are none. */
  draw() {
    const views = this.store.get("answer")?.views ?? [];
    const curves = views.map((view) => view.errors).filter((errors) => errors?.length > 1);
    this.place.hidden = curves.length === 0;
    this.empty.hidden = curves.length > 0;
    this.empty.textContent = views.find((view) => view.note)?.note
      ?? "The error after each iteration appears here while a target is dragged.";
    if (!curves.length || this.whole.clientWidth === 0) return;
    const data = table(views.map((view) => view.errors ?? []));
    this.place.setAttribute("aria-label", described(views));
    const made = `${views.length}`;
    if (!this.plot || this.drawn !== made) this.build(data, views.length);
    else this.plot.setData(data);
    this.drawn = made;
  }

  build(data, count) {
    this.plot?.destroy();
    const style = getComputedStyle(document.documentElement);
    const [text, grid] = ["--text-faint", "--line"].map((name) => style.getPropertyValue(name).trim());
    const axis = {stroke: text, grid: {stroke: grid, width: 1}, ticks: {stroke: grid, size: 4}, font: "11px system-ui"};
    const powers = (plot, splits) => splits.map((x) => (x === null ? null : power(x)));
    const options = {
      width: this.whole.clientWidth, height: HEIGHT,
      legend: {show: false},
      cursor: {drag: {x: false, y: false}, points: {size: 5}},
      scales: {x: {time: false, range: (plot, low, high) => [low, Math.max(high, low + 1)]}, y: {distr: 3}},
      axes: [{...axis, size: 28, gap: 2, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]},
        {...axis, size: 40, gap: 2, values: powers}],
      series: [{}, ...Array.from({length: count}, (_, view) => ({
        stroke: VIEW_COLOURS[view], width: 1.75, points: {show: data[0].length < 30, size: 4, fill: VIEW_COLOURS[view]},
      }))],
    };
    this.place.replaceChildren();
    this.plot = new uPlot(options, data, this.place);
  }

  /** Colours are read when the chart is made, so another theme needs another chart. */
  rebuild() {
    this.drawn = "";
    requestAnimationFrame(() => this.draw()); // after the style sheet has followed
  }

  resize() {
    const width = this.whole.clientWidth;
    if (!width) return;
    if (this.plot) this.plot.setSize({width, height: HEIGHT});
    else this.draw();
  }
}

/** Columns as uPlot has them: iterations, then the errors of each view, null where one was done earlier. */
function table(curves) {
  const longest = Math.max(...curves.map((errors) => errors.length));
  const column = (errors) => Array.from({length: longest}, (_, i) => (i < errors.length ? seen(errors[i]) : null));
  return [Array.from({length: longest}, (_, i) => i), ...curves.map(column)];
}

function seen(error) {
  return Number.isFinite(error) ? Math.max(error, SMALLEST) : null;
}

/** Whole powers of ten in words; what lies between goes without. */
function power(value) {
  const exponent = Math.log10(value);
  if (Math.abs(exponent - Math.round(exponent)) > 1e-6) return "";
  return exponent >= -3 && exponent <= 3 ? String(Number(value.toPrecision(1))) : `1e${Math.round(exponent)}`;
}

function described(views) {
  const said = views.map((view, i) => (view.errors?.length
    ? `${"AB"[i]}: ${view.errors[0].toExponential(1)} to ${view.errors.at(-1).toExponential(1)} in ${view.errors.length - 1} iterations`
    : `${"AB"[i]}: no curve`));
  return `Error after each iteration. ${said.join("; ")}`;
}
