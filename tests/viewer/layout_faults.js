(root) => {
  const TOLERATED = 1.5; // [px]
  const seen = [];
  const faults = [];
  const scrolls = (style, axis) => ["auto", "scroll"].includes(axis === "x" ? style.overflowX : style.overflowY);
  const cuts = (style, axis) => ["hidden", "clip"].includes(axis === "x" ? style.overflowX : style.overflowY);
  // What sticks to an edge of what scrolls covers what is scrolled under it: that can be scrolled out again.
  const stuck = (a, b) => {
    let element = a;
    while (element && getComputedStyle(element).position !== "sticky") element = element.parentElement;
    return element !== null && element.parentElement.contains(b);
  };
  // The line of what to try lies over the picture, as captions do that are inside a view; it takes no presses.
  const lies = (a, b) => a.matches(".stage-hint") && b.matches(".view") && getComputedStyle(a).pointerEvents === "none";
  const words = (element) => element.dataset.testid;
  for (const element of (root ? document.querySelector(root) : document).querySelectorAll("[data-testid]")) {
    if (element.matches("[role=separator]")) continue; // a line to be dragged lies over the edges of two panels
    if (!element.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
    const box = element.getBoundingClientRect();
    if (box.width === 0 || box.height === 0) continue;
    const clip = {left: box.left, top: box.top, right: box.right, bottom: box.bottom};
    let scrollX = false, scrollY = false, cut = "";
    const limit = (outer, style, name) => {
      const over = {x: clip.left < outer.left - TOLERATED || clip.right > outer.right + TOLERATED,
        y: clip.top < outer.top - TOLERATED || clip.bottom > outer.bottom + TOLERATED};
      for (const axis of ["x", "y"]) {
        const free = axis === "x" ? scrollX : scrollY;
        if (over[axis] && !free && style && scrolls(style, axis)) {
          if (axis === "x") scrollX = true;
          else scrollY = true;
        } else if (over[axis] && !free && (!style || cuts(style, axis))) cut ||= `${words(element)} is cut off by ${name}`;
      }
      if (!style || style.overflowX !== "visible") {
        clip.left = Math.max(clip.left, outer.left); clip.right = Math.min(clip.right, outer.right);
      }
      if (!style || style.overflowY !== "visible") {
        clip.top = Math.max(clip.top, outer.top); clip.bottom = Math.min(clip.bottom, outer.bottom);
      }
    };
    for (let outer = element.parentElement; outer && outer !== document.body; outer = outer.parentElement) {
      limit(outer.getBoundingClientRect(), getComputedStyle(outer), outer.className || outer.tagName);
      if (getComputedStyle(outer).position === "fixed") break;
    }
    limit({left: 0, top: 0, right: innerWidth, bottom: innerHeight}, null, "the window");
    if (cut) faults.push(cut);
    const narrow = element.matches("button") && element.scrollWidth > element.clientWidth + TOLERATED;
    if (narrow && getComputedStyle(element).textOverflow !== "ellipsis") {
      faults.push(`${words(element)} is too narrow for its words`);
    }
    seen.push([element, clip]);
  }
  seen.forEach(([a, p], i) => seen.slice(0, i).forEach(([b, q]) => {
    if (a.contains(b) || b.contains(a) || stuck(a, b) || stuck(b, a) || lies(a, b) || lies(b, a)) return;
    const across = Math.min(p.right, q.right) - Math.max(p.left, q.left);
    const down = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
    if (across > TOLERATED && down > TOLERATED) faults.push(`${words(a)} overlaps ${words(b)}`);
  }));
  return faults;
}
