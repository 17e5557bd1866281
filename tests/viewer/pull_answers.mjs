// Pulls of the body of a page in node, on the standard input:
// {body, numbers, pulls: [{joint, targets, preference, mode, frame, continues, holds}]}.
// A pull begins anew, or continues after the one before, or is the one before that it holds. The answer is q of all
// targets, as base64 of float64.
import fs from "node:fs";
import { web } from "./page_modules.mjs";

const { Body } = await import(new URL("js/engine/body.js", web));
const { Kernels } = await import(new URL("js/engine/kernels.js", web));

const { body: packed, numbers, pulls } = JSON.parse(fs.readFileSync(0, "utf8"));
const kernels = await Kernels.load(fs.readFileSync(new URL("kernels.wasm", web)));
const body = new Body(kernels, packed, new Uint8Array(Buffer.from(numbers, "base64")));
const encode = (array) => Buffer.from(Float64Array.from(array).buffer).toString("base64");

const answers = pulls.map(({ joint, targets, preference, mode, frame, continues, holds }) => {
  if (mode) body.setMode(mode);
  if (!continues) body.reset();
  body.chosen = preference ?? body.chosen;
  if (frame !== undefined) body.adoptFrame(frame);
  if (!holds) body.drag({ joint, position: body.readPlace(joint).position, phase: "start" });
  return targets.map((position) => {
    body.drag({ joint, position, phase: "move" });
    return encode(body.q);
  });
});
process.stdout.write(JSON.stringify(answers));
