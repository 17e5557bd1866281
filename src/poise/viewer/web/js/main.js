/** Starting the page: the connection, the store, the panels, and what tests may look at. */

import { makeCommands } from "poise/commands/commands.js";
import { helpSheet } from "poise/commands/help.js";
import { letGo, listenToKeys } from "poise/commands/shortcuts.js";
import { keep } from "poise/files/keep.js";
import { keepChanges } from "poise/files/unsaved.js";
import { announcer } from "poise/notices/announcer.js";
import { Messages } from "poise/notices/messages.js";
import { sessionOver } from "poise/notices/session_over.js";
import { fillPanels } from "poise/panels/panels.js";
import { Drags, perSecond } from "poise/protocol/drags.js";
import { parseFrame } from "poise/protocol/frames.js";
import { letIdle } from "poise/protocol/idle.js";
import { Connection } from "poise/protocol/socket.js";
import { Views } from "poise/stage/views.js";
import { keepSettings } from "poise/state/settings.js";
import { Store } from "poise/state/store.js";
import { keyed } from "poise/timeline/keying.js";
import { Playhead } from "poise/timeline/playhead.js";

const MODEL = 1;
const KEPT = 500; // arrival times of frames

const at = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

class Page {
  constructor() {
    this.store = new Store();
    this.arrived = [];
    this.frames = 0;
    this.files = new Map(); // announced, their bytes still to come
    this.assets = new Map(); // messages whose GLB is still to come, by which and id
    this.connection = new Connection({
      onMessage: (message) => this.receive(message),
      onPoses: (buffer) => this.showPoses(buffer),
      onGhost: (buffer) => this.store.set("ghost", parseFrame(buffer)),
      onAsset: ({ which, id, data }) => this.receiveAsset(which, id, data),
      onDownload: (id, data) => this.saveFile(id, data),
      onStatus: (status, reason) => this.changeStatus(status, reason),
    });
    this.send = (action) => this.connection.send(action);
    this.drags = new Drags(this.send);
    keepSettings(this.store);
    this.playhead = new Playhead(this.store, this.send);
    this.commands = makeCommands(this);
    this.messages = new Messages(at("messages"));
    this.views = new Views(at("views"), this.store, {
      onSelect: (joint) => this.commands.select(joint),
      onPin: (joint) => this.commands.pinPart(joint),
      onDrag: (drag, viewport) => this.sendDrag(drag, viewport),
      onMessage: (level, text) => this.messages.show(level, text),
      onCancel: () => this.send({ do: "cancel" }),
    });
    this.store.on("model", ({ message }) => this.forgetJoint(message));
    const { sheet, toggle } = helpSheet();
    this.toggleHelp = toggle;
    fillPanels(this, at);
    document.body.append(sheet, announcer(this.store), sessionOver(this.store, this.connection));
    listenToKeys(this.commands);
    letGo();
    keepChanges(this.store);
    letIdle(this);
    this.store.on("shown", () => document.body.classList.remove("unfilled"));
  }

  receive(message) {
    const { store } = this;
    const wanting = { model: (m) => m.asset, terrain: (m) => m.id !== null };
    if (message.kind in wanting) {
      // The picture waits for its GLB, which is the next message, so that nothing is built twice.
      if (wanting[message.kind](message)) this.assets.set(`${message.kind} ${message.id}`, message);
      else store.set(message.kind, { message, asset: null });
    } else if (message.kind === "message") {
      this.messages.show(message.level, message.text);
      store.set("message", message);
    } else if (message.kind === "file") this.files.set(message.id, message);
    else if (message.kind === "state")
      store.set("state", { ...store.get("state"), ...message }); // what has changed
    else store.set(message.kind, message);
  }

  receiveAsset(which, id, data) {
    const kind = which === MODEL ? "model" : "terrain";
    const message = this.assets.get(`${kind} ${id}`);
    this.assets.delete(`${kind} ${id}`);
    if (message) this.store.set(kind, { message, asset: data });
  }

  /** A joint that was selected in another rig is nobody here. */
  forgetJoint(model) {
    const joint = this.store.get("selected");
    if (joint && !model.joints.some(({ name }) => name === joint)) this.commands.select(null);
  }

  showPoses(buffer) {
    const frame = parseFrame(buffer);
    this.drags.answered(frame.serial);
    this.arrived.push(performance.now());
    if (this.arrived.length > KEPT) this.arrived.shift();
    this.frames += 1;
    this.store.set("frame", frame);
  }

  saveFile(id, data) {
    const file = this.files.get(id);
    this.files.delete(id);
    if (!file) return;
    keep(new Blob([data], { type: file.mime }), file.name);
  }

  sendDrag({ what, phase, ...rest }, viewport) {
    const { store } = this;
    if (rest.chain !== undefined && store.get("active") !== rest.chain) store.set("active", rest.chain);
    const serial = this.drags.drag({ do: what, ...rest, ...keyed(this, what, phase), phase });
    store.set("dragged", { what, ...rest, viewport, serial });
    return serial;
  }

  changeStatus(status, reason) {
    if (status === "open") {
      this.drags.forget();
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
    return { in: perSecond(page.arrived), out: perSecond(page.drags.sent) };
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
