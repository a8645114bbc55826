// The sound widget, spoilt in one way each.

import {sound} from "./sound.js";

const element = (name, properties) => Object.assign(document.createElement(name), properties);

/** The sound widget after something has been done to it. */
const spoilt = (spoil) => (data, options) => {
  const root = sound(data, options);
  spoil(root);
  return root;
};

export const unlabelledInput = spoilt((root) => {
  for (const input of root.querySelectorAll("input")) input.removeAttribute("aria-label");
  root.querySelector("label").remove();
});

export const noName = spoilt((root) => root.removeAttribute("aria-label"));

export const overflow = spoilt((root) => root.append(element("div", {style: "width: 900px", textContent: "wide"})));

export const faint = spoilt((root) => root.append(element("p", {style: "color: #999a", textContent: "faint"})));

export const consoleError = spoilt(() => console.error("something failed"));

export const timer = spoilt((root) => {
  const clock = root.appendChild(element("p"));
  setInterval(() => (clock.textContent = `${Math.round(performance.now())} ms`), 100);
});

export const spinning = spoilt((root) => {
  const turn = () => requestAnimationFrame(turn);
  turn();
});

export const noLiveRegion = spoilt((root) => root.querySelector("[aria-live]").removeAttribute("aria-live"));

export const staleSentence = spoilt((root) => {
  const sentence = root.querySelector("[aria-live]");
  sentence.replaceWith(sentence.cloneNode(true));
});

export const noFocusRing = spoilt((root) => {
  root.append(element("style", {textContent: ".widget-counter *:focus-visible { outline: none !important; }"}));
});

export const pointerOnly = spoilt((root) => {
  root.append(element("div", {style: "cursor: pointer", textContent: "reset", onclick: () => root.notify()}));
});

export const deadKey = spoilt((root) => {
  root.addEventListener("keydown", (event) => event.key === "Home" && event.preventDefault(), true);
});

export const unheard = spoilt((root) => {
  root.addEventListener("input", (event) => event.target === root && event.stopImmediatePropagation());
});

export const animated = spoilt((root) => {
  const bar = root.appendChild(element("div", {style: "height: 1rem; background: blue; transition: width 1s; width: 0"}));
  root.addEventListener("input", () => (bar.style.width = `${10 * root.value.n}%`));
});

export const printsBeside = spoilt((root) => {
  root.append(element("style", {textContent: "@media print { .widget-static + * .widget.widget-counter { display: block !important; } }"}));
});

export const forgetful = (data, options) => sound(data, options, {fields: {}});

export const late = (data, options) => {
  const frame = requestAnimationFrame;
  return sound(data, options, {defer: (react) => frame(() => frame(() => frame(() => frame(react))))});
};
