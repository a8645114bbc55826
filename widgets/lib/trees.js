/**
 * Candidate trees: node i hangs below `parents[i]`, −1 stands for the context, and a parent comes before its children.
 * Each function equals the one of the same name in specdec.tree; the tests hold them together.
 */

/** Depth of each node, counted from 1 for the children of the context. */
export function treeDepths(parents) {
  const depths = [];
  parents.forEach((parent, node) => {
    if (!(parent >= -1 && parent < node))
      throw new Error(`parents[${node}] must be −1 or an earlier node, got ${parent}`);
    depths.push(parent === -1 ? 1 : depths[parent] + 1);
  });
  return depths;
}

/** The nodes from the context's child down to `node`, both included. */
export function treePath(parents, node) {
  const path = [];
  for (let at = node; at !== -1; at = parents[at]) path.unshift(at);
  return path;
}

/** The nodes right below `node`, or below the context for −1. */
export function childrenOf(parents, node) {
  return parents.map((_, child) => child).filter((child) => parents[child] === node);
}

/** n rows of n: node i sees its ancestors and itself. */
export function treeAttentionMask(parents) {
  treeDepths(parents); // checks them
  return parents.map((_, node) => {
    const path = treePath(parents, node);
    return parents.map((_, other) => path.includes(other));
  });
}

/** What one pass over the tree needs after `past` tokens: n rows of past + n, and each node's position by its depth. */
export function treePassInputs(parents, past) {
  const toPast = Array.from({length: past}, () => true);
  return {
    mask: treeAttentionMask(parents).map((row) => [...toPast, ...row]),
    positions: treeDepths(parents).map((depth) => past + depth - 1)
  };
}

/** The nodes that greedy verification accepts, from the top: those that the target itself says. */
export function acceptedPath({tokens, parents}, rootNext, nodeNext) {
  const path = [];
  let [at, wanted] = [-1, rootNext];
  tokens.forEach((token, node) => {
    if (parents[node] !== at || token !== wanted) return; // children come after their parent: one sweep will do
    path.push(node);
    [at, wanted] = [node, nodeNext[node]];
  });
  return path;
}

/** The accepted tokens, and with the target's own next one, the bonus, what is emitted. */
export function verifyTreeGreedy(tree, rootNext, nodeNext) {
  const path = acceptedPath(tree, rootNext, nodeNext);
  const accepted = path.map((node) => tree.tokens[node]);
  const bonus = path.length > 0 ? nodeNext[path[path.length - 1]] : rootNext;
  return {accepted_tokens: accepted, accepted_len: accepted.length, emitted: [...accepted, bonus]};
}

/** In which row to draw each node: leaves one below the other, a parent amid its children. Drawn only, not computed with. */
export function treeRows(parents) {
  const rows = [];
  let leaves = 0;
  const place = (node) => {
    const below = childrenOf(parents, node).map(place);
    rows[node] = below.length > 0 ? (below[0] + below[below.length - 1]) / 2 : leaves++;
    return rows[node];
  };
  childrenOf(parents, -1).forEach(place);
  return rows;
}
