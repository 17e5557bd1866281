/** The camera. Orbit, pan, zoom and touch about a point, in any unit, with the file's own axis upwards. */

/**
 * @import { Axis } from "poise/protocol/messages.ts"
 * @import { Stage } from "poise/stage/stage.js"
 * @import { Side } from "poise/stage/view_cube.js"
 * @import { PerspectiveCamera } from "three"
 */

import { listSides, SIDES } from "poise/stage/view_cube.js";
import { Ray, Vector3 } from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";

/** @type {Record<Axis, number[]>} */
const UP = { x: [1, 0, 0], y: [0, 1, 0], z: [0, 0, 1] };
/**
 * To where a figure faces that has no limbs to tell it. Characters face +z (y up), robots +x (z up).
 * @type {Record<Axis, number[]>}
 */
const FRONT = { x: [0, 0, 1], y: [0, 0, 1], z: [1, 0, 0] };
/** @type {Axis[]} */
const AXES = ["x", "y", "z"];
/** From where a new figure is looked at. So far to its left, upwards, and in front of it. */
const PERSON = [0.55, 0.28, 1];
const ROBOT = [0.75, 0.42, 1];
const ANGLE = 38; // of view, upright [degrees]
const MARGIN = 1.24; // for gizmos and limits beside the figure
const CAPTION = 60; // pixels at the top where the status stands
const TWO_LINES = 80; // where the view is too narrow for its sentence
const NARROW = 520; // pixels
const ARROWS = 0.11; // of the picture's height: the arrows of a gizmo, which shall not be cut either
const FARTHEST = 300; // figure sizes
const NEAREST = 0.05; // figure sizes
const TILT = 1e-4; // of a view from above towards the front, so that upwards in the picture is told
const STRAIGHT = 0.9999; // cosine of the angle at which a view counts as one from a side
const BEHIND = 0.04; // of the height that it is behind, the camera makes up for in a frame: steps do not shake it
const FALL = 0.5; // figure sizes: a height that is made up for at once
const STEEPEST = 1.55; // [rad] of a look from above or below by keys
const _point = new Vector3();

/**
 * @typedef {object} CameraState
 * @property {number[]} position rig coordinates
 * @property {number[]} target rig coordinates
 */

export class Camera {
  /**
   * @param {Stage} stage
   * @param {(state: CameraState) => void} onMove called when the user has moved it
   */
  constructor(stage, onMove) {
    this.stage = stage;
    this.onMove = onMove;
    this.camera = Object.assign(stage.camera, { fov: ANGLE, near: 0.01, far: 100 });
    this.camera.updateProjectionMatrix();
    /** @type {Axis} */
    this.up = "y";
    this.touched = false; // by a hand since it framed something
    this._still = false; // what moves it is no hand
    this._view = { width: 1, height: 1, upright: 1 }; // of the canvas [pixels], as refresh() has seen it last
    this.front = new Vector3().fromArray(FRONT.y);
    this.sides = listSides(this.camera.up, this.front);
    this.from = PERSON;
    this.controls = this._orbit(true);
    this._behind = 0; // how much higher the figure is since it was framed [figure sizes]
    this.setFront(null);
  }

  /** @param {Axis} up */
  setUp(up) {
    if (up === this.up) return;
    this.up = UP[up] ? up : "y";
    this.camera.up.fromArray(UP[this.up]);
    const { enabled } = this.controls;
    this.controls.dispose();
    this.controls = this._orbit(enabled); // it reads the upward axis only once
  }

  /** @param {boolean} enabled */
  _orbit(enabled) {
    const controls = new OrbitControls(this.camera, this.stage.canvas);
    Object.assign(controls, { enabled, minDistance: 1e-3, maxDistance: FARTHEST, zoomToCursor: true });
    controls.addEventListener("change", () => {
      this.stage.invalidate();
      if (this._still) return;
      this.touched = true;
      this.onMove(this.readState());
    });
    return controls;
  }

  /**
   * Where the figure's front is. The axis of the file that is nearest to it.
   * @param {number[]|null} [way] rig coordinates; null: it has no sides
   */
  setFront(way = null) {
    const up = this.camera.up;
    const level = new Vector3().fromArray(way ?? [0, 0, 0]).projectOnPlane(up);
    const axes = AXES.filter((axis) => axis !== this.up);
    const main = axes.reduce((a, b) => (Math.abs(level[b]) > Math.abs(level[a]) ? b : a));
    const told = level.length() > 0;
    this.front = told
      ? new Vector3().setComponent("xyz".indexOf(main), Math.sign(level[main]))
      : new Vector3().fromArray(FRONT[this.up]);
    this.sides = listSides(up, this.front);
    this.from = told || this.up !== "z" ? PERSON : ROBOT;
  }

  /** Look from a side, at what is looked at now. @param {Side} side */
  lookFrom(side) {
    const { position } = this.camera;
    const away = position.distanceTo(this.controls.target);
    const to = this.sides[side]
      .clone()
      .addScaledVector(this.front, Math.abs(this.sides[side].dot(this.camera.up)) * TILT);
    position.copy(this.controls.target).addScaledVector(to.normalize(), away);
    this._update();
  }

  /** The side from which it is looked just now, or null. @returns {Side|null} */
  get side() {
    const back = this.camera.position.clone().sub(this.controls.target).normalize();
    return SIDES.find((side) => this.sides[side].dot(back) > STRAIGHT) ?? null;
  }

  /** @returns {CameraState} */
  readState() {
    const convert = (/** @type {Vector3} */ v) => v.toArray().map((value) => value * this.stage.size);
    return { position: convert(this.camera.position), target: convert(this.controls.target) };
  }

  /**
   * Put the camera where another one is; onMove is not called.
   * @param {CameraState} state
   * @param {boolean} touched whether a hand has moved it
   */
  set(state, touched) {
    this.touched = touched;
    this.camera.position.fromArray(state.position).divideScalar(this.stage.size);
    this.controls.target.fromArray(state.target).divideScalar(this.stage.size);
    this._update();
  }

  /**
   * Go along with a figure that walks. At once on the level, upwards little by little; no hand has moved the camera.
   * @param {number[]} from @param {number[]} to rig coordinates of its hips
   */
  carry(from, to) {
    const way = new Vector3().fromArray(to).sub(_point.fromArray(from)).divideScalar(this.stage.size);
    this._behind += way.dot(this.camera.up);
    const rise = Math.abs(this._behind) > FALL ? this._behind : BEHIND * this._behind;
    this._behind -= rise;
    way.projectOnPlane(this.camera.up).addScaledVector(this.camera.up, rise);
    if (way.lengthSq() < 1e-16) return;
    this.camera.position.add(way);
    this.controls.target.add(way);
    this._update();
  }

  /** Look at a new figure from its front. The camera is a little to the side and above. */
  lookFromFront() {
    const [left, up, front] = this.from;
    const away = this.front.clone().multiplyScalar(front).addScaledVector(this.sides.left, left);
    away.addScaledVector(this.camera.up, up).setLength(3);
    this.camera.position.copy(this.controls.target).add(away);
    this._update();
  }

  /**
   * Bring all points into the picture. The camera keeps its direction.
   * @param {number[][]} points rig coordinates
   * @param {{room?: number, handles?: number[][]}} [more] room around them; places that have arrows
   */
  frame(points, { room = MARGIN, handles = [] } = {}) {
    /** @param {number[][]} all */
    const convert = (all) => all.map((point) => new Vector3().fromArray(point).divideScalar(this.stage.size));
    const held = convert(handles);
    const seen = [...convert(points), ...held];
    if (!seen.length) return;
    const low = seen[0].clone();
    const high = seen[0].clone();
    for (const point of seen) {
      low.min(point);
      high.max(point);
    }
    const centre = low.add(high).multiplyScalar(0.5);
    const axes = listAxes(this.camera, this.controls.target);
    const [width, height] = this.stage.measureExtent();
    const taken = Math.min((width < NARROW ? TWO_LINES : CAPTION) / height, 0.25); // of the height
    const beside = Math.max(Math.min(1, MARGIN * (1 - (2 * ARROWS * height) / width)), 0.5);
    let away = 0;
    for (let round = 0; round < 3; round++) {
      // what is near looks larger: the middle of the picture is not that of the box
      const whole = computeDistance(this.camera, seen, centre, axes, [1, 1 - taken]);
      away = Math.max(whole, computeDistance(this.camera, held, centre, axes, [beside, 1 - taken]), NEAREST) * room;
      centre.add(computeShift(seen, centre, axes, away));
    }
    centre.addScaledVector(axes.up, taken * away * Math.tan((ANGLE * Math.PI) / 360));
    this.controls.target.copy(centre);
    this.controls.maxDistance = Math.max(FARTHEST, 4 * away); // a mesh may be much larger than its bones
    this.camera.position.copy(centre).addScaledVector(axes.back, away);
    this.touched = false;
    this._behind = 0;
    this._update();
  }

  /** Whether a point is out of the picture. @param {number[][]} points rig coordinates */
  isCut(points) {
    this.refresh();
    const [width, height] = this.stage.measureExtent();
    return points.some((point) => {
      const [x, y, ahead] = this.project(point);
      return !(ahead > 0 && x >= 0 && x <= width && y >= 0 && y <= height);
    });
  }

  /** Go back a little. @param {number} factor of the distance */
  backOff(factor) {
    this.camera.position.sub(this.controls.target).multiplyScalar(factor).add(this.controls.target);
    this._update();
  }

  /** Orbit, as a drag beside the figure does. @param {number} aside [rad] @param {number} up [rad] */
  orbit(aside, up) {
    const { position } = this.camera;
    const back = position.clone().sub(this.controls.target);
    const across = new Vector3().setFromMatrixColumn(this.camera.matrixWorld, 0);
    const height = Math.PI / 2 - back.angleTo(this.camera.up);
    const rise = Math.min(Math.max(height + up, -STEEPEST), STEEPEST) - height;
    back.applyAxisAngle(across, -rise).applyAxisAngle(this.camera.up, aside);
    position.copy(this.controls.target).add(back);
    this._tellMove();
  }

  /** Move aside with what is looked at. @param {number} right of the distance @param {number} up of the distance */
  pan(right, up) {
    const away = this.camera.position.distanceTo(this.controls.target);
    const way = new Vector3(right, up, 0).multiplyScalar(away).applyQuaternion(this.camera.quaternion);
    this.camera.position.add(way);
    this.controls.target.add(way);
    this._tellMove();
  }

  /** Go nearer or farther. @param {number} factor of the distance */
  zoom(factor) {
    this.backOff(factor);
    this._tellMove();
  }

  /** A hand has moved it. */
  _tellMove() {
    this._update();
    this.touched = true;
    this.onMove(this.readState());
  }

  /** Planes near and far enough for the distance at hand. Called before each drawing. */
  fitPlanes() {
    const away = this.camera.position.distanceTo(this.controls.target);
    const near = Math.min(away, 1) * 0.01;
    const far = away * 4 + 80;
    if (near === this.camera.near && far === this.camera.far) return;
    Object.assign(this.camera, { near, far });
    this.camera.updateProjectionMatrix();
  }

  /** Bring the camera's matrices up to date between two drawings. */
  refresh() {
    this.camera.updateMatrixWorld();
    const [width, height] = this.stage.measureExtent();
    this._view = { width, height, upright: Math.tan((ANGLE * Math.PI) / 360) };
  }

  /**
   * A point on the canvas; call refresh() before.
   * @param {number[]} point rig coordinates
   * @returns {[number, number, number, number]} pixels x and y, distance ahead of the camera [figure sizes], and
   *   pixels that one file unit takes there
   */
  project(point) {
    const { width, height, upright } = this._view;
    const seen = _point.fromArray(point).divideScalar(this.stage.size).applyMatrix4(this.camera.matrixWorldInverse);
    const ahead = -seen.z;
    const pixels = height / (2 * upright * Math.max(Math.abs(ahead), 1e-9));
    return [width / 2 + seen.x * pixels, height / 2 - seen.y * pixels, ahead, pixels / this.stage.size];
  }

  /**
   * The point of the scene at a place of the canvas. Call refresh() before.
   * @param {number} x pixels
   * @param {number} y
   * @param {number} ahead of the camera [figure sizes]
   * @returns {number[]} rig coordinates
   */
  pointAt(x, y, ahead) {
    return this._findPoint(x, y, ahead).multiplyScalar(this.stage.size).toArray();
  }

  /**
   * From the camera through a place of the canvas; call refresh() before.
   * @param {number} x
   * @param {number} y
   * @returns {Ray} in figure sizes
   */
  makeRay(x, y) {
    const from = new Vector3().setFromMatrixPosition(this.camera.matrixWorld);
    return new Ray(from, this._findPoint(x, y, 1).sub(from).normalize());
  }

  /** @param {number} x @param {number} y @param {number} ahead */
  _findPoint(x, y, ahead) {
    const { width, height, upright } = this._view;
    const pixel = (2 * upright * ahead) / height; // how large one is there
    const seen = new Vector3((x - width / 2) * pixel, (height / 2 - y) * pixel, -ahead);
    return seen.applyMatrix4(this.camera.matrixWorld);
  }

  _update() {
    this._still = true;
    this.controls.update();
    this._still = false;
    this.stage.invalidate();
  }

  dispose() {
    this.controls.dispose();
  }
}

/** @param {number[]} range @param {number} value */
function widen(range, value) {
  range[0] = Math.min(range[0], value);
  range[1] = Math.max(range[1], value);
}

/** @typedef {{back: Vector3, right: Vector3, up: Vector3}} Directions */

/**
 * The picture's own directions. To the right, up, and back towards the camera.
 * @param {PerspectiveCamera} camera
 * @param {Vector3} target
 */
function listAxes(camera, target) {
  const back = camera.position.clone().sub(target).normalize();
  const right = new Vector3().crossVectors(camera.up, back).normalize();
  return { back, right, up: new Vector3().crossVectors(back, right) };
}

/**
 * Distance from `centre` at which all points are in the picture. Margins are shares of its width and height.
 * @param {PerspectiveCamera} camera
 * @param {Vector3[]} points
 * @param {Vector3} centre
 * @param {Directions} directions
 * @param {number[]} numbers
 */
function computeDistance(camera, points, centre, { back, right, up }, [across, share]) {
  const tangent = Math.tan((camera.fov * Math.PI) / 360);
  const [wide, upright] = [tangent * camera.aspect * across, tangent * share];
  let most = 0;
  for (const point of points) {
    const way = point.clone().sub(centre);
    const [x, y, nearer] = [Math.abs(way.dot(right)), Math.abs(way.dot(up)), way.dot(back)];
    most = Math.max(most, nearer + Math.max(y / upright, x / wide));
  }
  return most;
}

/**
 * From `centre` to the middle of the picture, seen from `away`.
 * @param {Vector3[]} points
 * @param {Vector3} centre
 * @param {Directions} directions
 * @param {number} away
 */
function computeShift(points, centre, { back, right, up }, away) {
  const across = [Infinity, -Infinity];
  const upwards = [Infinity, -Infinity];
  for (const point of points) {
    const way = point.clone().sub(centre);
    const depth = 1 - way.dot(back) / away;
    widen(across, way.dot(right) / depth);
    widen(upwards, way.dot(up) / depth);
  }
  const shift = right.clone().multiplyScalar((across[0] + across[1]) / 2);
  return shift.addScaledVector(up, (upwards[0] + upwards[1]) / 2);
}
