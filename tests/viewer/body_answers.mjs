// Answers of the page's own modules in node for the cases of body_cases.py, on the standard input.
import fs from "node:fs";
import { web } from "./page_modules.mjs";

const { Kernels } = await import(new URL("js/engine/kernels.js", web));
const { Gaze } = await import(new URL("js/engine/gaze.js", web));
const { Program } = await import(new URL("js/engine/program.js", web));
const { Tree } = await import(new URL("js/engine/tree.js", web));
const { TreeSolver } = await import(new URL("js/engine/tree_solver.js", web));

const { body, numbers, cases, gazes } = JSON.parse(fs.readFileSync(0, "utf8"));
const bytes = new Uint8Array(Buffer.from(numbers, "base64"));
const kernels = await Kernels.load(fs.readFileSync(new URL("kernels.wasm", web)));
const decode = (text) => new Float64Array(new Uint8Array(Buffer.from(text, "base64")).buffer);
const encode = (array) => Buffer.from(Float64Array.from(array).buffer).toString("base64");

const answers = { gazes: {} };
for (const [mode, packed] of Object.entries(body.modes)) {
  const solver = new TreeSolver(kernels, new Tree(packed, bytes));
  answers[mode] = cases[mode].map(({ goals, preference, targets, start }) => {
    solver.setGoals(goals, preference ? { preferred: solver.tree.start, preference } : {});
    const { q, iterations, isMet } = solver.solve(decode(targets), decode(start));
    const traced = solver.solve(decode(targets), decode(start), true);
    return { q: encode(q), iterations, reached: isMet, traced: encode(traced.q) };
  });
  const maps = new Program(kernels, packed.maps, bytes);
  const gaze = packed.gaze && new Gaze(kernels, packed.gaze, bytes);
  answers.gazes[mode] = gazes[mode].map(({ start, target }) => {
    const q = decode(start);
    maps.run({ q });
    return encode(gaze.solve(q, solver.tree.start, maps.view("maps"), target));
  });
}
process.stdout.write(JSON.stringify(answers));
