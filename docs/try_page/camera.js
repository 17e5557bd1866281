// Camera on a sphere round a point: matrices, and the way from the screen to the world and back.

import {
  add,
  cross,
  dot,
  fromAxes,
  makePerspective,
  multiply,
  normalise,
  scale,
  subtract,
  transform,
} from "./matrices.js";

const FIELD_OF_VIEW = 0.62; // [rad] of the shorter side of the picture
const [NEAR, FAR] = [0.05, 40]; // [m]
const [MIN_DISTANCE, MAX_DISTANCE] = [1.2, 9]; // [m]
const [MIN_PITCH, MAX_PITCH] = [-0.12, 1.5]; // [rad] hardly below the ground
const HOME = { yaw: 0.62, pitch: 0.28, distance: 2.95, centre: [0.16, 0.57, 0.06] };

export class Camera {
  constructor() {
    this.width = this.height = 1;
    this.reset();
  }

  /** Show the whole arm. */
  reset() {
    Object.assign(this, HOME);
    this.update();
  }

  resize(width, height) {
    [this.width, this.height] = [width, height];
    this.update();
  }

  /** Orbit by angles [rad]. */
  orbit(yaw, pitch) {
    this.yaw += yaw;
    this.pitch = Math.min(Math.max(this.pitch + pitch, MIN_PITCH), MAX_PITCH);
    this.update();
  }

  zoom(factor) {
    this.distance = Math.min(Math.max(this.distance * factor, MIN_DISTANCE), MAX_DISTANCE);
    this.update();
  }

  update() {
    const [sin, cos] = [Math.sin(this.pitch), Math.cos(this.pitch)];
    this.back = [Math.sin(this.yaw) * cos, sin, Math.cos(this.yaw) * cos];
    this.eye = add(this.centre, scale(this.back, this.distance));
    this.right = normalise(cross([0, 1, 0], this.back));
    this.up = cross(this.back, this.right);
    const { right, up, back, eye } = this;
    const view = fromAxes(
      [right[0], up[0], back[0]],
      [right[1], up[1], back[1]],
      [right[2], up[2], back[2]],
      [-dot(right, eye), -dot(up, eye), -dot(back, eye)],
    );
    const aspect = this.width / this.height;
    // The shorter side has the field of view, so a narrow window shows the whole arm, too.
    const vertical = aspect >= 1 ? FIELD_OF_VIEW : 2 * Math.atan(Math.tan(FIELD_OF_VIEW / 2) / aspect);
    this.matrix = multiply(makePerspective(vertical, aspect, NEAR, FAR), view);
    this.metresPerPixel = (2 * Math.tan(vertical / 2)) / this.height; // at a depth of 1 m
  }

  /** Project a point to the picture [px]. */
  project(point) {
    const [x, y, , w] = transform(this.matrix, point);
    return [((x / w + 1) * this.width) / 2, ((1 - y / w) * this.height) / 2];
  }

  /** Convert a motion on the screen [px] to one in the plane of the camera, at the depth of a point. */
  convertMotion(dx, dy, point) {
    const size = this.metresPerPixel * dot(subtract(this.eye, point), this.back);
    return add(scale(this.right, dx * size), scale(this.up, -dy * size));
  }
}
