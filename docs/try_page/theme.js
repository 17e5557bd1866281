// Colours of the drawing, read from the style sheet, which knows light from dark.

const MAX_DARK = 0.5; // lightness of a dark page
const COLOUR_NAMES = ["bone", "joint", "stand", "tool", "target", "range", "limit", "gap", "grid", "page"];

/** Read the colours as numbers from 0 to 1. */
export function readTheme() {
  const probe = document.createElement("span");
  document.body.append(probe);
  const theme = {};
  for (const name of COLOUR_NAMES) {
    probe.style.color = `var(--paint-${name})`;
    theme[name] = getComputedStyle(probe)
      .color.match(/[\d.]+/g)
      .slice(0, 3)
      .map((value) => Number(value) / 255);
  }
  probe.remove();
  const isDark = Math.max(...theme.page) < MAX_DARK;
  theme.gridStrength = isDark ? 0.28 : 0.22;
  theme.shadowStrength = isDark ? 0.55 : 0.3;
  return theme;
}
