/** The small line drawings on buttons. 16 x 16, stroked in the colour of the text beside them. */

const SVG = "http://www.w3.org/2000/svg";

/** @type {Record<string, string>} */
const PATHS = {
  undo: "M6 3 2.5 6.5 6 10M2.5 6.5H10a3.5 3.5 0 0 1 0 7H6",
  redo: "M10 3l3.5 3.5L10 10M13.5 6.5H6a3.5 3.5 0 0 0 0 7h4",
  move: "M8 1.5v13M1.5 8h13M8 1.5 6 3.5M8 1.5l2 2M8 14.5l-2-2M8 14.5l2-2M1.5 8l2-2M1.5 8l2 2M14.5 8l-2-2M14.5 8l-2 2",
  turn: "M13.5 8A5.5 5.5 0 1 1 11.6 3.8M13.6 1.6v3h-3",
  bone: "M4.5 9.5 9.500 4.500M4.500 9.500a1.800 1.800 0 1 0-1 3.200 1.800 1.800 0 1 0 3-1zM9.500 4.500a1.800 1.800 0 1 1 1-3.200 1.800 1.800 0 1 1 3 3 1.800 1.800 0 1 1-3 1z",
  key: "M8 2.500 13.500 8 8 13.500 2.500 8z",
  local: "M3.5 12.5V4.5M3.5 12.5h8M3.5 12.5 8 8M2 6l1.5-1.5L5 6M10 11l1.5 1.5L10 14",
  one: "M2 2.5h12v11H2z",
  two: "M2 2.5h12v11H2zM8 2.5v11",
  frame: "M2 5V2h3M11 2h3v3M14 11v3h-3M5 14H2v-3M8 6.2a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6",
  eye: "M1 8s2.5-4.5 7-4.5S15 8 15 8s-2.5 4.5-7 4.5S1 8 1 8zM8 6a2 2 0 1 0 0 4 2 2 0 0 0 0-4",
  dark: "M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7z",
  light: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
  auto: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2M8 2v12M8 5l3.6-1.8M8 8h6M8 11l3.6 1.8",
  help: "M5.5 6a2.5 2.5 0 1 1 3.6 2.2c-.8.4-1.1.8-1.1 1.8M8 12.6v.4",
  play: "M4.5 2.5v11l9-5.5z",
  pause: "M5 2.5v11M11 2.5v11",
  start: "M3.5 2.5v11M13 2.5v11L5.5 8z",
  left: "M2 2.5h12v11H2zM6 2.5v11",
  right: "M2 2.5h12v11H2zM10 2.5v11",
  down: "M4 6l4 4 4-4",
  close: "M4 4l8 8M12 4l-8 8",
  add: "M8 3v10M3 8h10",
  less: "M3 8h10",
  pick: "M8 1.5v4M8 10.5v4M1.5 8h4M10.5 8h4M8 7.2v1.6M7.2 8h1.6",
  pin: "M5.5 2h5M6.5 2v4L4 9h8L9.5 6V2M8 9v5",
  step: "M3 2.5v11L10 8zM12.5 2.5v11",
  back: "M13 2.5v11L6 8zM3.5 2.5v11",
  race: "M3.5 14V2h9l-2 3 2 3h-9",
  reset: "M2.5 8A5.5 5.5 0 1 0 4.4 3.800M2.4 1.600v3h3",
  ball: "M8 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8",
  hinge: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6M8 1v4M8 11v4",
  slide: "M8 2v12M8 2 5.5 4.500M8 2l2.5 2.500M8 14l-2.5-2.500M8 14l2.5-2.5",
  free: "M8 2v12M2 8h12M4 4l8 8M12 4l-8 8",
  fixed: "M5 5h6v6H5z",
};

/**
 * @param {string} name
 * @returns {SVGSVGElement} a drawing that screen readers skip: its button carries the words
 */
export function makeIcon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", PATHS[name] ?? "");
  svg.append(path);
  return svg;
}
