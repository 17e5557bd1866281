(least) => {
  const sheet = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
  const rgba = (css) => {
    sheet.clearRect(0, 0, 1, 1);
    sheet.fillStyle = css;
    sheet.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = sheet.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a)];
  const behind = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) {
      const colour = rgba(getComputedStyle(e).backgroundColor);
      layers.push(colour);
      if (colour[3] === 1) break;
      if (e.matches(".view")) break;
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), [0, 0, 0]);
  };
  const luminance = (rgb) => rgb.map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => {
    const [x, y] = [luminance(a), luminance(b)].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  const pale = [];
  const judge = (element, colour, text) => {
    let opacity = 1;
    for (let e = element; e; e = e.parentElement) opacity *= Number(getComputedStyle(e).opacity);
    const back = behind(element);
    const [r, g, b, a] = rgba(colour);
    const found = contrast(over([r, g, b, a * opacity], back), back);
    if (found < least) pale.push([text.trim().slice(0, 40), Number(found.toFixed(2)), colour, `rgb(${back.map(Math.round)})`]);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.textContent.trim() || element.closest("script, noscript, option, canvas, :disabled")) continue;
    if (!element.checkVisibility({visibilityProperty: true})) continue;
    judge(element, getComputedStyle(element).color, node.textContent);
  }
  for (const field of document.querySelectorAll("input:not([type=checkbox]):not([type=range]), select")) {
    if (!field.checkVisibility({visibilityProperty: true}) || field.disabled) continue;
    judge(field, getComputedStyle(field).color, `field ${field.dataset.testid}`);
    if (field.placeholder) judge(field, getComputedStyle(field, "::placeholder").color, `placeholder of ${field.dataset.testid}`);
  }
  return pale;
}
