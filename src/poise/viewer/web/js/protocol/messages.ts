/**
 * Types of the JSON messages, for checks only: the page never loads this file.
 *
 * docs/viewer-protocol.md describes the messages. A test assigns messages of Poise to these types.
 */

/** x y z */
export type Vector = number[];

/** w x y z */
export type Rotation = number[];

/** Low and high end; null: infinite. */
export type Ends = (number | null)[];

export type Polyline = Vector[];

export type Axis = "x" | "y" | "z";

// --- to the page, once for each connection or rig ---

export interface Welcome {
  kind: "welcome";
  key: string;
  poise: string;
  scenes: { name: string; title: string; text: string; hint: string }[];
  solvers: Solver[];
  terrains: { words: string; title: string }[];
  opens: string[];
  most_bytes: number;
}

export interface Solver {
  name: string;
  title: string;
  text: string;
  goals: string[];
  options: SolverOption[];
  missing?: boolean;
}

export interface SolverOption {
  name: string;
  type: string;
  choices: string[] | null;
  nullable: boolean;
  default: string | number | boolean | null;
  text: string;
  takes: string;
}

export interface Joint {
  name: string;
  parent: number;
  kind: "fixed" | "hinge" | "slide" | "ball" | "free";
  axis: Vector | null;
  role: string | null;
  /** Index of the joint that moves when somebody pulls here. */
  part: number;
  /** x y z w x y z before the joint's own motion. */
  A: number[];
  /** Scale behind the rotation, 3 x 3 row by row; null: none. */
  linear: number[] | null;
  bone: Vector;
  /** Drawn as a capsule. */
  thick: boolean;
  shown: boolean;
}

export interface Loop {
  name: string;
  rows: number[];
  points: Vector[];
}

export interface Model {
  kind: "model";
  id: number;
  name: string;
  format: string;
  metres_per_unit: number | null;
  up: Axis;
  size: number;
  /** Positions of the characters of a crowd. */
  places: Vector[];
  joints: Joint[];
  /** glTF node of each joint. */
  nodes: (number | null)[] | null;
  loops: Loop[];
  asset: boolean;
  skin: boolean;
  /** Formats to save as. */
  formats?: string[];
}

export interface Terrain {
  kind: "terrain";
  id: number | null;
  words: string | null;
}

// --- to the page, again and again ---

export interface Chain {
  id: string;
  root: string | null;
  tip: string;
  kind: "position" | "place" | "direction" | "look" | "pin";
  enabled: boolean;
  weight: number;
  pull: number;
  ground: boolean;
  position: Vector;
  rotation: Rotation;
  direction: Vector;
  axis: Vector;
  pole: Vector | null;
  offset: Vector;
  joints: string[];
  others: string[];
  relative_to: string | null;
  follow: boolean;
  range: TargetRange | null;
}

export interface TargetRange {
  box: Ends[];
  axes: string;
  turns: Polyline[];
}

export interface RangeLimit {
  type: "range";
  low: number | null;
  high: number | null;
  axis: Vector | null;
}

export interface SwingLimit {
  type: "swing_twist";
  axis: Vector;
  /** Low and high about both swing axes. */
  swing: number[][];
  twist: Ends;
  across: Vector | null;
  swing_axes: Vector[];
}

export interface EulerLimit {
  type: "euler";
  order: string;
  ranges: Ends[];
}

export type Limit = RangeLimit | SwingLimit | EulerLimit;

export interface Control {
  kind: "slider" | "button" | "text";
  name: string;
  value: number | string;
  low: number;
  high: number;
}

export interface Stretch {
  from: number;
  to: number;
  frame: number;
  text: string;
}

export interface MatchRow {
  role: string;
  from: string;
  to: string;
  turn: number;
  skip: boolean;
  note: string;
}

/** A retargeted clip: source and target side by side. */
export interface Retargeting {
  rows: MatchRow[];
  sources: string[];
  targets: string[];
  /** Limb of each joint: those of both figures have the same names. */
  limbs: Record<string, string>;
  /** When segments exceed their bounds [s], by joint. */
  missed: Record<string, number[][]>;
}

export interface State {
  kind: "state";
  version: number;
  scene: string | null;
  name: string;
  views: number;
  solvers: { name: string; options: Record<string, SolverOption["default"]> }[];
  refused: Record<string, string>;
  mode: string;
  modes: Record<string, string | null>;
  run: string;
  race: { playing: boolean; speed: number };
  from: string;
  tolerance: number | null;
  free_root: boolean;
  scope: "body" | "limbs" | "chains";
  pulled: string | null;
  chains: Chain[];
  limits: Record<string, Limit>;
  anatomical: { on: boolean; why: string | null };
  outlines: Record<string, Polyline[]>;
  clips: { name: string; seconds: number; frames: number; fps: number }[];
  clip: string | null;
  duration: number;
  playing: boolean;
  speed: number;
  time: number;
  keys: { joint: string; time: number }[];
  plant: boolean;
  terrain: string | null;
  contacts: { foot: string; intervals: number[][] }[];
  /** What the report of planted feet finds; null: no feet are planted. */
  bad: Stretch[] | null;
  retargeting: Retargeting | null;
  handles: { name: string; position: Vector; rotation: Rotation }[];
  controls: Control[];
  driven: boolean;
  /** Whether the figure may breathe while nobody touches the page. */
  idles: boolean;
  /** What to try in the scene. */
  undo: string | null;
  redo: string | null;
  serial: number;
  /** Number of the page's newest change in it. */
  revision: number;
  opened: string | null;
  unsaved: boolean;
}

export interface ViewAnswer {
  status: string;
  sentence: string;
  solver: string;
  iterations: number;
  microseconds: number;
  left: number | null;
  errors: number[] | null;
  note: string | null;
  at_limit: string[];
  resting: string[];
  open: string[];
  left_out: { chain: string; reason: string }[];
}

export interface Answer {
  kind: "answer";
  version: number;
  /** Of the newest target that the answered pose has. */
  serial: number;
  views: ViewAnswer[];
  selected: { joint: string; values: number[]; position: Vector } | null;
  race: Race | null;
}

/** Figures of racing methods: a row for each view. */
export interface Race {
  /** Iterations of the longest solve. */
  last: number;
  columns: { key: string; title: string; text: string }[];
  rows: RaceRow[];
  /** Why there are none. */
  reason: string | null;
}

export interface RaceRow {
  refused: string | null;
  values: string[];
}

export interface Busy {
  kind?: "busy";
  text: string | null;
  cancel?: boolean;
  /** Of an upload, known here only. */
  share?: number;
}

export interface Message {
  kind: "message";
  level: "error" | "note" | "done";
  text: string;
}

export interface Marks {
  kind: "marks";
  marks: { name: string; points: Vector[]; colour: string; size: number }[];
}

export interface Upload {
  kind: "upload";
  id: number;
  go: boolean;
}

export interface FileOffer {
  kind: "file";
  id: number;
  name: string;
  mime: string;
}

export type ToPage =
  | Welcome
  | Model
  | Terrain
  | (Partial<State> & { kind: "state" }) // the first has everything, later ones what has changed
  | Answer
  | (Busy & { kind: "busy" })
  | Message
  | Marks
  | Upload
  | FileOffer;

// --- from the page ---

export type ActionName =
  | "anatomical"
  | "cancel"
  | "chain_add"
  | "chain_change"
  | "chain_remove"
  | "clip"
  | "control"
  | "free_root"
  | "from"
  | "handle"
  | "idle"
  | "keep_start"
  | "limit"
  | "match"
  | "mode"
  | "option"
  | "pin"
  | "plant"
  | "play"
  | "pole"
  | "pull"
  | "race"
  | "race_play"
  | "race_seek"
  | "race_speed"
  | "race_step"
  | "redo"
  | "reset"
  | "run"
  | "save"
  | "scene"
  | "scope"
  | "seek"
  | "seen"
  | "select"
  | "solver"
  | "speed"
  | "step"
  | "target"
  | "terrain"
  | "tolerance"
  | "turn"
  | "undo"
  | "unkey"
  | "upload"
  | "upload_cancel"
  | "upload_done"
  | "upload_file"
  | "views"
  | "watch";

export type Phase = "start" | "move" | "end";

/** The arguments are checked where they arrive. */
export interface Action {
  do: ActionName;
  [argument: string]: unknown;
}

export type Send = (action: Action) => boolean;

/** What is dragged and where it is now, in rig coordinates. */
export interface Drag {
  what: "target" | "pole" | "handle" | "turn" | "pull" | "limit";
  phase: Phase;
  chain?: string;
  name?: string;
  joint?: string;
  position?: Vector;
  rotation?: Rotation;
  direction?: Vector;
  offset?: Vector;
  limit?: Limit;
}

export type Dragged = Omit<Drag, "phase">;
