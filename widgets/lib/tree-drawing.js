import {html, svg} from "../vendor/observable.js";
import {scrollRegion} from "./scroll.js";
import {addStyles} from "./styles.js";
import {treeDepths, treeRows} from "./trees.js";

const CSS = `
  .widget-tree { position: relative; min-width: calc(var(--columns) * var(--least-column)); margin: .25rem 0; }
  .widget-tree > svg { position: absolute; inset: 0; width: 100%; height: 100%; }
  .widget-tree path {
    fill: none; stroke: var(--widget-line); stroke-width: 1.5px; vector-effect: non-scaling-stroke;
  }
  .widget-tree-place {
    position: absolute; display: flex; align-items: center; justify-content: center; max-width: calc(100% / var(--columns));
    transform: translate(-50%, -50%);
  }
  .widget-tree-place .widget-chip:is(.chip-context, .chip-discarded) { background: var(--widget-paper); }
`;

/**
 * A tree from left to right, a column for the context and one for each depth. What stands at a place is up to the
 * caller, and so is the look of an edge: by its class, or its style.
 * @param {number[]} parents see trees.js
 * @param {{label: string, inSight: string, rowHeight?: number, leastColumn?: number}} options `label` names the tree
 *   where it has to be scrolled, `inSight` is a selector of what is in its middle then; lengths in rem
 * @returns {{element: HTMLElement, root: HTMLElement, nodes: HTMLElement[], edges: SVGPathElement[], follow: () => void}}
 *   `edges[i]` leads to `nodes[i]`; `follow` scrolls to what is now to be in sight
 */
export function treeDrawing(parents, {label, inSight, rowHeight = 2, leastColumn = 2.5}) {
  addStyles("tree", CSS);
  const [depths, rows] = [treeDepths(parents), treeRows(parents)];
  const columns = Math.max(0, ...depths) + 1;
  const height = Math.max(0, ...rows) + 1;
  const top = rows.filter((_, node) => parents[node] === -1);
  const rootRow = top.length > 0 ? (top[0] + top[top.length - 1]) / 2 : 0;

  const x = (node) => (node === -1 ? 0 : depths[node]) + 0.5;
  const y = (node) => (node === -1 ? rootRow : rows[node]) + 0.5;
  const place = (node) => {
    const [left, down] = [(100 * x(node)) / columns, (100 * y(node)) / height];
    return html`<div class="widget-tree-place" style=${`left: ${left}%; top: ${down}%`}></div>`;
  };
  const edge = (node) => {
    const parent = parents[node];
    const middle = (x(node) + x(parent)) / 2;
    const curve = `M${x(parent)} ${y(parent)}C${middle} ${y(parent)} ${middle} ${y(node)} ${x(node)} ${y(node)}`;
    return svg`<path d=${curve}></path>`;
  };

  const [root, nodes] = [place(-1), parents.map((_, node) => place(node))];
  const edges = parents.map((_, node) => edge(node));
  const size = `height: ${height * rowHeight}rem; --columns: ${columns}; --least-column: ${leastColumn}rem`;
  const tree = html`<div class="widget-tree" style=${size}>
    <svg viewBox=${`0 0 ${columns} ${height}`} preserveAspectRatio="none" aria-hidden="true">${edges}</svg>
    ${root}${nodes}</div>`;
  const element = scrollRegion(label, inSight);
  const follow = () => element.show(tree);
  follow();
  return {element, root, nodes, edges, follow};
}
