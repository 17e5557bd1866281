// Start of a page that is one file: its modules are unpacked, located by an import map, and the first one runs.

{
  const { start } = document.currentScript.dataset;

  /** The contents of an element, packed by gzip in base64. */
  const unpack = async (id) => {
    const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };

  /** Bytes as base64, in pieces: a function takes only so many arguments. */
  const encode = (bytes) => {
    const pieces = [];
    for (let i = 0; i < bytes.length; i += 8192) pieces.push(String.fromCharCode(...bytes.subarray(i, i + 8192)));
    return btoa(pieces.join(""));
  };

  const add = (type, text) => document.head.append(Object.assign(document.createElement("script"), { type, text }));

  const run = async () => {
    const modules = JSON.parse(new TextDecoder().decode(await unpack("poise-modules")));
    const imports = {};
    for (const [name, text] of Object.entries(modules))
      imports[name] = `data:text/javascript;base64,${encode(new TextEncoder().encode(text))}`;
    add("importmap", JSON.stringify({ imports }));
    add("module", start);
  };

  globalThis.unpackPart = unpack;
  run().catch((error) => {
    document.body.append(`This page cannot start here: ${error.message}. It needs a browser of 2023 or later.`);
  });
}
