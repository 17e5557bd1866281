/** The part of an offline page that lets methods race. What the server does for the viewer, without one. */

/**
 * @import { Kernels } from "poise/engine/kernels.js"
 * @import { PackedRaces } from "poise/engine/packed.ts"
 * @import { Begun } from "poise/engine/race.js"
 * @import { Action, Drag, Model, Race as RaceFigures } from "poise/protocol/messages.ts"
 * @import { Store } from "poise/state/store.js"
 */

import { Race } from "poise/engine/race.js";
import { RaceSide } from "poise/panels/race_side.js";
import { makeAnswer, makeFrame, makeState, makeViewAnswer } from "poise/protocol/own_messages.js";
import { formatFigure } from "poise/texts/figures.js";
import { makeRaceBar } from "poise/timeline/race_bar.js";

const WIDTH = 12; // numbers of a joint in a frame
const MEASURED_EVERY = 500; // [ms] figures change so that they can be read

/**
 * @typedef {object} RacingPage
 * @property {Store} store
 * @property {Model} model
 * @property {PackedRaces} races
 * @property {(tip: string) => Begun|null} findRace where the race for a tip begins; null: at the pose of the rig
 * @property {{scrub: (count: number) => void, play: () => void, reset: () => void}} commands
 */

export class Racing {
  /** @param {RacingPage} page @param {Kernels} kernels @param {Uint8Array} numbers */
  constructor(page, kernels, numbers) {
    this.page = page;
    this.kernels = kernels;
    this.numbers = numbers;
    /** Races by their chains, made when they are opened. @type {Map<string, Race>} */
    this.made = new Map();
    /** The race that is shown. @type {Race|null} */
    this.race = null;
    this.serial = 0;
    this.before = this.ticking = 0; // [ms] when the last picture was; of the next one that was asked for
    this.measured = this.waits = 0; // [ms] when figures were measured; of the next time
    /** @type {RaceFigures["rows"]} */
    this.rows = [];
    const { store, commands } = page;
    this.bar = makeRaceBar({ store, send: (action) => this.send(action) }, commands);
    this.side = new RaceSide(store, page.races, {
      choose: (chain) => this.open(chain),
      setRaced: (methods) => this.setRaced(methods),
    });
  }

  /** Open the race of a chain, or of the first. @param {string|null} id */
  open(id) {
    const { chains } = this.page.races;
    const packed = chains.find(({ chain }) => chain.id === id) ?? chains[0];
    const name = packed.chain.id;
    const race = this.made.get(name) ?? new Race(this.kernels, packed, this.numbers);
    this.made.set(name, race);
    this.race = race;
    race.begin(this.page.findRace(packed.chain.tip));
    this.begin(race);
  }

  /** Open the race of the chain that a joint belongs to. @param {string|null} joint */
  openFor(joint) {
    const { chains } = this.page.races;
    const ends = chains.find(({ chain }) => chain.tip === joint);
    const holds = ends ?? chains.find(({ chain }) => joint !== null && chain.joints.includes(joint));
    this.open(holds?.chain.id ?? null);
  }

  /** @param {string[]} methods that race from now on */
  setRaced(methods) {
    if (!this.race) return;
    this.race.setRaced(methods);
    this.begin(this.race);
  }

  /** What is shown is another race, or one of other methods. @param {Race} race */
  begin(race) {
    this.measured = 0;
    race.clock.restart();
    this.side.show(race);
    this.page.store.set("active", race.chain.id);
    this.tell();
    this.tick();
  }

  close() {
    this.race = null;
  }

  /** Do what the bar asks for. @param {Action} action */
  send(action) {
    const { clock } = this.race ?? {};
    if (!clock) return false;
    if (action.do === "race_play") clock.play(action.on === true);
    else if (action.do === "race_seek") clock.seek(Number(action.iteration));
    else if (action.do === "race_step") clock.seek(Math.trunc(clock.iteration) + Number(action.count));
    else if (action.do === "race_speed") clock.speed = Number(action.value);
    else if (action.do === "reset") clock.restart();
    this.tell();
    this.tick();
    return true;
  }

  /** @param {Drag} drag of the target @returns {number} its serial */
  drag(drag) {
    this.serial += 1;
    this.race?.drag(drag);
    this.tell();
    return this.serial;
  }

  /** The next picture, as long as it plays. */
  tick() {
    this.before = performance.now();
    this.ticking ||= requestAnimationFrame((now) => this.goOn(now));
  }

  /** @param {number} now [ms] */
  goOn(now) {
    this.ticking = 0;
    if (!this.race?.clock.playing) return;
    this.race.clock.advance(Math.max(now - this.before, 0) / 1000);
    this.before = now;
    this.tellFrame(this.race);
    if (this.race.clock.playing) this.ticking = requestAnimationFrame((next) => this.goOn(next));
  }

  /** Tell everything: what races, where the target is, and the poses. */
  tell() {
    const { store, model } = this.page;
    if (!this.race) return;
    const { chain, chains, clock, raced } = this.race;
    const state = makeState(model, {
      views: raced.length,
      run: "race",
      race: { playing: clock.playing, speed: clock.speed },
      solvers: raced.map((name) => ({ name: findTitle(chains.methods, name), options: {} })),
      chains: [{ ...chain }],
      serial: this.serial,
    });
    store.set("state", state);
    this.tellFrame(this.race);
  }

  /** Tell the poses of the iteration, and what they leave. @param {Race} race */
  tellFrame(race) {
    const { store, model } = this.page;
    const { clock } = race;
    const shown = race.show();
    const views = shown.map(({ last, ...view }) => makeViewAnswer({ ...view, sentence: say({ ...view, last }) }));
    const data = new Float32Array(shown.length * shown[0].maps.length);
    shown.forEach(({ maps }, i) => data.set(maps, i * maps.length));
    const values = { serial: this.serial, iteration: Math.trunc(clock.iteration), playing: clock.playing };
    const figures = { last: clock.last, columns: this.page.races.columns, rows: this.measure(race), reason: null };
    store.set("frame", makeFrame(data, { joints: model.joints.length, width: WIDTH }, views, values));
    store.set("answer", makeAnswer(views, figures));
  }

  /** The figures of all methods, measured twice a second at most. @param {Race} race */
  measure(race) {
    const now = performance.now();
    clearTimeout(this.waits);
    if (this.measured && now - this.measured < MEASURED_EVERY) {
      if (!race.clock.playing) this.waits = window.setTimeout(() => this.tell(), MEASURED_EVERY);
      return this.rows;
    }
    this.measured = now;
    this.rows = race.raced.map((method) => {
      const figures = race.record.measure(method);
      return { refused: null, values: this.page.races.columns.map(({ key }) => formatFigure(key, figures[key])) };
    });
    return this.rows;
  }
}

/** @param {{value: string, text: string}[]} methods @param {string} name */
function findTitle(methods, name) {
  return methods.find(({ value }) => value === name)?.text ?? name;
}

/** @param {{status: string, iterations: number, last: number}} view */
function say({ status, iterations, last }) {
  const count = `${iterations} iteration${iterations === 1 ? "" : "s"}`;
  if (status === "on_the_way") return `after ${count} of ${last}`;
  return status === "reached" ? `reached in ${count}` : `as near as it gets, in ${count}`;
}
