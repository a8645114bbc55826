import {html} from "./vendor/observable.js";
import {integer, oneOf} from "./lib/address.js";
import {role} from "./lib/colours.js";
import {checkExpanded, checkKept, frontierOf, rerankOrder, valueMass} from "./lib/draft-values.js";
import {count, probability} from "./lib/formats.js";
import {widgetFrame} from "./lib/frame.js";
import {choice} from "./lib/inputs.js";
import {controlRow} from "./lib/layout.js";
import {legend} from "./lib/legend.js";
import {stepper} from "./lib/stepper.js";
import {addStyles} from "./lib/styles.js";
import {treeDrawing} from "./lib/tree-drawing.js";

/** Checks a recorded tree and what was kept of it; throws where the values say otherwise. */
export function checkTree(tree) {
  checkExpanded(tree.name, tree);
  checkKept(tree.name, tree, tree.kept);
}

/** A layer grows, its best nodes are chosen to go on, the next layer grows …; then all are ranked, and the top m kept. */
export function growSteps({depths}) {
  const layers = Array.from({length: Math.max(...depths)}, (_, index) => index + 1);
  const steps = layers.flatMap((layer) => [
    {kind: "grow", layer, name: `grow layer ${layer}`},
    {kind: "choose", layer, name: `choose in layer ${layer}`}
  ]);
  const last = {layer: layers.length};
  return [
    ...steps.slice(0, -1),
    {...last, kind: "rank", name: "rank all"},
    {...last, kind: "keep", name: "keep the top"}
  ];
}

/** What the widget shows, as numbers. */
export function growState(tree, step) {
  const {kind, layer} = growSteps(tree)[step];
  const nodes = tree.depths.map((_, node) => node);
  return {
    tree: tree.name,
    step,
    kind,
    layer,
    grown: nodes.filter((node) => tree.depths[node] <= layer).length,
    frontier:
      kind === "grow" && layer > 1 ? frontierOf(tree, layer - 1) : kind === "choose" ? frontierOf(tree, layer) : [],
    kept: kind === "keep" ? tree.kept : null,
    mass: valueMass(tree, tree.kept)
  };
}

/** A step in a few sentences. */
export function describeStep(tree, step, name) {
  const {kind, layer, grown, frontier, mass} = growState(tree, step);
  const {values, depths, kept, keep_m: keepM} = tree;
  switch (kind) {
    case "grow":
      return describeGrowth(tree, layer, frontier, name);
    case "choose":
      return describeChoice(tree, layer, frontier, name);
    case "rank":
      return `All ${grown} nodes are ranked by value, whatever their depth; among equals the shallower comes first.`;
    default: {
      const deepest = Math.max(...kept.map((node) => depths[node]));
      return `The top ${keepM} are kept, worth ${probability(mass)} of ${probability(
        valueMass(
          {values},
          values.map((_, node) => node)
        )
      )}, down to depth ${deepest}. No node is worth more than its parent, so what is kept is a tree.`;
    }
  }
}

const inLayer = ({depths}, layer) => depths.map((_, node) => node).filter((node) => depths[node] === layer);

function describeGrowth(tree, layer, frontier, name) {
  const {tokens, parents, values} = tree;
  const added = inLayer(tree, layer);
  const top = added.reduce((best, node) => (values[node] > values[best] ? node : best));
  const quoted = (node) => `“${name(tokens[node])}”`;
  if (layer === 1)
    return `Layer 1 holds the head’s best guesses for the next token. A node’s value is the confidence in it: ${probability(values[top])} for ${quoted(top)}.`;
  const above = values[parents[top]];
  return `Layer ${layer}: ${added.length} new nodes below ${frontier.map(quoted).join(" and ")}. A value is the parent’s value times the confidence: ${probability(above)} × ${probability(values[top] / above)} = ${probability(values[top])} for ${quoted(top)}.`;
}

function describeChoice(tree, layer, frontier, name) {
  const rest = inLayer(tree, layer).length - frontier.length;
  const chosen = frontier.map((node) => `“${name(tree.tokens[node])}” (${probability(tree.values[node])})`).join(", ");
  const others = ["All may.", "The other one stays a leaf."][rest] || `The other ${rest} stay leaves.`;
  return `Of layer ${layer}, the ${count(tree.expand_k, "node")} of the largest values may grow: ${chosen}. ${others}`;
}

const CSS = `
  .widget-grow .grow-drawn { margin-top: .75rem; }
  .widget-grow .grow-node { position: relative; }
  .widget-grow .grow-root { padding: 0 .25rem; background: var(--widget-paper); }
  .widget-grow .grow-ball {
    display: flex; align-items: center; justify-content: center; width: var(--size); height: var(--size); flex: none;
    border: 1.5px solid var(--role); border-radius: 50%; color: var(--widget-ink);
    background: color-mix(in srgb, var(--role) 14%, var(--widget-paper));
    font: .8125rem/1 ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace;
  }
  .widget-grow .grow-words {
    position: absolute; top: 100%; left: 50%; transform: translateX(-50%); padding: 0 .125rem; border-radius: .25rem;
    background: var(--widget-paper); font-size: .75rem; line-height: 1.2; white-space: nowrap;
  }
  .widget-grow .grow-words b { color: var(--role); }
  .widget-grow .grow-new .grow-ball { border-style: dashed; }
  .widget-grow .grow-cut .grow-ball { border-style: dotted; background: var(--widget-paper); color: var(--role-muted); }
  .widget-grow .grow-cut .grow-words { color: var(--role-muted); text-decoration: line-through; }
  .widget-grow .grow-chosen .grow-ball { border-width: 3px; }
  .widget-grow .grow-kept .grow-ball { border-width: 2.5px; }
  .widget-grow .grow-awaited { width: .375rem; height: .375rem; border-radius: 50%; background: var(--widget-line); }
  .widget-grow .widget-tree path.grow-kept { stroke: var(--role-accepted); stroke-width: 2.5px; }
  .widget-grow .widget-tree path.grow-hidden { stroke: none; }
  .widget-grow .widget-tree path.grow-cut { stroke-dasharray: 2 4; }
`;

/**
 * Steps through the growth of dynamic draft trees, and what is kept of them.
 * @param {{trees: object[], labels?: string[]}} data each {name, expand_k, keep_m, tokens, parents, depths, values,
 *   kept}: arguments and results of specdec.eagle2's expand_draft_tree and rerank_draft_tree; labels[token] is what a
 *   node shows, the number itself without it
 * @param {{tree?: string, step?: number}} options where to start
 * @returns {HTMLElement} with `.value` {tree, step, kind, layer, grown, frontier, kept, mass}; emits `input`
 */
export function growPrune({trees, labels}, options = {}) {
  addStyles("grow", CSS);
  trees.forEach(checkTree);
  const names = trees.map((tree) => tree.name);
  const start = {tree: names[0], step: 0, ...options};
  const name = (token) => (labels ? labels[token] : String(token));
  const treeChoice = choice(names, {label: "Tree", value: start.tree});
  const current = () => trees[names.indexOf(treeChoice.value)];
  const stepNames = () => growSteps(current()).map((step) => step.name);
  const steps = stepper({steps: stepNames(), value: start.step});
  const drawn = html`<div class="grow-drawn">`;
  let drawing = null;
  const arrange = (sentence) => [
    controlRow(names.length > 1 ? treeChoice : "", steps),
    drawn,
    legend([
      [ball("draft", 0.9, "grow-new"), "new; the larger, the more it is worth"],
      [ball("target", 0.9, "grow-chosen"), "▸ grows"],
      [ball("accepted", 0.9, "grow-kept"), "✓ kept"],
      [ball("muted", 0.9, "grow-cut"), "cut"]
    ]),
    sentence
  ];
  const frame = widgetFrame("grow", "A draft tree grows and is pruned", arrange, {
    fields: {tree: oneOf(names), step: integer(0, Math.max(...trees.map((tree) => growSteps(tree).length)) - 1)},
    set({tree, step}) {
      treeChoice.value = tree;
      open(Math.min(step, stepNames().length - 1));
    }
  });

  function open(step) {
    steps.setSteps(stepNames(), step);
    drawing = treeDrawing(current().parents, {
      label: "Draft tree",
      inSight: ".grow-here",
      rowHeight: 3.25,
      leastColumn: 5.5
    });
    drawn.replaceChildren(drawing.element);
    update();
  }

  function update() {
    const state = growState(current(), steps.value);
    fillTree(drawing, current(), state, name);
    frame.show(state, describeStep(current(), steps.value, name));
  }

  frame.follow(treeChoice, () => open(0));
  frame.follow(steps, update);
  open(start.step);
  return frame.open();
}

const ball = (colour, size, kind, content = "") =>
  html`<span class=${kind} style=${`--role: ${role(colour)}; --size: ${size}rem; display: inline-flex; vertical-align: -.125em`}><span class="grow-ball">${content}</span></span>`;

const LOOKS = {
  new: {colour: "draft", word: ""},
  chosen: {colour: "target", word: "▸ grows"},
  grown: {colour: "muted", word: ""},
  kept: {colour: "accepted", word: "✓ kept"},
  cut: {colour: "muted", word: "cut"}
};

/** Area in proportion to value, so that sums of areas are sums of values; never too small for a letter. */
const sizeOf = (value) => 1.125 + 1.125 * Math.sqrt(value);

function fillTree({root, nodes, edges}, tree, state, name) {
  const place = rerankOrder(tree);
  root.replaceChildren(html`<span class="grow-root">text</span>`);
  nodes.forEach((element, node) => {
    const look = lookOf(tree, state, node);
    element.classList.toggle("grow-here", look !== null && tree.depths[node] === state.layer);
    edges[node].setAttribute("class", `grow-${look || "hidden"}`);
    if (look === null) return element.replaceChildren(html`<span class="grow-awaited" aria-hidden="true">`);
    const {colour, word} = LOOKS[look];
    const rank = `rank ${place.indexOf(node) + 1}`;
    element.replaceChildren(html`<div class=${`grow-node grow-${look}`} style=${`--role: ${role(colour)}; --size: ${sizeOf(tree.values[node])}rem`}>
      <span class="grow-ball">${name(tree.tokens[node])}</span>
      <span class="grow-words">${probability(tree.values[node])} <b>${state.kind === "rank" ? rank : word}</b></span></div>`);
  });
}

/** How a node looks at a step; null where it is not there yet. */
function lookOf({depths}, {kind, layer, frontier, kept}, node) {
  if (depths[node] > layer) return null;
  if (kind === "keep") return kept.includes(node) ? "kept" : "cut";
  if (frontier.includes(node)) return "chosen";
  return depths[node] === layer ? "new" : "grown";
}
