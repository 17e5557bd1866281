// Answers of the page's own modules in node for the cases of chain_cases.py, on the standard input.
import fs from "node:fs";
import { web } from "./page_modules.mjs";

const { Kernels } = await import(new URL("js/engine/kernels.js", web));
const { Chains } = await import(new URL("js/engine/chains.js", web));

const kernels = await Kernels.load(fs.readFileSync(new URL("kernels.wasm", web)));
const encode = (array) => Buffer.from(Float64Array.from(array).buffer).toString("base64");

const answers = {};
for (const [name, { packed, numbers, chains, cases }] of Object.entries(JSON.parse(fs.readFileSync(0, "utf8")))) {
  const solved = new Chains(kernels, packed, new Uint8Array(Buffer.from(numbers, "base64")), { chains, scope: "chains" });
  answers[name] = {};
  for (const [mode, methods] of Object.entries(cases)) {
    answers[name][mode] = {};
    for (const [method, drags] of Object.entries(methods)) {
      Object.assign(solved, { mode, method });
      solved.reset();
      answers[name][mode][method] = drags.map(({ chain, position }) => {
        solved.drag({ what: "target", chain, position });
        const { iterations, curve, status, left } = solved.answer;
        return { q: encode(solved.q), iterations, curve: curve.length, last: curve.at(-1), status, left };
      });
    }
  }
}
process.stdout.write(JSON.stringify(answers));
