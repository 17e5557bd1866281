/** Names without their common beginning ("mixamorig:"). They serve where there is little room. */

const LEAST = 3; // letters: shorter beginnings are worth keeping

/**
 * @param {{name: string, shown: boolean}[]} joints
 * @returns {(name: string) => string}
 */
export function makeShortener(joints) {
  const names = joints.filter(({ shown }) => shown).map(({ name }) => name);
  let shared = names.length > 1 ? names[0] : "";
  for (const name of names) while (!name.startsWith(shared)) shared = shared.slice(0, -1);
  const length = shared.search(/[^:_|. -]*$/); // as far as a separator
  const cut = length >= LEAST && names.every((name) => name.length > length) ? length : 0;
  return (name) => (names.includes(name) ? name.slice(cut) : name);
}
