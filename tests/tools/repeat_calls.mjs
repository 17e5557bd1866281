// Repeat recorded calls of kernels on a module of WebAssembly, and compare all written bytes.
//
//     node repeat_calls.mjs MODULE.wasm CALLS.json ARRAYS.bin
//
// CALLS.json lists calls: the kernel's export, for each argument its bytes in ARRAYS.bin before and after, or its 64
// bits, and the bits of the results. Scratch memory has no bytes after the call: it is not compared.

import { readFileSync } from "node:fs";

const [moduleFile, callsFile, arraysFile] = process.argv.slice(2);
const { exports: kernels } = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(moduleFile)));
const calls = JSON.parse(readFileSync(callsFile, "utf8"));
const arrays = readFileSync(arraysFile);
const ALIGNMENT = 64;
const MAX_RESULTS = 8;

/** Return whether a call gives the recorded bytes. */
function repeat({ symbol, args, results }) {
    let end = kernels.__heap_base.value;
    const reserve = (byteCount) => {
        const start = Math.ceil(end / ALIGNMENT) * ALIGNMENT;
        end = start + byteCount;
        return start;
    };
    const addresses = args.map((each) => ("bits" in each ? 0 : reserve(each.byteCount)));
    const slotValues = args.flatMap((each, i) =>
        "bits" in each ? [BigInt(each.bits)] : [addresses[i], ...each.shape].map(BigInt),
    );
    const slots = reserve(8 * slotValues.length);
    const resultAddress = reserve(8 * MAX_RESULTS);
    const missingBytes = end - kernels.memory.buffer.byteLength;
    if (missingBytes > 0) kernels.memory.grow(Math.ceil(missingBytes / 65536));
    const memory = new Uint8Array(kernels.memory.buffer);
    args.forEach((each, i) => {
        if (!("bits" in each)) memory.set(arrays.subarray(each.before, each.before + each.byteCount), addresses[i]);
    });
    new BigInt64Array(kernels.memory.buffer, slots, slotValues.length).set(slotValues);
    const status = kernels[symbol](slots, resultAddress);
    const found = new BigInt64Array(kernels.memory.buffer, resultAddress, results.length);
    const written = new Uint8Array(kernels.memory.buffer);
    const areArraysEqual = args.every((each, i) => {
        if (each.after === undefined) return true;
        const bytes = written.subarray(addresses[i], addresses[i] + each.byteCount);
        return Buffer.compare(bytes, arrays.subarray(each.after, each.after + each.byteCount)) === 0;
    });
    return status === 0 && areArraysEqual && results.every((bits, i) => found[i] === BigInt(bits));
}

const different = {};
let equal = 0;
for (const call of calls) {
    if (repeat(call)) equal += 1;
    else different[call.symbol] = (different[call.symbol] ?? 0) + 1;
}
console.log(JSON.stringify({ equal, different }));
