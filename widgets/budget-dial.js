import {Plot, html} from "./vendor/observable.js";
import {integer, oneOf} from "./lib/address.js";
import {role} from "./lib/colours.js";
import {checkExpanded, keptNodes, rerankOrder, valueMass} from "./lib/draft-values.js";
import {count} from "./lib/formats.js";
import {widgetFrame} from "./lib/frame.js";
import {choice, range} from "./lib/inputs.js";
import {columns, controlRow, part} from "./lib/layout.js";
import {legend} from "./lib/legend.js";
import {keyMark, plot, responsive} from "./lib/plot.js";
import {addStyles} from "./lib/styles.js";
import {treeDrawing} from "./lib/tree-drawing.js";

/** The mass of the best m nodes and of the first m breadth-first, for m = 1 … n. */
export function massCurves(tree) {
  const running = (nodes) => {
    let mass = 0;
    return nodes.map((node) => (mass += tree.values[node]));
  };
  return {dynamic: running(rerankOrder(tree)), fixed: running(tree.values.map((_, node) => node))};
}

/**
 * Checks a recorded tree and its two masses.
 * @throws {Error} naming the tree and the budget
 */
export function checkBudgets(tree) {
  checkExpanded(tree.name, tree);
  const {dynamic, fixed} = massCurves(tree);
  for (const {keep_m: m, dynamic_value_mass: best, fixed_value_mass: first} of tree.budgets) {
    if (Math.abs(dynamic[m - 1] - best) > 1e-4 || Math.abs(fixed[m - 1] - first) > 1e-4)
      throw new Error(`tree "${tree.name}": at a budget of ${m} the masses are recorded as ${best} and ${first}`);
  }
}

/** What the widget shows, as numbers; nodes are counted from 0, layer after layer. */
export function budgetState(tree, budget) {
  const dynamicNodes = keptNodes(tree, budget);
  const fixedNodes = tree.values.map((_, node) => node).slice(0, budget);
  return {
    tree: tree.name,
    budget,
    dynamicNodes,
    fixedNodes,
    dynamicMass: valueMass(tree, dynamicNodes),
    fixedMass: valueMass(tree, fixedNodes)
  };
}

/** The state in a few sentences. */
export function describeBudget(tree, {budget, dynamicNodes, fixedNodes, dynamicMass, fixedMass}) {
  const deepest = (nodes) => Math.max(...nodes.map((node) => tree.depths[node]));
  const masses = `With ${count(budget, "node")} to verify, the dynamic tree is worth ${dynamicMass.toFixed(2)} and reaches depth ${deepest(dynamicNodes)}, the fixed one is worth ${fixedMass.toFixed(2)} and reaches depth ${deepest(fixedNodes)}.`;
  if (budget === tree.values.length) return `${masses} Both hold every node now: the curves meet.`;
  if (dynamicMass - fixedMass < 1e-9) return `${masses} As yet they spend alike.`;
  return `${masses} The dynamic one is worth ${(dynamicMass / fixedMass).toFixed(2)} times as much.`;
}

const CSS = `
  .widget-budget .budget-node {
    position: relative; display: flex; align-items: center; justify-content: center; width: 1.25rem; height: 1.25rem;
    font: .6875rem/1 ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace; background: var(--widget-paper);
    border-radius: 50%; color: var(--role-muted);
  }
  .widget-budget .budget-root { padding: 0 .125rem; background: var(--widget-paper); font-size: .8125rem; }
  .widget-budget .budget-dynamic { background: var(--role-accepted); color: var(--widget-paper); font-weight: 700; }
  .widget-budget .budget-fixed::after {
    content: ""; position: absolute; inset: -.125rem; border: 2px solid var(--role-draft); border-radius: .1875rem;
  }
  .widget-budget .budget-sample { display: inline-flex; width: .875rem; height: .875rem; vertical-align: -.125em; }
  .widget-budget .widget-tree path.budget-dynamic { stroke: var(--role-accepted); stroke-width: 2px; }
`;

/**
 * A slider for the nodes that may be verified: which ones the dynamic tree takes, which ones a fixed tree, and what
 * they are worth.
 * @param {{trees: object[], labels?: string[]}} data each {name, tokens, parents, depths, values, budgets}: a tree of
 *   specdec.eagle2.expand_draft_tree, and a list of {keep_m, dynamic_value_mass, fixed_value_mass} that Python computed
 * @param {{tree?: string, budget?: number}} options where to start
 * @returns {HTMLElement} with `.value` {tree, budget, dynamicNodes, fixedNodes, dynamicMass, fixedMass}; emits `input`
 */
export function budgetDial({trees, labels}, options = {}) {
  addStyles("budget", CSS);
  trees.forEach(checkBudgets);
  const names = trees.map((tree) => tree.name);
  const sizes = trees.map(({values}) => values.length);
  const start = {tree: names[0], budget: Math.min(8, ...sizes), ...options};
  const name = (token) => (labels ? labels[token] : String(token));
  const treeChoice = choice(names, {label: "Context", value: start.tree});
  const dial = range([1, Math.max(...sizes)], {
    label: "budget, nodes to verify",
    name: "budget, nodes to verify",
    value: start.budget,
    step: 1
  });
  const current = () => trees[names.indexOf(treeChoice.value)];
  const curves = responsive((width) => drawCurves(width, current(), frame.root.value));
  const drawn = html`<div>`;
  let drawing = null;
  const arrange = (sentence) => [
    controlRow(names.length > 1 ? treeChoice : "", dial),
    columns(part("The expanded tree", drawn), part("Value of the nodes verified", curves)),
    legend([
      [html`<span class="budget-node budget-sample budget-dynamic">`, "in the dynamic tree: the best"],
      [html`<span class="budget-node budget-sample budget-fixed">`, "in the fixed tree: layer by layer"],
      [keyMark("ring", "muted"), "computed by Python: on the lines"]
    ]),
    sentence
  ];
  const frame = widgetFrame("budget", "Budget dial", arrange, {
    fields: {tree: oneOf(names), budget: integer(1, Math.max(...sizes))},
    set({tree, budget}) {
      treeChoice.value = tree;
      dial.value = budget;
      open();
    }
  });

  function open() {
    drawing = treeDrawing(current().parents, {
      label: "Expanded tree",
      inSight: ".budget-dynamic",
      rowHeight: 1.5,
      leastColumn: 2.25
    });
    drawn.replaceChildren(drawing.element);
    update();
  }

  function update() {
    const tree = current();
    const state = budgetState(tree, Math.min(dial.value, tree.values.length));
    fillTree(drawing, tree, state, name);
    frame.show(state, describeBudget(tree, state));
    curves.redraw();
  }

  frame.follow(treeChoice, open);
  frame.follow(dial, update);
  open();
  return frame.open();
}

function fillTree({root, nodes, edges}, tree, {dynamicNodes, fixedNodes}, name) {
  root.replaceChildren(html`<span class="budget-root">text</span>`);
  nodes.forEach((element, node) => {
    const looks = [dynamicNodes.includes(node) && "budget-dynamic", fixedNodes.includes(node) && "budget-fixed"].filter(
      Boolean
    );
    element.replaceChildren(html`<span class=${["budget-node", ...looks].join(" ")}>${name(tree.tokens[node])}</span>`);
    edges[node].setAttribute("class", looks[0] === "budget-dynamic" ? "budget-dynamic" : "");
  });
}

function drawCurves(width, tree, {budget, dynamicMass, fixedMass}) {
  const {dynamic, fixed} = massCurves(tree);
  const share = budget / tree.values.length;
  const series = [
    {
      curve: dynamic,
      here: dynamicMass,
      colour: "accepted",
      symbol: "circle",
      name: "dynamic",
      recorded: "dynamic_value_mass",
      dy: -14,
      side: share > 0.3 ? "end" : "start"
    },
    {
      curve: fixed,
      here: fixedMass,
      colour: "draft",
      symbol: "square",
      name: "fixed",
      recorded: "fixed_value_mass",
      dy: 16,
      side: share > 0.7 ? "end" : "start"
    }
  ];
  const [total] = dynamic.slice(-1);
  return plot({
    label: `Value against budget: at ${budget} nodes dynamic ${dynamicMass.toFixed(2)}, fixed ${fixedMass.toFixed(2)}`,
    width,
    height: 230,
    marginLeft: 32,
    marginRight: 8,
    marginTop: 18,
    marginBottom: 34,
    x: {
      domain: [0, tree.values.length],
      inset: 4,
      label: "nodes verified, m",
      labelAnchor: "center",
      labelArrow: "none",
      ticks: 6,
      tickFormat: "d"
    },
    y: {domain: [0, total * 1.15], ticks: 5, grid: true, label: null},
    marks: [
      Plot.ruleX([budget], {stroke: role("target"), strokeOpacity: 0.4}),
      ...series.flatMap(({curve, here, colour, symbol, name, recorded, dy, side}) => [
        Plot.line(curve, {
          x: (_, index) => index + 1,
          y: (mass) => mass,
          stroke: role(colour),
          strokeWidth: 1.5,
          strokeDasharray: symbol === "square" ? "6,3" : "none"
        }),
        Plot.dot(tree.budgets, {x: "keep_m", y: recorded, r: 4, stroke: role("muted")}),
        Plot.dot([here], {
          x: budget,
          y: (mass) => mass,
          symbol,
          r: 5.5,
          fill: role(colour),
          stroke: "var(--widget-paper)"
        }),
        Plot.text([here], {
          x: budget,
          y: (mass) => mass,
          text: (mass) => `${name} ${mass.toFixed(2)}`,
          textAnchor: side,
          dx: side === "end" ? -8 : 8,
          dy,
          fontWeight: 700,
          fill: role(colour),
          stroke: "var(--widget-paper)",
          strokeWidth: 4
        })
      ])
    ]
  });
}
