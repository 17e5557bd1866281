/* A button on every block of code that copies it (blocks of output have none), and formulas that fit in narrow windows. */
"use strict";

const SHOWN_FOR = 1500; // [ms] that a button says how it went

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copiedByHand(text); // a page that is no secure one has no clipboard
  }
}

function copiedByHand(text) {
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  return done;
}

function addButton(block) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    const done = await copied(block.querySelector("pre").textContent);
    button.textContent = done ? "Copied" : "Not copied";
    setTimeout(() => {
      button.textContent = "Copy";
    }, SHOWN_FOR);
  });
  block.append(button);
}

const LEAST = 0.55; // of the usual size of a formula; one that is wider still scrolls

function fit(formula) {
  formula.style.fontSize = "";
  for (let size = 1; formula.scrollWidth > formula.clientWidth && size > LEAST; ) {
    size = Math.max(LEAST, size * Math.min(0.97, formula.clientWidth / formula.scrollWidth));
    formula.style.fontSize = `${size}em`;
  }
}

document.addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll('div[class*="highlight-"]:not(.highlight-text) > .highlight')) {
    addButton(block);
  }
  const formulas = document.querySelectorAll("div.math");
  const all = () => formulas.forEach(fit);
  window.addEventListener("resize", all);
  all();
  shareTheme();
});

/** Tell the page that solves whether this one is light or dark. */
function shareTheme() {
  const frame = document.querySelector("iframe.try");
  if (!frame) return;
  const send = () => frame.contentWindow.postMessage({ theme: document.body.dataset.theme ?? "auto" }, "*");
  new MutationObserver(send).observe(document.body, { attributeFilter: ["data-theme"] });
  addEventListener("message", ({ source }) => source === frame.contentWindow && send());
}
