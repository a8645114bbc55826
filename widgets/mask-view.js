import {html, svg} from "./vendor/observable.js";
import {integer, oneOf} from "./lib/address.js";
import {chip} from "./lib/chips.js";
import {role} from "./lib/colours.js";
import {count} from "./lib/formats.js";
import {widgetFrame} from "./lib/frame.js";
import {choice, goToEnds} from "./lib/inputs.js";
import {legend} from "./lib/legend.js";
import {responsive} from "./lib/plot.js";
import {addStyles} from "./lib/styles.js";
import {treeDrawing} from "./lib/tree-drawing.js";
import {treeDepths, treePassInputs, treePath} from "./lib/trees.js";

/** The mask for the tree, and the one that fits a plain text: every earlier node, rivals too. */
export const RULES = ["tree", "causal"];

/**
 * Who sees whom, under a rule, in the form of specdec.tree.tree_pass_inputs.
 * @returns {{mask: boolean[][], positions: number[]}}
 */
export function passInputs(parents, past, rule) {
  if (!RULES.includes(rule)) throw new Error(`rule must be one of ${RULES.join(", ")}, got ${rule}`);
  if (rule === "tree") return treePassInputs(parents, past);
  return {
    mask: parents.map((_, node) => Array.from({length: past + parents.length}, (_, column) => column <= past + node)),
    positions: parents.map((_, node) => past + node)
  };
}

/**
 * What the widget shows, as numbers: `sees` are columns of the mask, `path` the nodes from the top to this one, `leaks`
 * the nodes that it sees though they are not in its text.
 */
export function maskState(parents, past, node, rule) {
  const {mask, positions} = passInputs(parents, past, rule);
  const sees = mask[node].map((_, column) => column).filter((column) => mask[node][column]);
  const path = treePath(parents, node);
  const leaks = sees.map((column) => column - past).filter((other) => other >= 0 && !path.includes(other));
  return {node, rule, depth: treeDepths(parents)[node], position: positions[node], path, sees, leaks};
}

/**
 * Checks a mask and positions that Python has recorded against those computed here.
 * @throws {Error} naming the node
 */
export function checkRecord({parents, past, mask, positions}) {
  const here = treePassInputs(parents, past.length);
  parents.forEach((_, node) => {
    if (mask && String(mask[node]) !== String(here.mask[node]))
      throw new Error(`mask view: the recorded mask of node ${node} is not that of its ancestors`);
    if (positions && positions[node] !== here.positions[node])
      throw new Error(`mask view: node ${node} is recorded at position ${positions[node]}, its depth says ${here.positions[node]}`);
  });
}

/** The state in a few sentences. */
export function describeMask({parents, labels, past}, state) {
  const {node, rule, depth, position, path, sees, leaks} = state;
  const quoted = (nodes) => nodes.map((other) => `“${labels[other]}”`).join(", ");
  const name = `“${labels[node]}” (node ${node + 1})`;
  const context = past.length > 0 ? `the ${count(past.length, "token")} of the context` : "no context";
  if (rule === "tree") {
    const above = path.slice(0, -1);
    const ancestors = above.length > 0 ? `, its ${above.length === 1 ? "ancestor" : "ancestors"} ${quoted(above)}` : "";
    return `${name} sees ${context}${ancestors} and itself: ${sees.length} of ${past.length + parents.length} columns. At depth ${depth} its position is ${position}, and so is that of every node at this depth.`;
  }
  const right = treePassInputs(parents, past.length).positions[node];
  const place = position === right ? `Its position ${position} happens to be right` : `Its position becomes ${position}; right is ${right}`;
  if (leaks.length === 0) return `Under a plain causal mask ${name} sees nothing that is not in its text. ${place}.`;
  return `Under a plain causal mask ${name} also sees ${quoted(leaks)}, which ${leaks.length === 1 ? "is" : "are"} not in its text: it is scored after a text that nobody guessed. ${place}.`;
}

const CSS = `
  .widget-mask .mask-parts { display: grid; grid-template-columns: minmax(0, 1fr); gap: .5rem 1.5rem; margin-top: .75rem; }
  .widget-mask .mask-title { font-weight: 600; }
  .widget-mask .mask-node { position: relative; display: block; max-width: 100%; border-radius: .375rem; cursor: pointer; }
  .widget-mask .mask-node input {
    position: absolute; inset: 0; width: 100%; height: 100%; margin: 0; opacity: 0; cursor: pointer;
  }
  .widget-mask .mask-seen .widget-chip.chip-context {
    border-color: var(--role-target); background: color-mix(in srgb, var(--role-target) 14%, var(--widget-paper));
  }
  .widget-mask .mask-leak .widget-chip { border: 2px dashed var(--role-rejected); }
  .widget-mask .mask-leak .widget-chip::before { content: "✗"; color: var(--role-rejected); font-weight: 700; }
  .widget-mask .mask-here .widget-chip.chip-context {
    background: var(--role-target); color: var(--widget-paper); font-weight: 700;
  }
  .widget-mask .mask-node:has(:focus-visible) { outline: 2px solid var(--role-target); outline-offset: 2px; }
  .widget-mask .widget-tree path.mask-lit { stroke: var(--role-target); stroke-width: 3px; }
  .widget-mask .mask-grid svg text { fill: var(--role-muted); font-size: 12px; }
  .widget-mask .mask-grid svg text.mask-lit { fill: var(--widget-ink); font-weight: 700; }
  .widget-mask .mask-swatch {
    display: inline-block; width: .8em; height: .8em; border-radius: .1875rem; vertical-align: -.05em;
  }
  .widget-mask .mask-cross { color: var(--role-rejected); font-weight: 700; }
  @container (min-width: 34rem) {
    .widget-mask .mask-parts { grid-template-columns: minmax(0, 1fr) minmax(0, 1.1fr); align-items: center; }
  }
`;

let groups = 0; // radio buttons belong together by name

/**
 * A tree of guesses beside its attention mask: the chosen node's row, and whom it sees.
 * @param {{labels: string[], parents: number[], past: string[], mask?: boolean[][], positions?: number[]}} data what
 *   the nodes' and the context's tokens show; mask and positions, where given, are those of
 *   specdec.tree.tree_pass_inputs and are checked
 * @param {{node?: number, rule?: "tree"|"causal"}} options where to start
 * @returns {HTMLElement} with `.value` {node, rule, depth, position, path, sees, leaks}; emits `input`
 */
export function maskView(data, {node = data.parents.length - 1, rule = "tree"} = {}) {
  addStyles("mask", CSS);
  checkRecord(data);
  const {labels, parents, past} = data;
  let preview = null; // the node under the pointer
  const ruleChoice = choice(new Map([["of the tree", "tree"], ["plain causal", "causal"]]), {label: "Mask", value: rule});
  const tree = treeDrawing(parents, {label: "Tree of guesses", inSight: ".mask-here", leastColumn: 2});
  tree.root.append(chip(past.length > 0 ? past[past.length - 1] : "start", "context"));
  const nodes = nodeButtons(tree, labels, parents);
  const grid = responsive((width) => drawMask(width, data, shown()));
  const arrange = (sentence) => [
    ruleChoice,
    html`<div class="mask-parts">
      <div><div class="mask-title">Tree of guesses</div>${nodes.element}</div>
      <div class="mask-grid">${grid}</div>
    </div>`,
    key(),
    sentence
  ];
  const frame = widgetFrame("mask", "Attention mask of a tree", arrange, {
    fields: {node: integer(0, parents.length - 1), rule: oneOf(RULES)},
    set({node, rule}) {
      nodes.value = node;
      ruleChoice.value = rule;
      update();
    }
  });

  function shown() {
    return maskState(parents, past.length, preview === null ? nodes.value : preview, ruleChoice.value);
  }

  function paint() {
    const {node, path, leaks} = shown();
    parents.forEach((_, other) => {
      const {classList} = nodes.labels[other];
      classList.toggle("mask-here", other === node);
      classList.toggle("mask-seen", path.includes(other));
      classList.toggle("mask-leak", leaks.includes(other));
      tree.edges[other].classList.toggle("mask-lit", path.includes(other));
    });
    grid.redraw();
  }

  function update() {
    preview = null;
    const state = maskState(parents, past.length, nodes.value, ruleChoice.value);
    frame.show(state, describeMask(data, state));
    paint();
  }

  function look(node) {
    if (node === preview) return;
    preview = node;
    paint();
  }

  nodes.labels.forEach((label, other) => {
    label.addEventListener("pointerenter", () => look(other));
    label.addEventListener("pointerleave", () => look(null));
  });
  grid.addEventListener("pointermove", (event) => look(rowAt(grid, parents.length, event.clientY)));
  grid.addEventListener("pointerleave", () => look(null));
  grid.addEventListener("click", (event) => {
    const row = rowAt(grid, parents.length, event.clientY);
    if (row === null) return;
    nodes.value = row;
    update();
    frame.notify();
  });
  frame.follow([nodes.element, ruleChoice], update);
  nodes.value = node;
  update();
  return frame.open();
}

/** The nodes as one group of radio buttons: Tab reaches it, arrow keys walk through it, Home and End go to its ends. */
function nodeButtons(tree, labels, parents) {
  const name = `mask-node-${(groups += 1)}`;
  const depths = treeDepths(parents);
  const buttons = labels.map((label, node) => {
    return html`<input type="radio" name=${name} aria-label=${`${label}, node ${node + 1}, depth ${depths[node]}`}>`;
  });
  const places = labels.map((label, node) => html`<label class="mask-node">${buttons[node]}${chip(label, "context")}</label>`);
  places.forEach((place, node) => tree.nodes[node].append(place));
  const element = html`<div role="radiogroup" aria-label="Node">${tree.element}</div>`;
  goToEnds(element);
  return {
    element,
    labels: places,
    get value() {
      return buttons.findIndex(({checked}) => checked);
    },
    set value(node) {
      buttons[node].checked = true;
    }
  };
}

const GROUP_HEIGHT = 18;
const LEAST_FOR_WORDS = 11;
const CHARACTER = 7.5; // px, of the widest letters

/** The mask: a row per node, a column per token of the context and per node. */
function drawMask(width, {labels, parents, past}, {node, rule, sees, leaks}) {
  const columns = [...past, ...labels];
  const longest = Math.max(...columns.map((label) => label.length)) * CHARACTER + 4;
  const left = Math.min(64, Math.max(20, longest));
  const cell = Math.min(30, (width - left - 1) / columns.length);
  const upright = longest <= cell;
  const words = cell >= LEAST_FOR_WORDS;
  const top = GROUP_HEIGHT + (!words ? 0 : upright ? 18 : Math.min(64, longest));
  const {mask} = passInputs(parents, past.length, rule);
  const x = (column) => left + column * cell;
  const y = (row) => top + row * cell;

  const square = (row, column) => {
    const lit = row === node;
    const leak = lit && leaks.includes(column - past.length);
    const fill = leak ? "none" : role(column < past.length ? "muted" : "target");
    const box = svg`<rect x=${x(column) + 0.12 * cell} y=${y(row) + 0.12 * cell} width=${0.76 * cell} height=${0.76 * cell}
      rx=${0.12 * cell} fill=${fill} fill-opacity=${lit ? 1 : 0.3}></rect>`;
    if (!leak) return box;
    const [x0, y0, x1, y1] = [x(column) + 0.25 * cell, y(row) + 0.25 * cell, x(column) + 0.75 * cell, y(row) + 0.75 * cell];
    return svg`<path d=${`M${x0} ${y0}L${x1} ${y1}M${x1} ${y0}L${x0} ${y1}`} stroke=${role("rejected")}
      stroke-width=${Math.max(1.5, cell / 9)}></path>`;
  };
  const heading = (label, column) => {
    const middle = x(column) + cell / 2;
    const turn = upright ? "" : `rotate(-90 ${middle} ${top - 4})`;
    return svg`<text x=${middle} y=${top - 4} dy=${upright ? 0 : "0.35em"} transform=${turn}
      text-anchor=${upright ? "middle" : "start"} class=${sees.includes(column) ? "mask-lit" : ""}>${label}</text>`;
  };
  const rowName = (label, row) => svg`<text x=${left - 6} y=${y(row) + cell / 2} dy="0.35em" text-anchor="end"
    class=${row === node ? "mask-lit" : ""}>${label}</text>`;
  const border = x(past.length);
  const bottom = y(parents.length);
  const squares = mask.flatMap((row, place) => row.map((seen, column) => (seen ? square(place, column) : "")));

  return svg`<svg viewBox=${`0 0 ${width} ${bottom + 1}`} width=${width} height=${bottom + 1} role="img"
    data-top=${top / (bottom + 1)} aria-label=${`Attention mask: ${parents.length} rows, ${columns.length} columns; node ${node + 1} sees ${sees.length}`}>
    <rect x=${left} y=${y(node)} width=${columns.length * cell} height=${cell} fill="var(--widget-soft)"></rect>
    ${past.length * cell > 48 ? svg`<text x=${left} y="12">context</text>` : ""}
    <text x=${border + 4} y="12">guesses</text>
    ${words ? columns.map(heading) : ""}${words ? labels.map(rowName) : ""}
    ${squares}
    <path d=${`M${border} 0V${bottom}`} stroke="var(--widget-line)"></path>
    <rect x=${left} y=${y(node)} width=${columns.length * cell} height=${cell} fill="none" stroke=${role("target")} rx="3"></rect>
  </svg>`;
}

/** The node whose row of the mask lies at this height of the screen, or null. */
function rowAt(grid, rows, clientY) {
  const drawing = grid.querySelector("svg");
  const box = drawing.getBoundingClientRect();
  const top = box.top + Number(drawing.dataset.top) * box.height;
  const row = Math.floor(((clientY - top) / (box.bottom - top)) * rows);
  return row >= 0 && row < rows ? row : null;
}

function key() {
  const swatch = (colour) => html`<span class="mask-swatch" style=${`background: ${role(colour)}`}>`;
  return legend([
    [swatch("muted"), "the context"],
    [swatch("target"), "ancestors and itself"],
    [html`<span class="mask-cross" aria-hidden="true">✗</span>`, "seen, though not in its text"]
  ]);
}
