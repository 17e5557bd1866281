/** The viewports side by side, one to six. Made, fed and taken away as the state says. */

/**
 * @import { Drag, State } from "poise/protocol/messages.ts"
 * @import { Side } from "poise/stage/view_cube.js"
 * @import { Store } from "poise/state/store.js"
 * @import { Topics } from "poise/state/topics.ts"
 */

import { keep } from "poise/files/keep.js";
import { makeBusySign } from "poise/notices/busy_sign.js";
import { makeCaption } from "poise/stage/caption.js";
import { Viewport } from "poise/stage/viewport.js";
import { chooseShadows } from "poise/state/settings.js";
import { VIEW_LETTERS } from "poise/widgets/colours.js";
import { makeElement } from "poise/widgets/element.js";

/**
 * @typedef {{viewport: Viewport, whole: HTMLElement, forget: () => void, loading: boolean}} View
 *
 * @typedef {object} Hands what the viewports report
 * @property {(joint: string|null) => void} onSelect
 * @property {(joint: string) => void} onPin a hand or foot was clicked
 * @property {(drag: any, viewport: any) => number} [onDrag] with the viewport in which it is done; its serial. Without
 * it
 *   nothing can be dragged
 * @property {(level: "note"|"done", text: string) => void} onMessage
 * @property {() => void} onCancel give up what is being solved
 */

export class Views {
  /**
   * @param {HTMLElement} place
   * @param {Store} store
   * @param {Hands} hands
   */
  constructor(place, store, hands) {
    this.place = place;
    this.store = store;
    this.hands = hands;
    /** @type {View[]} */
    this.views = [];
    this.turned = false; // by hand: then the camera is left alone
    store.on("model", (model) => this.callEach((view) => this.load(view, model)));
    store.on("terrain", ({ message, asset }) => this.callEach(({ viewport }) => viewport.setTerrain(message, asset)));
    store.on("state", (state) => this.follow(state));
    store.on("dragged", (drag) => this.followDrag(drag));
    store.on("answer", (answer) => this.callEach(({ viewport }) => viewport.setAnswer(answer)));
    store.on("frame", (frame) => this.callEach((view) => view.loading || view.viewport.setFrame(frame)));
    store.on("ghost", (frame) => this.callEach((view) => view.loading || view.viewport.setGhost(frame)));
    store.on("selected", (joint) => this.callEach(({ viewport }) => viewport.setSelected(joint)));
    store.on("show", (show) => this.callEach(({ viewport }) => viewport.setShow(show)));
    store.on("active", (chain) => this.callEach(({ viewport }) => viewport.activateChain(chain)));
    store.on(["gizmo", "space"], () => this.callEach((view) => this.setGizmo(view)));
    store.on("marks", ({ marks }) => this.callEach(({ viewport }) => viewport.clouds.set(marks)));
    store.on(["selected", "turning"], () => this.callEach((view) => this.setBone(view)));
    store.on(
      "connection",
      (status) => status === "open" && this.callEach(({ viewport }) => viewport.actor?.handles.forgetHeld()),
    );
    store.on("hinted", (on) => this.callEach(({ viewport }) => viewport.setHinted(on)));
    store.on("theme", (theme) => this.callEach(({ viewport }) => viewport.setTheme(theme)));
    new ResizeObserver(() => this.resize()).observe(place);
  }

  /** @returns {Viewport[]} the viewports, A first */
  get viewports() {
    return this.views.map(({ viewport }) => viewport);
  }

  resize() {
    this.callEach(({ viewport }) => viewport.resize());
    this.lookAlike();
  }

  /** @param {(view: View) => void} act */
  callEach(act) {
    this.views.forEach(act);
  }

  /** As many views as the state has, and the state in each. @param {State} state */
  follow(state) {
    const before = this.views.length;
    while (this.views.length > state.views) this.remove();
    while (this.views.length < state.views) this.add();
    this.place.dataset.views = String(state.views);
    this.callEach(({ viewport }) => viewport.setState(state));
    if (before && before !== state.views && !this.turned) this.frameAll(); // the views have another shape now
  }

  /**
   * The state comes when a drag has ended. Until then the other view is told by the one in which it is done.
   * @param {Topics["dragged"]} drag
   */
  followDrag(drag) {
    for (const viewport of this.viewports)
      if (viewport !== drag.viewport || drag.what === "pull") viewport.moveHandle(drag, drag.serial);
  }

  /** @param {View} view */
  setGizmo({ viewport }) {
    viewport.gizmo.setMode(this.store.need("gizmo"), this.store.need("space"));
  }

  /** The rings are on the selected bone, or on a target. @param {View} view */
  setBone({ viewport }) {
    viewport.bone.give(this.store.get("turning") ? this.store.get("selected") : null);
  }

  add() {
    const { store } = this;
    const slot = this.views.length;
    const canvas = makeElement("div", { class: "view-canvas" });
    const { whole: words, forget: forgetWords } = makeCaption(store, slot);
    const sign = slot === 0 ? makeBusySign(store, () => this.hands.onCancel()) : null;
    if (sign) words.append(sign.whole);
    const forget = () => [forgetWords, sign?.forget].forEach((each) => each?.());
    const whole = makeElement(
      "section",
      {
        class: "view",
        "aria-label": `View ${VIEW_LETTERS[slot]}`,
        "data-testid": `view-${VIEW_LETTERS[slot].toLowerCase()}`,
      },
      canvas,
      words,
    );
    this.place.append(whole);
    const { onSelect, onPin, onDrag, onMessage } = this.hands;
    const onCamera = () => {
      this.turned = true;
      this.lookAlike(viewport);
    };
    /** @param {Drag} what @returns {number} */
    const drag = (what) => onDrag?.(what, viewport) ?? 0;
    const viewport = new Viewport(canvas, {
      slot,
      onSelect,
      onPin,
      onDrag: onDrag && drag,
      onTake: (chain, tip) => this.take(chain, tip),
      onHold: (turns) => store.set("holds", { turns }),
      onMessage: (text) => onMessage("note", text),
      onCamera,
    });
    const view = { viewport, whole, forget, loading: false };
    this.views.push(view);
    chooseShadows(store, viewport);
    this.fill(view);
  }

  /**
   * Make a target the active one. Its effector is selected, except while a joint is picked or bones are turned.
   * @param {string} chain
   * @param {string} tip
   */
  take(chain, tip) {
    const { store } = this;
    if (!store.get("picking") && !store.get("turning")) this.hands.onSelect(tip);
    store.set("active", chain);
  }

  /** Everything that came before this view was there. @param {View} view */
  fill(view) {
    const { store } = this;
    const { viewport } = view;
    const terrain = store.get("terrain");
    viewport.setTheme(store.need("theme"));
    viewport.setShow(store.need("show"));
    this.setGizmo(view);
    viewport.clouds.set(store.get("marks")?.marks ?? []);
    viewport.setHinted(store.get("hinted") === true);
    if (terrain) viewport.setTerrain(terrain.message, terrain.asset);
    const model = store.get("model");
    if (model) this.load(view, model);
    else view.loading = true;
  }

  /**
   * Frames wait until the model that they belong to is there. Then the newest is shown.
   * @param {View} view
   * @param {Topics["model"]} of
   */
  async load(view, { message, asset }) {
    const { store } = this;
    view.loading = true;
    await view.viewport.setModel(message, asset);
    if (store.get("model")?.message !== message || !this.views.includes(view)) return;
    view.loading = false;
    /** @param {keyof Topics} topic @param {(value: any) => void} take */
    const give = (topic, take) => store.get(topic) && take.call(view.viewport, store.get(topic));
    give("state", view.viewport.setState);
    give("ghost", view.viewport.setGhost);
    give("frame", view.viewport.setFrame);
    give("answer", view.viewport.setAnswer);
    view.viewport.setSelected(store.get("selected"));
    view.viewport.activateChain(store.get("active"));
    this.setBone(view);
    if (view !== this.views[0]) this.lookAlike();
    store.set("shown", message.id);
  }

  remove() {
    const view = this.views.pop();
    view?.forget();
    view?.viewport.dispose();
    view?.whole.remove();
  }

  /** All views look from the same place. What differs is the answer, not the angle. */
  lookAlike(from = this.viewports[0]) {
    for (const viewport of this.viewports)
      if (viewport !== from) viewport.view.set(from.view.readState(), from.view.touched);
  }

  /** Forget the ways of the tips. */
  clearTrails() {
    this.callEach(({ viewport }) => viewport.clearTrail());
  }

  frameAll() {
    this.callEach(({ viewport }) => viewport.resize());
    this.viewports[0]?.frameAll();
    this.lookAlike();
  }

  frameSelected() {
    this.viewports[0]?.frameSelected();
    this.lookAlike();
  }

  /** @param {Side} side */
  lookFrom(side) {
    this.viewports[0]?.lookFrom(side);
    this.lookAlike();
  }

  /** A PNG of all views, in their places on the page. */
  async savePicture() {
    const pictures = await Promise.all(this.viewports.map(async (each) => createImageBitmap(await each.snapshot())));
    const places = this.viewports.map(({ stage }) => stage.canvas.getBoundingClientRect());
    const [left, top] = [Math.min(...places.map(({ x }) => x)), Math.min(...places.map(({ y }) => y))];
    const corners = places.map(({ x, y, width }, i) => {
      const scale = pictures[i].width / width; // pixels of the picture for one of the page
      return [Math.round(scale * (x - left)), Math.round(scale * (y - top))];
    });
    const sheet = document.createElement("canvas");
    sheet.width = Math.max(...pictures.map(({ width }, i) => corners[i][0] + width));
    sheet.height = Math.max(...pictures.map(({ height }, i) => corners[i][1] + height));
    pictures.forEach((picture, i) => sheet.getContext("2d")?.drawImage(picture, corners[i][0], corners[i][1]));
    const name = (this.store.get("model")?.message.name ?? "poise").replace(/\.[a-z]+$/i, "");
    /** @param {Blob} blob */
    const save = (blob) => {
      keep(blob, `${name}.png`);
      this.hands.onMessage("done", `saved ${name}.png`);
    };
    sheet.toBlob((blob) => blob && save(blob), "image/png");
  }
}
