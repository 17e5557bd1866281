/** Giving a file to the browser to keep. */

const KEPT = 60_000; // [ms] long enough for a slow disk; then the memory is given back

/**
 * @param {Blob} blob
 * @param {string} name
 */
export function keep(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT);
}
