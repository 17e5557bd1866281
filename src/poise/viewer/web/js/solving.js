/** The part of an offline page that solves: drags in, poses and errors out, without a server. */

// @ts-nocheck: the types of its problems are still to be written

import { Body } from "poise/engine/body.js";
import { Chains } from "poise/engine/chains.js";
import { Kernels } from "poise/engine/kernels.js";
import { SolvePanel } from "poise/panels/solve_panel.js";

const WIDTH = 12; // numbers of a joint in a frame

export class Solving {
  /**
   * @param {{store: any, viewport: any, model: any, data: any, onStart: (poser: any) => void}} page
   * @param {Uint8Array} kernels the module
   * @param {Uint8Array} numbers
   */
  static async load(page, kernels, numbers) {
    return new Solving(page, await Kernels.load(kernels), numbers);
  }

  constructor(page, kernels, numbers) {
    this.page = page;
    const { body, solved, chains, scope } = page.data;
    this.poser = body ? new Body(kernels, body, numbers) : new Chains(kernels, solved, numbers, { chains, scope });
    this.serial = 0;
    this.panel = new SolvePanel(page.store, {
      setMethod: (name) => this.act(() => this.poser.setMethod(name)),
      setMode: (name) => this.act(() => this.poser.setMode(name)),
      setCompares: (on) => this.act(() => this.poser.setCompares(on)),
      setRest: (on) => this.act(() => this.poser.setRestPull(on)),
      reset: () => this.act(() => this.poser.reset()),
    });
    this.panel.fill(this.poser);
  }

  /** A clip is shown: its parts can be pulled, and no target is seen. */
  watch() {
    this.page.viewport.setState({ ...this.state(), chains: [], pulled: null });
    this.panel.say(this.poser.hint);
  }

  /** A drag of the viewport. @returns {number} its serial */
  drag(drag) {
    this.page.onStart(this.poser);
    this.serial += 1;
    this.act(() => this.poser.drag(drag));
    return this.serial;
  }

  /** @param {string} joint */
  pin(joint) {
    this.page.onStart(this.poser);
    this.act(() => this.poser.pin(joint));
  }

  act(change) {
    change();
    this.panel.fill(this.poser);
    this.show();
  }

  /** Show pose, goals and errors. */
  show() {
    const { viewport, store, model } = this.page;
    const { answer } = this.poser;
    const answers = this.poser.compared?.length ? this.poser.compared : [answer];
    const nothing = { at_limit: [], resting: [], open: [], note: null };
    const views = answers.map(({ status, curve }) => ({ ...nothing, status, errors: curve }));
    viewport.setState(this.state());
    viewport.setFrame(this.frame());
    viewport.setAnswer({ views: [{ ...nothing, status: answer.status, errors: answer.curve }] });
    store.set("answer", { views });
    const metres = model.metres_per_unit ?? null;
    this.panel.show(answer, metres);
    this.panel.compare(this.poser.compared ?? [], metres);
  }

  state() {
    const { model } = this.page;
    const nothing = { limits: {}, outlines: {}, handles: [] };
    return {
      views: 1,
      name: model.name,
      clip: null,
      driven: false,
      serial: this.serial,
      ...nothing,
      ...this.poser.describe(),
    };
  }

  /** The pose, in the form in which the server sends poses. */
  frame() {
    const { answer } = this.poser;
    const data = Float32Array.from(this.poser.computeMaps());
    const figures = { microseconds: [1000 * answer.milliseconds], left: [answer.left ?? NaN] };
    return {
      kind: "pose",
      views: 1,
      width: WIDTH,
      characters: 1,
      joints: data.length / WIDTH,
      frame: 0,
      serial: this.serial,
      time: 0,
      status: [answer.status],
      playing: false,
      busy: false,
      ...figures,
      iterations: [answer.iterations],
      version: 0,
      data,
      bytes: data.byteLength,
    };
  }
}
