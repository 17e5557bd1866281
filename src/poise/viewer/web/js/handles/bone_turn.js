/** The selected bone as something that the gizmo turns: rings at its joint, one about the axis of a hinge. */

import { Matrix4, Quaternion, Vector3 } from "three";

const BONE = "bone"; // its key among the handles
const TURNED = ["ball", "free", "hinge"];
const Z = new Vector3(0, 0, 1);

export class BoneTurn {
  /** @param {any} viewport */
  constructor(viewport) {
    this.viewport = viewport;
    this.joint = null;
  }

  /** Give the gizmo to a joint; null, or a joint that does not turn, gives it back to the targets. */
  give(name) {
    const { actor } = this.viewport;
    if (!actor) return;
    const row = actor.figure.rows.get(name) ?? -1;
    const joint = actor.figure.joints[row] ?? null;
    this.row = row;
    this.joint = TURNED.includes(joint?.kind) ? joint : null;
    this._axis = joint?.axis && new Quaternion().setFromUnitVectors(Z, new Vector3(...joint.axis).normalize());
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
    const { actor } = this.viewport;
    if (this.joint === null || !actor?.figure.ready || actor.figure.joints[this.row] !== this.joint) return;
    const rotation = rotationOf(actor.figure, this.row);
    if (this._axis) rotation.multiply(this._axis);
    actor.handles.own(
      {
        key: BONE,
        what: "turn",
        id: this.joint.name,
        mark: "bone",
        position: actor.figure.position(this.row),
        rotation,
        tip: null,
        enabled: true,
        single: this.joint.kind === "hinge",
        moves: this.joint.kind === "free",
        tells: (object) => this._message(object),
      },
      serial,
    );
  }

  /** What a drag of the rings tells. */
  _message(object) {
    const turn = object.quaternion.clone();
    if (this._axis) turn.multiply(this._axis.clone().invert());
    const told = { what: "turn", joint: this.joint.name, rotation: [turn.w, turn.x, turn.y, turn.z] };
    const moved = this.joint.kind === "free" && this.viewport.gizmo.mode === "move";
    return moved ? { ...told, position: object.position.toArray() } : told;
  }
}

/** The rotation of a joint in rig coordinates. @returns {Quaternion} */
function rotationOf(figure, row) {
  const [x, y, z] = [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ].map((axis) => figure.turned(row, axis));
  return quaternionOf(x, y, z);
}

/** @param {number[]} x @param {number[]} y @param {number[]} z the columns of its matrix */
function quaternionOf(x, y, z) {
  const basis = new Matrix4().makeBasis(new Vector3(...x), new Vector3(...y), new Vector3(...z));
  return new Quaternion().setFromRotationMatrix(basis).normalize();
}
