/** The selected bone as something that the gizmo turns. Rings at its joint, one about the axis of a hinge. */

/**
 * @import { Figure } from "poise/figure/figure.js"
 * @import { Dragged, Joint } from "poise/protocol/messages.ts"
 * @import { Viewport } from "poise/stage/viewport.js"
 * @import { Object3D } from "three"
 */

import { Matrix4, Quaternion, Vector3 } from "three";

const BONE = "bone"; // its key among the handles
const TURNED = ["ball", "free", "hinge"];
const Z = new Vector3(0, 0, 1);

export class BoneTurn {
  /** @param {Viewport} viewport */
  constructor(viewport) {
    this.viewport = viewport;
    /** @type {Joint|null} */
    this.joint = null;
    this.row = -1;
    /** @type {Quaternion|null} from z to the axis of a hinge */
    this._axis = null;
  }

  /**
   * Give the gizmo to a joint. Null, or a joint that does not turn, gives it back to the targets.
   * @param {string|null} name
   */
  give(name) {
    const { actor } = this.viewport;
    if (!actor) return;
    const row = (name === null ? null : actor.figure.rows.get(name)) ?? -1;
    const joint = actor.figure.joints[row] ?? null;
    this.row = row;
    this.joint = TURNED.includes(joint?.kind) ? joint : null;
    this._axis = joint?.axis && new Quaternion().setFromUnitVectors(Z, new Vector3().fromArray(joint.axis).normalize());
    if (this.joint === null) {
      if (!actor.handles.all.has(BONE)) return;
      actor.handles.drop(BONE);
      this.viewport.activate(null);
    } else {
      actor.handles.drop(BONE); // also in the middle of a drag: another bone was chosen
      this.follow(this.viewport.state?.serial ?? 0);
      this.viewport.activate(BONE);
    }
  }

  /** Bring the rings to where the bone is now. @param {number} serial of the newest drag that this contains */
  follow(serial) {
    const { joint } = this;
    const { actor } = this.viewport;
    if (joint === null || !actor?.figure.ready || actor.figure.joints[this.row] !== joint) return;
    const rotation = readRotation(actor.figure, this.row);
    if (this._axis) rotation.multiply(this._axis);
    actor.handles.takeOwn(
      {
        key: BONE,
        what: "turn",
        id: joint.name,
        mark: "bone",
        position: actor.figure.readPosition(this.row),
        rotation,
        tip: null,
        enabled: true,
        single: joint.kind === "hinge",
        moves: joint.kind === "free",
        tells: (object) => this._makeMessage(joint, object),
      },
      serial,
    );
  }

  /** What a drag of the rings tells. @param {Joint} joint @param {Object3D} object @returns {Dragged} */
  _makeMessage(joint, object) {
    const turn = object.quaternion.clone();
    if (this._axis) turn.multiply(this._axis.clone().invert());
    /** @type {Dragged} */
    const told = { what: "turn", joint: joint.name, rotation: [turn.w, turn.x, turn.y, turn.z] };
    const moved = joint.kind === "free" && this.viewport.gizmo.mode === "move";
    return moved ? { ...told, position: object.position.toArray() } : told;
  }
}

/**
 * The rotation of a joint in rig coordinates.
 * @param {Figure} figure
 * @param {number} row
 * @returns {Quaternion}
 */
function readRotation(figure, row) {
  const [x, y, z] = [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ].map((axis) => figure.turnDirection(row, axis));
  return computeQuaternion(x, y, z);
}

/** @param {number[]} x @param {number[]} y @param {number[]} z the columns of its matrix */
function computeQuaternion(x, y, z) {
  const basis = new Matrix4().makeBasis(
    new Vector3().fromArray(x),
    new Vector3().fromArray(y),
    new Vector3().fromArray(z),
  );
  return new Quaternion().setFromRotationMatrix(basis).normalize();
}
