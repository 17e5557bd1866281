// Answers of the page's own modules in node, for runs of targets on the standard input: node try_answers.mjs PAGE.html
import fs from "node:fs";
import { Scene } from "../../docs/try_page/solver.js";
import { Kernels } from "../../src/poise/viewer/web/js/engine/kernels.js";

const page = fs.readFileSync(process.argv[2], "utf8");
const read = (name) => page.match(new RegExp(`<script type="[^"]*" id="poise-${name}">([^<]*)</script>`))[1];
const numbers = Buffer.from(read("numbers"), "base64");
const kernels = await Kernels.load(Buffer.from(read("kernels"), "base64"));
const scenes = new Map(
  JSON.parse(read("scenes")).scenes.map((packed) => [packed.name, new Scene(kernels, packed, numbers)]),
);
const decode = (text) => new Float64Array(new Uint8Array(Buffer.from(text, "base64")).buffer);
const encode = (array) => Buffer.from(Float64Array.from(array).buffer).toString("base64");

const runs = JSON.parse(fs.readFileSync(0, "utf8")).map(({ scene: name, method, answers }) => {
  const scene = scenes.get(name);
  let start = scene.rest;
  const own = answers.map(({ target }) => {
    const { q, errors, reached, iterations } = scene.solve(method, decode(target), start);
    start = q; // a drag goes on from the last answer
    return { target, q: encode(q), errors: encode(errors), reached, iterations };
  });
  return { scene: name, method, answers: own };
});
process.stdout.write(JSON.stringify(runs));
