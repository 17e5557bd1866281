/** Messages of an exported page, in the form of the server's. */

/**
 * @import { Frame } from "poise/protocol/frames.js"
 * @import { Answer, Model, State, ViewAnswer } from "poise/protocol/messages.ts"
 */

/** Make a state. @param {Model} model @param {Partial<State>} values @returns {State} */
export function makeState(model, values) {
  return {
    kind: "state",
    version: 0,
    scene: null,
    name: model.name,
    views: 1,
    solvers: [],
    refused: {},
    mode: "",
    modes: {},
    run: "live",
    race: { playing: false, speed: 1 },
    from: "last",
    tolerance: null,
    free_root: false,
    scope: "chains",
    pulled: null,
    chains: [],
    limits: {},
    anatomical: { on: false, why: null },
    outlines: {},
    clips: [],
    clip: null,
    duration: 0,
    playing: false,
    speed: 1,
    time: 0,
    keys: [],
    plant: false,
    terrain: null,
    contacts: [],
    bad: null,
    retargeting: null,
    handles: [],
    controls: [],
    driven: false,
    idles: false,
    undo: null,
    redo: null,
    serial: 0,
    revision: 0,
    opened: null,
    unsaved: false,
    ...values,
  };
}

/** Make the answer of a view. @param {Partial<ViewAnswer>} values @returns {ViewAnswer} */
export function makeViewAnswer(values) {
  return {
    status: "nothing",
    sentence: "",
    solver: "",
    iterations: 0,
    microseconds: 0,
    left: null,
    errors: null,
    note: null,
    at_limit: [],
    resting: [],
    open: [],
    left_out: [],
    ...values,
  };
}

/** Make an answer. @param {ViewAnswer[]} views @param {Answer["race"]} [race] @returns {Answer} */
export function makeAnswer(views, race = null) {
  return { kind: "answer", version: 0, serial: 0, views, selected: null, race };
}

/**
 * Make a frame of poses.
 * @param {Float32Array} data of all views
 * @param {{joints: number, width: number, characters?: number}} shape
 * @param {ViewAnswer[]} views
 * @param {Partial<Frame>} [values]
 * @returns {Frame}
 */
export function makeFrame(data, { joints, width, characters = 1 }, views, values) {
  return {
    kind: "pose",
    views: views.length,
    width,
    characters,
    joints,
    frame: 0,
    serial: 0,
    time: 0,
    status: views.map(({ status }) => status),
    playing: false,
    busy: false,
    iteration: 0,
    microseconds: views.map(({ microseconds }) => microseconds),
    left: views.map(({ left }) => left ?? NaN),
    iterations: views.map(({ iterations }) => iterations),
    version: 0,
    data,
    bytes: data.byteLength,
    ...values,
  };
}
