/** The colours of what is drawn, one table a theme; every text and line keeps its contrast on both.
 * What can be taken for each other differs for the colour-blind, too, and red is for errors alone. */

const SHARED = { x: 0xe5484d, y: 0x4caf50, z: 0x3b82f6 };

/** @typedef {typeof PALETTES.dark} Palette */

export const PALETTES = {
  dark: {
    ...SHARED,
    background: 0x202329,
    gridMinor: 0x40454e,
    gridMajor: 0x616773,
    bone: 0xb4bcc9,
    chain: 0x79b0ff,
    selected: 0xff9d3f,
    hovered: 0xffffff,
    hit: 0xffd23f,
    ghost: 0x9aa6b8,
    link: 0x6f7784,
    limit: 0x66d9e8,
    terrain: 0x59616d,
<<<<<<< HEAD
    contour: 0xc3ccd9,
    edge: 0xe3e8ef,
    pole: 0xc792ea,
    pin: 0xffc53d,
=======
    pole: 0xa06bff,
    pin: 0xff8fc0,
>>>>>>> 0f9914bb (Choose colours that the colour-blind tell apart, and keep red for errors)
    handle: 0x4cc9f0,
    trail: 0xffd166,
    axis: 0xffe066,
    off: 0x6b7280,
    sky: 0xffffff,
    soil: 0x4a4f58,
    shadow: 0.5,
    status: {
      reached: 0x4fd6b0,
      out_of_reach: 0xff9a4d,
      limited: 0xffb84d,
      stalled: 0xf5d547,
      nothing_to_move: 0x9aa0a6,
      over_constrained: 0xf5d547,
      on_the_way: 0xf5d547,
      held_back: 0xf5d547,
      contradictory: 0xff9a4d,
      loops_open: 0xff9a4d,
      refused: 0xff5c5c,
      nothing: 0xeef2f8,
    },
  },
  light: {
    ...SHARED,
    background: 0xf1f3f6,
    gridMinor: 0xd0d5dd,
    gridMajor: 0xa3abb8,
    bone: 0x7d8797,
    chain: 0x2f6fd0,
    selected: 0xd9540b,
    hovered: 0x111827,
    hit: 0x6a5200,
    ghost: 0x667085,
    link: 0x98a1b0,
    limit: 0x0b7f93,
    terrain: 0xc3c9d2,
<<<<<<< HEAD
    contour: 0x4b5666,
    edge: 0x232a33,
    pole: 0x8b3fc7,
    pin: 0x9a6700,
=======
    pole: 0x5b16a8,
    pin: 0xc2185b,
>>>>>>> 0f9914bb (Choose colours that the colour-blind tell apart, and keep red for errors)
    handle: 0x0277bd,
    trail: 0xb26a00,
    axis: 0x9a6700,
    off: 0x98a1b0,
    sky: 0xffffff,
    soil: 0xb7bdc8,
    shadow: 0.22,
    status: {
      reached: 0x00806a,
      out_of_reach: 0xb04a00,
      limited: 0x8f5a00,
      stalled: 0x7a6200,
      nothing_to_move: 0x5f6673,
      over_constrained: 0x7a6200,
      on_the_way: 0x7a6200,
      held_back: 0x7a6200,
      contradictory: 0xb04a00,
      loops_open: 0xb04a00,
      refused: 0x85001a,
      nothing: 0x3d4656,
    },
  },
};
