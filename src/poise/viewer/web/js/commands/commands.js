/** What buttons, menus and keys can ask for. Each is in one place: {@link makeCommands}. */

/**
 * @import { Messages } from "poise/notices/messages.js"
 * @import { Drags } from "poise/protocol/drags.js"
 * @import { Send, State } from "poise/protocol/messages.ts"
 * @import { Connection } from "poise/protocol/socket.js"
 * @import { Side } from "poise/stage/view_cube.js"
 * @import { Views } from "poise/stage/views.js"
 * @import { Store } from "poise/state/store.js"
 * @import { Show } from "poise/state/topics.ts"
 * @import { BadFrames } from "poise/timeline/bad_frames.js"
 * @import { Playhead } from "poise/timeline/playhead.js"
 */

import { chooseNextTheme } from "poise/state/settings.js";
import { find } from "poise/widgets/element.js";

/** Why the gizmo does not turn what it has. */
export const NO_TURN = "a position target has no rotation: choose 'place' for its chain";

/**
 * @typedef {object} Page
 * @property {Store} store
 * @property {Send} send
 * @property {Drags} drags
 * @property {Connection} connection
 * @property {Views} views
 * @property {Playhead} playhead
 * @property {Messages} messages
 * @property {() => void} toggleHelp
 * @property {BadFrames} [badFrames] of planted feet
 * @property {Commands} commands
 *
 * @typedef {ReturnType<typeof makeCommands>} Commands
 */

/** @param {Page} page */
export function makeCommands(page) {
  return {
    ...makeEdits(page),
    ...makeLooks(page),
    /** To the next bad frame, or the one before. @param {1|-1} way */
    badFrame: (way) => page.badFrames?.go(way),
    /** Play, or pause: the race, or the clip. */
    play: () =>
      isRacing(page) ? page.send({ do: "race_play", on: !page.store.get("frame")?.playing }) : page.playhead.toggle(),
    /** @param {number} frames how many frames of the clip onwards, or iterations of the race */
    scrub: (frames) => (isRacing(page) ? page.send({ do: "race_step", count: frames }) : page.playhead.step(frames)),
  };
}

/** Whether methods race: what plays is the race then, not a clip. @param {Page} page */
function isRacing({ store }) {
  return store.get("state")?.run === "race";
}

/** @param {Page} page */
function makeEdits(page) {
  const { store, send } = page;
  const getState = () => store.get("state");
  return {
    undo: () => send({ do: "undo" }),
    redo: () => send({ do: "redo" }),
    step: () => send({ do: "step" }),
    /** A race of methods for the active chain. */
    race() {
      const active = store.get("active");
      const known = getState()?.chains.some(({ id }) => id === active);
      send({ do: "race", chain: known ? active : null });
    },
    reset() {
      send({ do: "reset" });
      page.views.clearTrails();
    },
    keepStart: () => send({ do: "keep_start" }),
    /** Select a joint. Who picks the next one gets it instead. @param {string|null} joint */
    select(joint) {
      const picking = store.get("picking");
      if (picking && joint) {
        store.set("picking", null);
        picking.take(joint);
        return;
      }
      store.set("selected", joint);
      const chains = getState()?.chains.filter((each) => each.tip === joint) ?? [];
      const chain = chains.find((each) => each.kind !== "pin") ?? chains[0];
      if (chain) store.set("active", chain.id);
      send({ do: "select", joint });
    },
    /** First what is being picked, then the selection. */
    unselect() {
      if (store.get("picking")) store.set("picking", null);
      else this.select(null);
    },
    /** Pin the selected joint where it is, or let it go. */
    pin() {
      const joint = store.get("selected");
      if (joint) this.pinPart(joint);
    },
    /** @param {string} joint */
    pinPart(joint) {
      send({ do: "pin", joint, on: !isPinned(getState(), joint) });
    },
  };
}

/** @param {Page} page */
function makeLooks(page) {
  const { store, send } = page;
  return {
    /** @param {"move"|"turn"} mode */
    gizmo(mode) {
      if (!canBoneMove(store)) store.set("turning", false); // the target again: a bone has the rings only
      store.set("gizmo", mode);
      if (mode === "turn" && !store.get("holds")?.turns) page.messages.show("note", NO_TURN);
    },
    /** Rings on the selected bone, or the gizmo back on the target. */
    turnBones() {
      const turning = !store.get("turning");
      store.set("turning", turning);
      if (turning && !store.get("selected")) page.messages.show("note", "click a bone: rings to turn it appear on it");
    },
    key: () => store.set("keying", !store.get("keying")),
    /** Arrows and rings along the world's axes, or the target's own. */
    space: () => store.set("space", store.get("space") === "local" ? "world" : "local"),
    /** @param {number} count from 1 to 6 */
    countViews: (count) => send({ do: "views", count }),
    /** @param {keyof Show} what @param {any} value */
    show: (what, value) => store.set("show", { ...store.need("show"), [what]: value }),
    ghost: () => flip(store, "ghost"),
    through: () => flip(store, "through"),
    frameAll: () => page.views.frameAll(),
    frameSelected: () => page.views.frameSelected(),
    /** @param {Side} side again: the one opposite */
    lookFrom: (side) => page.views.lookFrom(side),
    /** The arrows move what is chosen in the view. */
    focusView: () => page.views.viewports[0]?.container.focus({ focusVisible: true }),
    search: () => find("[data-testid=outliner-search]")?.focus(),
    help: () => page.toggleHelp(),
    theme: () => chooseNextTheme(store),
  };
}

/** @param {Store} store @param {"ghost"|"through"} what */
function flip(store, what) {
  const show = store.need("show");
  store.set("show", { ...show, [what]: !show[what] });
}

/**
 * @param {Store} store
 * @returns {boolean} whether the selected bone can be moved, too: the free root of a rig
 */
export function canBoneMove(store) {
  const joints = store.get("model")?.message.joints ?? [];
  return joints.find(({ name }) => name === store.get("selected"))?.kind === "free";
}

/**
 * @param {State|null} state
 * @param {string} joint
 * @returns {boolean} whether a chain pins this joint
 */
export function isPinned(state, joint) {
  return Boolean(state?.chains.some((chain) => chain.kind === "pin" && chain.tip === joint && chain.enabled));
}
