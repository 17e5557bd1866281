/** A cube in the corner that turns as the picture does. It shows from where the figure is seen, and a click sets it. */

/** @import { PerspectiveCamera } from "three" */

import { makeElement } from "poise/widgets/element.js";
import { Vector3 } from "three";

const HALF = 21; // pixels
/** @typedef {"front"|"back"|"left"|"right"|"top"|"bottom"} Side */

/** @type {Side[]} */
export const SIDES = ["front", "back", "left", "right", "top", "bottom"];
/** @type {Record<Side, Side>} */
const OPPOSITE = { front: "back", back: "front", left: "right", right: "left", top: "bottom", bottom: "top" };
const KEYS = { front: "5", back: "5, 5", left: "3", right: "3, 3", top: "7", bottom: "7, 7" };
const TITLES = {
  front: "From the front",
  back: "From behind",
  left: "From the figure's left",
  right: "From the figure's right",
  top: "From above",
  bottom: "From below",
};

/**
 * Directions of the sides, by the axes upwards and to the front.
 * @param {Vector3} up
 * @param {Vector3} front
 * @returns {Record<Side, Vector3>}
 */
export function listSides(up, front) {
  const left = new Vector3().crossVectors(up, front);
  const [right, back, bottom] = [left, front, up].map((way) => way.clone().negate());
  return { front: front.clone(), back, left, right, top: up.clone(), bottom };
}

/** What a second press of a key for this side asks for. @param {Side} side */
export function findOpposite(side) {
  return OPPOSITE[side];
}

export class ViewCube {
  /**
   * @param {HTMLElement} container
   * @param {(side: Side) => void} onSide
   */
  constructor(container, onSide) {
    this.faces = SIDES.map((side) => makeFace(side, onSide));
    this.cube = makeElement("div", { class: "view-cube-turned" }, ...this.faces);
    this.whole = makeElement("div", { class: "view-cube", "data-testid": "view-cube" }, this.cube);
    container.append(this.whole);
    this.shown = "";
  }

  /** Lay out the faces. @param {Record<Side, Vector3>} sides */
  setSides(sides) {
    this.faces.forEach((button, k) => {
      const side = SIDES[k];
      const out = sides[side];
      const level = side !== "top" && side !== "bottom";
      const upwards = level ? sides.top : side === "top" ? sides.back : sides.front;
      const right = new Vector3().crossVectors(upwards, out);
      button.style.transform = formatMatrix(right, upwards.clone().negate(), out, out.clone().multiplyScalar(HALF));
    });
    this.shown = "";
  }

  /** Turn as the picture is. @param {PerspectiveCamera} camera with its matrices up to date */
  turn(camera) {
    const e = camera.matrixWorld.elements; // columns: to the right, up and back, in the world
    /** @param {number} k */
    const readColumn = (k) => new Vector3(e[k], -e[4 + k], e[8 + k]);
    const turned = formatMatrix(readColumn(0), readColumn(1), readColumn(2), new Vector3());
    if (turned === this.shown) return;
    this.shown = turned;
    this.cube.style.transform = turned;
  }

  dispose() {
    this.whole.remove();
  }
}

/** @param {Side} side @param {(side: Side) => void} onSide */
function makeFace(side, onSide) {
  const title = `${TITLES[side]} (${KEYS[side]})`;
  const attributes = { type: "button", class: "view-cube-face", title, tabindex: -1, "data-side": side };
  return makeElement("button", { ...attributes, onclick: () => onSide(side) }, side);
}

/**
 * A matrix as style sheets write it. Where x, y (downwards) and z (to the eye) go, and a shift.
 * @param {Vector3} x
 * @param {Vector3} y
 * @param {Vector3} z
 * @param {Vector3} shift
 */
function formatMatrix(x, y, z, shift) {
  const columns = [x, y, z].map((v) => [...v.toArray(), 0]);
  const numbers = [...columns.flat(), ...shift.toArray(), 1].map((value) => Number(value.toFixed(5)));
  return `matrix3d(${numbers.join(", ")})`;
}
