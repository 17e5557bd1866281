/** Starting the page. The connection, the store, the panels, and what tests may look at. */

/**
 * @import { Drag, FileOffer, Model, Send, State, Terrain, ToPage } from "poise/protocol/messages.ts"
 * @import { Viewport } from "poise/stage/viewport.js"
 * @import { Status } from "poise/state/topics.ts"
 * @import { BadFrames } from "poise/timeline/bad_frames.js"
 */

import { makeCommands } from "poise/commands/commands.js";
import { makeHelpSheet } from "poise/commands/help.js";
import { letGo, listenToKeys } from "poise/commands/shortcuts.js";
import { keep } from "poise/files/keep.js";
import { keepChanges } from "poise/files/unsaved.js";
import { makeAnnouncer } from "poise/notices/announcer.js";
import { Messages } from "poise/notices/messages.js";
import { makeSessionOver } from "poise/notices/session_over.js";
import { fillPanels } from "poise/panels/panels.js";
import { countPerSecond, Drags } from "poise/protocol/drags.js";
import { parseFrame } from "poise/protocol/frames.js";
import { letIdle } from "poise/protocol/idle.js";
import { Revisions } from "poise/protocol/revisions.js";
import { Connection } from "poise/protocol/socket.js";
import { Views } from "poise/stage/views.js";
import { keepSettings } from "poise/state/settings.js";
import { Store } from "poise/state/store.js";
import { describeKey } from "poise/timeline/keying.js";
import { Playhead } from "poise/timeline/playhead.js";

const MODEL = 1;
const KEPT = 500; // arrival times of frames

/** @param {string} id */
const findElement = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

class Page {
  constructor() {
    this.store = new Store();
    /** @type {number[]} [ms] when the last frames came */
    this.arrived = [];
    this.frames = 0;
    /** @type {Map<number, FileOffer>} announced, their bytes still to come */
    this.files = new Map();
    /** @type {Map<string, Model|Terrain>} messages whose GLB is still to come, by kind and id */
    this.assets = new Map();
    this.connection = new Connection({
      onMessage: (message) => this.receive(message),
      onPoses: (buffer) => this.showPoses(buffer),
      onGhost: (buffer) => this.store.set("ghost", parseFrame(buffer)),
      onAsset: ({ which, id, data }) => this.receiveAsset(which, id, data),
      onDownload: (id, data) => this.saveFile(id, data),
      onStatus: (status, reason) => this.changeStatus(status, reason),
    });
    /** @type {Send} */
    this.send = (action) => this.revisions.send(action);
    this.revisions = new Revisions(
      (action) => this.connection.send(action),
      (changes) => this.changeState(changes),
    );
    this.drags = new Drags(this.send);
    keepSettings(this.store);
    this.playhead = new Playhead(this.store, this.send);
    this.commands = makeCommands(this);
    this.messages = new Messages(findElement("messages"));
    this.views = new Views(findElement("views"), this.store, {
      onSelect: (joint) => this.commands.select(joint),
      onPin: (joint) => this.commands.pinPart(joint),
      onDrag: (drag, viewport) => this.sendDrag(drag, viewport),
      onMessage: (level, text) => this.messages.show(level, text),
      onCancel: () => this.send({ do: "cancel" }),
    });
    this.store.on("model", ({ message }) => this.forgetJoint(message));
    const { sheet, toggle } = makeHelpSheet();
    this.toggleHelp = toggle;
    /** @type {BadFrames|undefined} */
    this.badFrames = undefined;
    fillPanels(this, findElement);
    document.body.append(sheet, makeAnnouncer(this.store), makeSessionOver(this.store, this.connection));
    listenToKeys(this.commands);
    letGo();
    keepChanges(this.store);
    letIdle(this);
    this.store.on("shown", () => document.body.classList.remove("unfilled"));
  }

  /** @param {ToPage} message */
  receive(message) {
    const { store } = this;
    if (message.kind === "model" || message.kind === "terrain") {
      // The picture waits for its GLB, which is the next message, so that nothing is built twice.
      const waits = message.kind === "model" ? message.asset : message.id !== null;
      if (waits) this.assets.set(`${message.kind} ${message.id}`, message);
      else this.setDrawn(message, null);
    } else if (message.kind === "file") this.files.set(message.id, message);
    else if (message.kind === "state") this.revisions.receive(message);
    else {
      if (message.kind === "message") this.messages.show(message.level, message.text);
      store.set(message.kind, message);
    }
  }

  /** The first message has everything, later ones what has changed. @param {Partial<State>} changes */
  changeState(changes) {
    this.store.set("state", /** @type {State} */ ({ ...this.store.get("state"), ...changes }));
  }

  /** @param {number} which @param {number} id @param {ArrayBuffer} data */
  receiveAsset(which, id, data) {
    const kind = which === MODEL ? "model" : "terrain";
    const message = this.assets.get(`${kind} ${id}`);
    this.assets.delete(`${kind} ${id}`);
    if (message) this.setDrawn(message, data);
  }

  /** @param {Model|Terrain} message @param {ArrayBuffer|null} asset */
  setDrawn(message, asset) {
    if (message.kind === "model") this.store.set("model", { message, asset });
    else this.store.set("terrain", { message, asset });
  }

  /** A joint that was selected in another rig is nobody here. @param {Model} model */
  forgetJoint(model) {
    const joint = this.store.get("selected");
    if (joint && !model.joints.some(({ name }) => name === joint)) this.commands.select(null);
  }

  /** @param {ArrayBuffer} buffer */
  showPoses(buffer) {
    const frame = parseFrame(buffer);
    this.drags.receiveAnswer(frame.serial);
    this.arrived.push(performance.now());
    if (this.arrived.length > KEPT) this.arrived.shift();
    this.frames += 1;
    this.store.set("frame", frame);
  }

  /** @param {number} id @param {ArrayBuffer} data */
  saveFile(id, data) {
    const file = this.files.get(id);
    this.files.delete(id);
    if (!file) return;
    keep(new Blob([data], { type: file.mime }), file.name);
  }

  /** @param {Drag} drag @param {Viewport} viewport */
  sendDrag({ what, phase, ...rest }, viewport) {
    const { store } = this;
    if (rest.chain !== undefined && store.get("active") !== rest.chain) store.set("active", rest.chain);
    const serial = this.drags.drag({ do: what, ...rest, ...describeKey(this, what, phase), phase });
    store.set("dragged", { what, ...rest, viewport, serial });
    return serial;
  }

  /** @param {Status} status @param {string} reason */
  changeStatus(status, reason) {
    if (status === "open") {
      this.drags.forget();
      this.revisions.forget();
      const joint = this.store.get("selected");
      if (joint) this.send({ do: "select", joint });
    }
    this.store.set("farewell", reason);
    this.store.set("connection", status);
  }
}

const page = new Page();
const { store } = page;

/** What tests read; the page itself does not. */
/** @type {any} */ (window).poise = {
  get ready() {
    return page.frames > 0 && store.get("shown") === store.get("model")?.message.id;
  },
  get model() {
    return store.get("model")?.message ?? null;
  },
  get state() {
    return store.get("state");
  },
  get answer() {
    return store.get("answer");
  },
  get frame() {
    return store.get("frame");
  },
  get frames() {
    return page.frames;
  },
  get viewports() {
    return page.views.viewports;
  },
  get rates() {
    return { in: countPerSecond(page.arrived), out: countPerSecond(page.drags.sent) };
  },
  get roundTrips() {
    return page.drags.roundTrips;
  },
  get selected() {
    return store.get("selected");
  },
  send: page.send,
};

page.connection.open();
