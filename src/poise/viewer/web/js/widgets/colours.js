/**
 * Colours of panels and viewport. A chain looks the same in both.
 *
 * They are bright enough on the dark ground and dark enough on the light one to be told apart on either.
 */

/** One a chain, in the order of `state.chains`. The first follows the last. */
const CHAIN_COLOURS = ["#3b9ded", "#e0872b", "#2fae66", "#c86dd7", "#d8a21b", "#19a7a8", "#e0607e", "#8a84e8"];

/**
 * The views: letter, and the line of its curve. Colours are told apart by the colour-blind, and so are dashes without
 * any
 * colour; the style sheet has the letters' own.
 */
export const VIEW_LETTERS = "ABCDEF";
export const VIEW_COLOURS = ["#3b9ded", "#e0872b", "#22a884", "#c973ab", "#b3a125", "#8b94a3"];
export const VIEW_DASHES = [[], [6, 3], [2, 3], [9, 3, 2, 3], [12, 4], [5, 3, 1, 3, 1, 3]];

/**
 * @param {number} index place of the chain in `state.chains`
 * @returns {string} its colour, "#rrggbb"
 */
export function chooseChainColour(index) {
  return CHAIN_COLOURS[index % CHAIN_COLOURS.length];
}
