/** Types of the store's topics, for checks only: the page never loads this file. */

import type { Frame } from "poise/protocol/frames.js";
import type {
  Answer,
  Busy,
  Dragged,
  Marks,
  Message,
  Model,
  State,
  Terrain,
  Upload,
  Welcome,
} from "poise/protocol/messages.ts";
import type { Viewport } from "poise/stage/viewport.js";

export type Status = "opening" | "open" | "lost" | "used" | "elsewhere" | "ended";

export type Theme = "dark" | "light";

/** What the views draw. */
export interface Show {
  bones: boolean;
  skin: boolean;
  through: boolean;
  axes: boolean;
  limits: boolean;
  ranges: boolean;
  loops: boolean;
  ghost: boolean;
  trail: boolean;
  grid: boolean;
  /** null: as the graphics can. */
  shadows: boolean | null;
  skinOpacity: number;
}

/** What Poise has sent. */
interface Received {
  welcome: Welcome;
  model: { message: Model; asset: ArrayBuffer | null };
  terrain: { message: Terrain; asset: ArrayBuffer | null };
  state: State;
  answer: Answer;
  frame: Frame;
  ghost: Frame;
  busy: Busy;
  message: Message;
  marks: Marks;
  upload: Upload;
}

/** What only this page knows. */
interface Chosen {
  connection: Status;
  /** What the server said when it ended. */
  farewell: string;
  /** id of the model that is shown */
  shown: number;
  /** Number of the newest upload. */
  delivery: number;
  /** Name of a joint. */
  selected: string | null;
  /** id of a chain */
  active: string | null;
  /** What the next click on a bone is for. */
  picking: { what: string; take: (joint: string) => void } | null;
  show: Show;
  gizmo: "move" | "turn";
  space: "world" | "local";
  /** Whether what the gizmo has can be turned. */
  holds: { turns: boolean; why?: string };
  /** Whether the gizmo is on the selected bone. */
  turning: boolean;
  /** Whether what is turned is keyed into the clip. */
  keying: boolean;
  /** The time [s] that was asked for and is not shown yet. */
  asked: number | null;
  dragged: Dragged & { viewport: Viewport; serial: number };
  /** Widths [px]. */
  sides: { left?: number | null; right?: number | null };
  /** Sides that are closed. */
  closed: { left?: boolean; right?: boolean };
  /** Whether the stage says what to try. */
  hinted: boolean;
  /** Whether a solver's options are unfolded. */
  options: boolean;
  themeChoice: "auto" | Theme;
  theme: Theme;
}

export type Topics = Received & Chosen;
