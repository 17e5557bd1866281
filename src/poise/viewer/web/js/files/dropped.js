/** Files from the user's disk as the page gets them. Dropped, or chosen in a dialogue of the browser. */

/**
 * @typedef {{path: string, file: File}} Given a file by its path inside of what was dropped or chosen
 */

const MOST = 5000; // files; the server takes no more

/**
 * What was dropped; folders are walked, and nothing beside them. Call it at once: the browser forgets what was dropped.
 *
 * @param {DataTransfer} transfer
 * @returns {Promise<Given[]>}
 */
export async function readDroppedFiles(transfer) {
  const items = [...transfer.items].filter(({ kind }) => kind === "file");
  const entries = items.map((item) => item.webkitGetAsEntry?.() ?? item.getAsFile());
  /** @type {Given[]} */
  const found = [];
  for (const entry of entries) if (entry) await walk(entry, "", found);
  return found;
}

/** @param {any} entry a FileSystemEntry or a File @param {string} folder @param {Given[]} found */
async function walk(entry, folder, found) {
  if (entry.name.startsWith(".") || found.length > MOST) return; // .git, .DS_Store
  const path = folder + entry.name;
  if (entry instanceof File) found.push({ path, file: entry });
  else if (entry.isFile) found.push({ path, file: await new Promise((done, fail) => entry.file(done, fail)) });
  else for (const each of await listEntries(entry)) await walk(each, `${path}/`, found);
}

/** A browser gives the entries of a folder some at a time. @param {FileSystemDirectoryEntry} folder */
async function listEntries(folder) {
  const reader = folder.createReader();
  const all = [];
  for (;;) {
    const some = await new Promise((done, fail) => reader.readEntries(done, fail));
    if (!some.length) return all;
    all.push(...some);
  }
}

/** What was chosen in a dialogue. @param {Iterable<File>} list @returns {Given[]} */
export function listChosenFiles(list) {
  const given = [...list].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
  return given.filter(({ path }) => !path.split("/").some((part) => part.startsWith(".")));
}

const LEADERS = [".urdf", ".gltf", ".xml", ".mjcf"]; // they name other files, which are of kinds that can be opened too

/** @param {string} path */
function readSuffix(path) {
  return /\.[^./]*$/.exec(path)?.[0].toLowerCase() ?? "";
}

/**
 * Which files could be meant, the likely first. One where it is clear.
 *
 * @param {Given[]} given
 * @param {string[]} opens suffixes that are read
 */
export function findCandidates(given, opens) {
  /** @param {Given} given */
  const countFolders = ({ path }) => path.split("/").length;
  const readable = given.filter(({ path }) => opens.includes(readSuffix(path)));
  const leaders = readable.filter(({ path }) => LEADERS.includes(readSuffix(path)));
  return leaders.length === 1
    ? leaders
    : readable.sort((a, b) => countFolders(a) - countFolders(b) || a.path.localeCompare(b.path));
}

const ALONE = [".glb", ".vrm", ".bvh"];

/**
 * What has to be sent. A file that names no others goes with its sidecar only where all would be too much.
 * @param {Given[]} given
 * @param {Given} main
 * @param {number} most
 */
export function findNeeded(given, main, most) {
  if (sumSizes(given) <= most || !ALONE.includes(readSuffix(main.path))) return given;
  const sidecar = main.path.replace(/\.[^./]*$/, ".ik.toml");
  return given.filter((each) => each === main || each.path === sidecar);
}

/** @param {Given[]} given @returns {number} bytes */
export function sumSizes(given) {
  return given.reduce((sum, { file }) => sum + file.size, 0);
}
