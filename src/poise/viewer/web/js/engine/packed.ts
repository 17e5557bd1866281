/** Types of what viewer/offline packs, for checks only: the page never loads this file. */

import type { Chain } from "poise/protocol/messages.ts";

/** float64, int64 or bool */
export type Letter = "F" | "I" | "B";

/** A part of an array of a program: number of the array, first item, shape. */
export type Part = [number: number, start: number, shape: number[]];

/** A number of a call: a float, an integer or a bool. */
export interface Scalar {
  f?: number;
  i?: number;
  b?: number;
}

export interface PackedCall {
  call: string;
  with: (Part | Scalar)[];
  /** What its first number must be one of. */
  expected?: number[];
}

export interface PackedCopy {
  copy: number;
  from: Part;
  to: Part;
}

export interface PackedFlag {
  flag: Part;
  counts: Part;
}

export type PackedStep = PackedCall | PackedCopy | PackedFlag;

/** Errors of iterations: the first of each `stride` numbers. */
export interface PackedCurve {
  numbers: Part;
  stride: number;
  counts: Part[];
  more: number;
  is_squared: boolean;
  scale: number;
  is_distance: boolean;
}

/** How numbers of a trace become coordinates u; a single one has a ratio, an offset and a range. */
export type PackedLink = [column: number, uColumn: number, width: number, ...conversion: (number | null)[]];

/** Poses of a trace: u is made of each row, and q of that by `row_steps`. */
export interface PackedRows {
  numbers: Part;
  stride: number;
  u: Part;
  /** Empty: the numbers are the coordinates. */
  links: PackedLink[];
}

export interface PackedProgram {
  arrays: { type: Letter; shape: number[]; data?: number; scratch?: boolean }[];
  steps: PackedStep[];
  row_steps?: PackedStep[];
  curve?: PackedCurve;
  rows?: PackedRows;
  /** Parts by what they hold: see `Outputs`. */
  target?: Part;
  start?: Part;
  q?: Part;
  iterations?: Part;
  met?: Part;
  maps?: Part;
  point?: Part;
  base?: Part;
}

/** Names of the parts that a page reads and writes. */
export type PartName = "target" | "start" | "q" | "iterations" | "met" | "maps" | "point" | "base";

export interface PackedGroup {
  chains: string[];
  program: PackedProgram;
  /** Of a free chain: what is beyond its reach. */
  line?: { check: PackedProgram; origin: number[]; distance: number; program: PackedProgram };
  /** The joint that the chain hangs from: its row, and divisors of its map that take out scale. */
  base?: { row: number; divisors: number[] };
}

export interface PackedMethod {
  title: string;
  refusal?: string;
  groups?: PackedGroup[];
  left_out?: { chain: string; reason: string }[];
}

export interface PackedChainMode {
  title: string;
  start: number[];
  /** Row of the tip of each chain. */
  rows: Record<string, number>;
  maps: PackedProgram;
  methods: Record<string, PackedMethod>;
}

export interface PackedChains {
  modes: Record<string, PackedChainMode>;
  free_root: boolean;
  method: string;
}

/** How a joint's displacement is computed: of a ball, or of a value that may go the shorter way round. */
export type RaceJoint = { quaternion: number } | { column: number; factor: number; turns: boolean };

export interface PackedRace {
  chain: Chain;
  solved: PackedChains;
  /** Methods that somebody chose; empty: the first four. */
  raced: string[];
  tolerance: number;
  joints: RaceJoint[];
}

export interface PackedRaces {
  chains: PackedRace[];
  columns: { key: string; title: string; text: string }[];
  /** Whether the page begins with a race. */
  opens: boolean;
}

/** Where an array is among the numbers of the page: first byte, number of items. */
export type Stored = [offset: number, count: number];

export interface PackedBodyMode {
  title: string;
  arrays: Record<string, Stored>;
  names: string[];
  rows: number[];
  base_scale: number;
  tolerance: number;
  tolerance2: [distance: number, chord: number];
  angle: number;
  damping: [number, number];
  iterations: number;
  restarts: number;
  polish: number;
  maps: PackedProgram;
  gaze: PackedGaze | null;
  natural: PackedNaturalPoses | null;
}

/** A head that looks: its joint, the angles [rad] that it turns by, the columns of q of head and neck, and their solve. */
export interface PackedGaze {
  head: string;
  range: { yaw: number; pitch: [lowest: number, highest: number] };
  columns: [first: number, end: number][];
  group: PackedGroup;
}

/** Displacements of the joints for targets of one part. */
export interface PackedGrid {
  /** Where its corners lie along each axis. */
  lines: number[][];
  groups: [first: number, count: number][];
  /** What 1 stands for, for each number of the groups. */
  steps: number[];
  /** First byte of them, one for each number and corner. */
  numbers: number;
}

/** Natural poses of a figure, looked up. */
export interface PackedNaturalPoses {
  /** First column of the root's translation, and maps between this and the way of the hips along the axes. */
  root: { column: number; to_axes: number[]; from_axes: number[] };
  grids: Record<string, PackedGrid>;
}

export interface PackedBody {
  modes: Record<string, PackedBodyMode>;
  pins: string[];
  pinnable: string[];
  pin_weight: number;
  pulled_pin_weight: number;
  /** Configurations of a clip, in single precision. */
  frames: Stored | null;
  /** Parts of arms and legs: the head looks at them. */
  limbs: string[];
  hips: string;
  /** Ahead, left and up. */
  axes: number[][];
  /** Its height, where the feet show one [file units]. */
  floor: number | null;
}
