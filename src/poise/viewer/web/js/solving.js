/** The part of an offline page that solves. Drags in, poses and errors out, without a server. */

/**
 * @import { Kernels } from "poise/engine/kernels.js"
 * @import { PackedBody, PackedChains } from "poise/engine/packed.ts"
 * @import { Chain, Drag, Model } from "poise/protocol/messages.ts"
 * @import { Store } from "poise/state/store.js"
 */

import { Body } from "poise/engine/body.js";
import { Chains } from "poise/engine/chains.js";
import { SolvePanel } from "poise/panels/solve_panel.js";
import { makeAnswer, makeFrame, makeState, makeViewAnswer } from "poise/protocol/own_messages.js";

const WIDTH = 12; // numbers of a joint in a frame

/**
 * @typedef {object} SolvingPage
 * @property {Store} store
 * @property {Model} model
 * @property {{body: PackedBody|null, solved: PackedChains|null, chains: Chain[], scope: "limbs"|"chains"}} data
 * @property {(poser: Body|Chains) => void} onStart called before a pose is changed
 */

export class Solving {
  /** @param {SolvingPage} page @param {Kernels} kernels @param {Uint8Array} numbers */
  constructor(page, kernels, numbers) {
    this.page = page;
    const { body, solved, chains, scope } = page.data;
    /** @type {Body|Chains|null} */
    const poser = body
      ? new Body(kernels, body, numbers)
      : solved && new Chains(kernels, solved, numbers, { chains, scope });
    if (!poser) throw new Error("the page has nothing to solve");
    this.poser = poser;
    this.serial = 0;
    this.panel = new SolvePanel(page.store, {
      setMethod: (name) => this.act(() => poser instanceof Chains && poser.setMethod(name)),
      setMode: (name) => this.act(() => poser.setMode(name)),
      setPreference: (name) => this.act(() => poser instanceof Body && poser.setPreference(name)),
      reset: () => this.act(() => poser.reset()),
    });
    this.panel.fill(poser);
  }

  /** A clip is shown. Its parts can be pulled, and no target is seen. */
  watch() {
    const state = { ...this.makeState(), chains: [], pulled: null };
    this.page.store.set("state", state);
    this.panel.say(this.poser.hint);
  }

  /** A drag of the viewport. @param {Drag} drag @returns {number} its serial */
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

  /** @param {() => void} change */
  act(change) {
    change();
    this.panel.fill(this.poser);
    this.show();
  }

  /** Show pose, goals and errors. */
  show() {
    const { store, model } = this.page;
    const { answer } = this.poser;
    const { status, curve, iterations, milliseconds, left } = answer;
    const view = makeViewAnswer({ status, errors: curve, iterations, microseconds: 1000 * milliseconds, left });
    const maps = Float32Array.from(this.poser.computeMaps());
    store.set("state", this.makeState());
    store.set("frame", makeFrame(maps, { joints: model.joints.length, width: WIDTH }, [view], { serial: this.serial }));
    store.set("answer", makeAnswer([view]));
    this.panel.show(answer, model);
  }

  makeState() {
    return makeState(this.page.model, { serial: this.serial, ...this.poser.describe() });
  }
}
