/** Beside a race in an exported page. Which chain, which methods, their errors and figures. */

/**
 * @import { PackedRaces } from "poise/engine/packed.ts"
 * @import { Race } from "poise/engine/race.js"
 * @import { Store } from "poise/state/store.js"
 */

import { Chart } from "poise/panels/chart.js";
import { makeRacePanel } from "poise/panels/race_panel.js";
import { VIEW_LETTERS } from "poise/widgets/colours.js";
import { makeElement, setOptions } from "poise/widgets/element.js";
import { makeLine, tick } from "poise/widgets/fields.js";

const [FEWEST, MOST] = [2, 6]; // methods of a race

export class RaceSide {
  /**
   * @param {Store} store
   * @param {PackedRaces} races
   * @param {{choose: (chain: string) => void, setRaced: (methods: string[]) => void}} commands
   */
  constructor(store, races, commands) {
    this.commands = commands;
    this.chain = makeElement("select", {
      "data-testid": "race-chain",
      onchange: () => commands.choose(this.chain.value),
    });
    setOptions(
      this.chain,
      races.chains.map(({ chain }) => ({ value: chain.id, text: chain.id })),
    );
    const chains = makeLine("Chain", this.chain);
    chains.hidden = races.chains.length < 2;
    this.methods = makeElement("div", { class: "checks", role: "group", "aria-label": "Methods that race" });
    this.chart = new Chart(store, () => false);
    this.whole = makeElement(
      "aside",
      { class: "race-side", "aria-label": "Race", "data-testid": "race-side" },
      ...[chains, this.methods, this.chart.whole, makeRacePanel(store)],
    );
  }

  /** Show who races. @param {Race} race */
  show(race) {
    this.chain.value = race.chain.id;
    const { methods } = race.chains;
    const boxes = methods.map(({ value, text, refusal }) => {
      const place = race.raced.indexOf(value);
      const box = tick({ "data-testid": `race-${value}` }, () => this.choose(boxes, methods));
      box.checked = place >= 0;
      const isFull = place < 0 ? race.raced.length >= MOST : race.raced.length <= FEWEST;
      box.disabled = refusal !== undefined || isFull;
      const letter = place >= 0 ? `${VIEW_LETTERS[place]}: ` : "";
      return { box, whole: makeElement("label", { class: "check", title: refusal ?? "" }, box, `${letter}${text}`) };
    });
    this.methods.replaceChildren(...boxes.map(({ whole }) => whole));
  }

  /** @param {{box: HTMLInputElement}[]} boxes @param {{value: string}[]} methods */
  choose(boxes, methods) {
    this.commands.setRaced(methods.filter((_, i) => boxes[i].box.checked).map(({ value }) => value));
  }
}
