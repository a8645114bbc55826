/**
 * Draft trees whose nodes have values, as specdec.eagle2 grows them: {tokens, parents, depths, values}, the value of a
 * node being the product of the draft's confidences along its path.
 */

import {treeDepths} from "./trees.js";

const ROUNDING = 2e-6; // recorded values have six digits

/** The nodes in the order in which a growing budget takes them: by value, among equals the shallower, then the earlier. */
export function rerankOrder({values, depths}) {
  const nodes = values.map((_, node) => node);
  return nodes.sort((a, b) => values[b] - values[a] || depths[a] - depths[b] || a - b);
}

/** The m nodes of the largest values, ascending. */
export function keptNodes(tree, m) {
  return rerankOrder(tree)
    .slice(0, m)
    .sort((a, b) => a - b);
}

/** Whether a set of nodes holds with every node its parent. */
export function isAncestorClosed(parents, kept) {
  return kept.every((node) => parents[node] === -1 || kept.includes(parents[node]));
}

/** Total value of some nodes. */
export function valueMass({values}, nodes) {
  return nodes.reduce((mass, node) => mass + values[node], 0);
}

/** The nodes of a layer that were given children. */
export function frontierOf({parents, depths}, layer) {
  return depths.map((_, node) => node).filter((node) => depths[node] === layer && parents.includes(node));
}

/**
 * Checks that a recorded tree can have been grown from its values: depths, no value above its parent's, and in each
 * layer the nodes with children are worth no less than those without.
 * @throws {Error} naming the tree and the node or layer
 */
export function checkExpanded(name, tree) {
  const {parents, depths, values} = tree;
  const demand = (holds, words) => {
    if (!holds) throw new Error(`tree "${name}": ${words}`);
  };
  treeDepths(parents).forEach((depth, node) =>
    demand(depth === depths[node], `node ${node} is at depth ${depth}, not ${depths[node]}`)
  );
  values.forEach((value, node) =>
    demand(
      parents[node] === -1 || value <= values[parents[node]] + ROUNDING,
      `node ${node} is worth more than its parent`
    )
  );
  for (let layer = 1; layer < Math.max(...depths); layer += 1) {
    const grown = frontierOf(tree, layer);
    const left = depths.map((_, node) => node).filter((node) => depths[node] === layer && !grown.includes(node));
    const [least, most] = [
      Math.min(...grown.map((node) => values[node])),
      Math.max(0, ...left.map((node) => values[node]))
    ];
    demand(least >= most - ROUNDING, `a node of layer ${layer} was expanded in place of a better one`);
  }
}

/**
 * Checks that the recorded choice of nodes is the best of its size.
 * @throws {Error} naming the tree
 */
export function checkKept(name, tree, kept) {
  const [mass, best] = [valueMass(tree, kept), valueMass(tree, keptNodes(tree, kept.length))];
  if (!isAncestorClosed(tree.parents, kept)) throw new Error(`tree "${name}": a kept node lacks its parent`);
  if (Math.abs(mass - best) > ROUNDING * kept.length)
    throw new Error(`tree "${name}": the kept nodes are worth ${mass}, the best ${kept.length} are worth ${best}`);
}
