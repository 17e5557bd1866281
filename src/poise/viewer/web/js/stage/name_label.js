/** The name beside the pointer. */

export class NameLabel {
  /** @param {HTMLElement} container */
  constructor(container) {
    this.element = document.createElement("div");
    this.element.className = "viewport-label";
    Object.assign(this.element.style, {
      position: "absolute",
      left: "0",
      top: "0",
      padding: "2px 7px",
      borderRadius: "4px",
      font: "12px system-ui, sans-serif",
      whiteSpace: "nowrap",
      pointerEvents: "none",
    });
    this.element.hidden = true;
    container.append(this.element);
  }

  /** @param {"dark"|"light"} theme */
  setTheme(theme) {
    const [ink, paper] = theme === "light" ? ["#111827", "#ffffffeb"] : ["#f3f4f6", "#0b0d10e0"];
    Object.assign(this.element.style, { color: ink, background: paper });
  }

  /**
   * @param {string|null} text
   * @param {number} x
   * @param {number} y pixels in the container
   * @param {number} width of it
   */
  show(text, x = 0, y = 0, width = Infinity) {
    this.element.hidden = text === null;
    if (text === null) return;
    this.element.textContent = text;
    const left = Math.min(x + 14, width - this.element.offsetWidth - 4);
    this.element.style.transform = `translate(${Math.max(left, 4)}px, ${Math.max(y - 26, 4)}px)`;
  }

  dispose() {
    this.element.remove();
  }
}
