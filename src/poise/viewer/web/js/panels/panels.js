/** Where each panel stands on the page. */

/** @import { Page } from "poise/commands/commands.js" */

import { makeHint } from "poise/notices/hint.js";
import { makeChainsPanel } from "poise/panels/chains.js";
import { Chart } from "poise/panels/chart.js";
import { LimitsPanel } from "poise/panels/limits_panel.js";
import { makeMatchPanel } from "poise/panels/match_panel.js";
import { Outliner } from "poise/panels/outliner.js";
import { makeRacePanel } from "poise/panels/race_panel.js";
import { makeScriptPanel } from "poise/panels/script_panel.js";
import { closeDrawersBeside, keepSidesClosed, makeEdges } from "poise/panels/sides.js";
import { makeSolverPanel } from "poise/panels/solver_panel.js";
import { makeTargetPanel } from "poise/panels/target_panel.js";
import { fillToolbar } from "poise/panels/toolbar.js";
import { fillTimeline } from "poise/timeline/timeline.js";
import { makeElement } from "poise/widgets/element.js";

const WIDE = "(min-width: 760px)"; // as in the style sheet

/**
 * @param {Page} page
 * @param {(id: string) => HTMLElement} at the places of index.html
 */
export function fillPanels(page, at) {
  const { store, commands } = page;
  fillToolbar(at("toolbar"), page, commands);
  at("left").append(
    makePanel("Outliner", "outliner", new Outliner(store, commands).whole),
    makePanel("Chains", "chains", makeChainsPanel(page)),
    makePanel("Bone and limits", "limits", new LimitsPanel(page, commands).whole),
  );
  const script = makePanel("Script", "script", makeScriptPanel(page));
  store.on("state", ({ controls }) => (script.hidden = !controls.length));
  const match = makePanel("Match", "match", makeMatchPanel(page));
  store.on("state", ({ retargeting }) => (match.hidden = !retargeting));
  const race = makePanel("Race", "race", makeRacePanel(store));
  race.hidden = true;
  store.on("state", ({ run, driven }) => {
    const races = run === "race" && !driven;
    const opens = races && race.hidden && matchMedia(WIDE).matches; // curves and figures are at the right
    race.hidden = !races;
    if (opens) store.set("closed", { ...store.get("closed"), right: false });
  });
  at("right").append(
    script,
    makePanel("Solver", "solver", makeSolverPanel(page, commands)),
    race,
    match,
    makePanel("Effector and target", "target", makeTargetPanel(page)),
    makePanel("Convergence", "convergence", new Chart(store, page.send).whole),
  );
  fillTimeline(at("timeline"), page, commands);
  document.body.append(...makeEdges(store), makeHint(store));
  closeDrawersBeside();
  keepSidesClosed(store);
}

/** A panel that its title folds. @param {string} title @param {string} name @param {HTMLElement} body */
function makePanel(title, name, body) {
  return makeElement(
    "details",
    { class: `panel panel-${name}`, open: true, "data-testid": `panel-${name}` },
    makeElement("summary", {}, title),
    makeElement("div", { class: "panel-body" }, body),
  );
}
