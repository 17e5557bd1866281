// Races of the page's own modules in node for the cases of race_cases.py, on the standard input.
import { createHash } from "node:crypto";
import fs from "node:fs";
import { web } from "./page_modules.mjs";

const { Kernels } = await import(new URL("js/engine/kernels.js", web));
const { Race } = await import(new URL("js/engine/race.js", web));
const { measureSmoothness } = await import(new URL("js/engine/live_record.js", web));

const kernels = await Kernels.load(fs.readFileSync(new URL("kernels.wasm", web)));
const hash = (numbers) => createHash("sha256").update(Buffer.from(Float64Array.from(numbers).buffer)).digest("hex");
const decode = (text) => new Float64Array(new Uint8Array(Buffer.from(text, "base64")).buffer);

const answers = {};
for (const [name, { packed, numbers, cases, moved }] of Object.entries(JSON.parse(fs.readFileSync(0, "utf8")))) {
  const race = new Race(kernels, packed, new Uint8Array(Buffer.from(numbers, "base64")));
  const ways = cases.map(({ position, start }) => {
    race.begin({ q: decode(start), position });
    const shown = race.paths.map((path) => {
      const poses = Array.from({ length: path.last + 1 }, (_, i) => [...path.findPose(i)]);
      const left = race.chains.measure(path.answer);
      return { poses: hash(poses.flat()), last: path.last, left, met: path.isMet, errors: path.errors.length };
    });
    return Object.fromEntries(race.raced.map((method, i) => [method, shown[i]]));
  });
  const figures = Object.fromEntries(race.raced.map((method) => [method, race.record.measure(method)]));
  answers[name] = { ways, figures, smoothness: measureSmoothness(moved.poses.map(decode), packed.joints) };
}
process.stdout.write(JSON.stringify(answers));
