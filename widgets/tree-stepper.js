import {html} from "./vendor/observable.js";
import {integer} from "./lib/address.js";
import {chip} from "./lib/chips.js";
import {count} from "./lib/formats.js";
import {widgetFrame} from "./lib/frame.js";
import {choice} from "./lib/inputs.js";
import {stepper} from "./lib/stepper.js";
import {addStyles} from "./lib/styles.js";
import {treeDrawing} from "./lib/tree-drawing.js";
import {acceptedPath, childrenOf, treeDepths, verifyTreeGreedy} from "./lib/trees.js";

/**
 * Checks a recorded round: what is accepted and emitted is computed again from the tree and the target's tokens.
 * @param {object} round a TreeRound of specdec.tree, with `name` and `greedy_reference`, what plain decoding writes
 * @throws {Error} naming the round, if the record says anything else
 */
export function checkRound({name, tree, root_next, node_next, accepted_nodes, emitted, greedy_reference}) {
  const demand = (holds, what) => {
    if (!holds) throw new Error(`tree stepper: ${name}: ${what}`);
  };
  const size = tree.tokens.length;
  demand(
    tree.parents.length === size && node_next.length === size,
    `${size} guesses need as many parents and tokens of the target`
  );
  const path = acceptedPath(tree, root_next, node_next);
  demand(String(path) === String(accepted_nodes), `nodes ${accepted_nodes} are recorded as accepted, the target accepts ${path}`);
  const out = verifyTreeGreedy(tree, root_next, node_next).emitted;
  demand(String(out) === String(emitted), `${emitted} is recorded as emitted, verification emits ${out}`);
  demand(String(out) === String(greedy_reference), `it emits ${out}, plain greedy decoding ${greedy_reference}`);
}

/** The steps that tell a round: {kind, name}, with the depth that is drafted, or the node below which is tested. */
export function roundSteps({tree, accepted_nodes, emitted}) {
  const depths = treeDepths(tree.parents);
  const levels = Array.from({length: Math.max(0, ...depths)}, (_, level) => level + 1);
  const last = [-1, ...accepted_nodes][accepted_nodes.length];
  return [
    {kind: "start", name: "before the round"},
    ...levels.map((depth) => ({kind: "draft", depth, name: `guesses of level ${depth}`})),
    {kind: "score", name: "one target pass"},
    ...accepted_nodes.map((node) => ({kind: "accept", node, at: tree.parents[node], name: `level ${depths[node]}: accepted`})),
    {kind: "stop", at: last, name: "the walk ends"},
    {kind: "commit", name: `${count(emitted.length, "token")} emitted`}
  ];
}

/** What is known once a step has been taken. */
export function progressAt(round, step) {
  const taken = roundSteps(round).slice(0, step + 1);
  const tally = (kind) => taken.filter((entry) => entry.kind === kind).length;
  const stopped = tally("stop") === 1;
  return {
    drafted: tally("draft"),
    scored: tally("score") === 1,
    accepted: round.accepted_nodes.slice(0, tally("accept")),
    stopped,
    committed: tally("commit") === 1
  };
}

/** A step in a sentence or two. */
export function describeStep(round, step, labels) {
  const {tree, context, root_next, node_next, accepted_nodes, emitted} = round;
  const {kind, depth, node, at} = roundSteps(round)[step];
  const quoted = (token) => `“${labels[token]}”`;
  const here = (place) => (place === -1 ? `the context’s ${quoted(context[context.length - 1])}` : quoted(tree.tokens[place]));
  const says = (place) => quoted(place === -1 ? root_next : node_next[place]);
  const size = tree.tokens.length;
  switch (kind) {
    case "start":
      return `${count(context.length, "token")} so far, the last is ${here(-1)}. Plain decoding would ask the target once for each further token; instead, a tree of ${size} guesses in ${count(Math.max(...treeDepths(tree.parents)), "level")} is hung below.`;
    case "draft": {
      const many = treeDepths(tree.parents).filter((other) => other === depth).length;
      return `Level ${depth}: ${many} ${many === 1 ? "guess" : "guesses"} for the ${ordinal(depth)} token from here.`;
    }
    case "score":
      return `One pass of the target over all ${size} guesses, each seeing its own ancestors only, tells what the target itself would write after the context and after each of them (→).`;
    case "accept":
      return `After ${here(at)} the target itself writes ${says(at)}. One guess of the next level says so: ${quoted(tree.tokens[node])} is accepted, its rivals and all below them are out.`;
    case "stop": {
      const rivals = childrenOf(tree.parents, at).map((child) => quoted(tree.tokens[child]));
      const reason =
        rivals.length > 0
          ? `What is guessed there, ${rivals.join(", ")}, does not agree.`
          : "The tree ends here.";
      return `After ${here(at)} the target writes ${says(at)}. ${reason} So ${says(at)} is added as the bonus: the pass has computed it anyway.`;
    }
    default:
      return `${count(emitted.length, "token")} for one target pass: ${accepted_nodes.length} accepted and 1 bonus. Plain greedy decoding writes the same ${emitted.length}, with a pass for each.`;
  }
}

const ordinal = (number) => ["first", "second", "third"][number - 1] || `${number}th`;

const CSS = `
  .widget-tree-stepper .tree-controls { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; align-items: end; }
  .widget-tree-stepper .tree-controls .widget-stepper { flex: 1 1 18rem; }
  .widget-tree-stepper .tree-drawn { margin-top: .75rem; }
  .widget-tree-stepper .widget-tree-place { max-width: none; }
  .widget-tree-stepper .tree-node { display: flex; gap: .125rem; align-items: center; }
  .widget-tree-stepper .tree-next { color: var(--role-target); font-size: .75rem; white-space: nowrap; background: var(--widget-paper); }
  .widget-tree-stepper .tree-next-bonus { color: var(--role-correction); font-weight: 700; }
  .widget-tree-stepper .tree-awaited { width: .375rem; height: .375rem; border-radius: 50%; background: var(--widget-line); }
  .widget-tree-stepper .tree-here .widget-chip { outline: 2px solid var(--role-target); outline-offset: 1px; }
  .widget-tree-stepper .widget-tree path.tree-drafted { stroke: var(--role-draft); stroke-dasharray: 4 3; }
  .widget-tree-stepper .widget-tree path.tree-out { stroke: var(--widget-line); stroke-dasharray: 2 4; }
  .widget-tree-stepper .widget-tree path.tree-accepted { stroke: var(--role-accepted); stroke-width: 3px; }
  .widget-tree-stepper .tree-rows {
    display: grid; grid-template-columns: auto minmax(0, 1fr) auto; gap: .375rem .75rem; align-items: center; margin-top: .75rem;
    padding-top: .5rem; border-top: 1px solid var(--widget-line);
  }
  .widget-tree-stepper .tree-rows > span { font-weight: 600; }
  .widget-tree-stepper .tree-row { display: flex; flex-wrap: wrap; gap: .25rem; align-items: center; min-height: 1.625rem; }
  .widget-tree-stepper .tree-passes { color: var(--role-muted); font-size: .8125rem; text-align: right; }
`;

/**
 * Steps through greedy verifications of candidate trees.
 * @param {{labels: string[], rounds: object[]}} data TreeRounds of specdec.tree, each with `name` and
 *   `greedy_reference`; labels[token] is what a chip shows
 * @param {{round?: number, step?: number, choose?: string}} options where to start, both counted from 0; `choose` is
 *   the title of the choice among the rounds
 * @returns {HTMLElement} with `.value` {round, step, kind, accepted, emitted, greedy}; emits `input`
 */
export function treeStepper({labels, rounds}, {round = 0, step = 0, choose = "Tree"} = {}) {
  addStyles("tree-stepper", CSS);
  rounds.forEach(checkRound);
  const names = (index) => roundSteps(rounds[index]).map(({name}) => name);
  const lastStep = (index) => names(index).length - 1;
  const roundChoice = choice(new Map(rounds.map(({name}, index) => [name, index])), {label: choose, value: round});
  const steps = stepper({steps: names(round), value: step});
  const drawn = html`<div class="tree-drawn">`;
  const rows = html`<div class="tree-rows">`;
  let tree = null;
  const arrange = (sentence) => [
    html`<div class="tree-controls">${rounds.length > 1 ? roundChoice : ""}${steps}</div>`,
    drawn,
    rows,
    sentence
  ];
  const frame = widgetFrame("tree-stepper", "Verification of a tree", arrange, {
    fields: {round: integer(0, rounds.length - 1), step: integer(0, Math.max(...rounds.map((_, index) => lastStep(index))))},
    set({round, step}) {
      roundChoice.value = round;
      open(Math.min(step, lastStep(round)));
    }
  });

  function open(step) {
    const index = roundChoice.value;
    steps.setSteps(names(index), step);
    tree = treeDrawing(rounds[index].tree.parents, {
      label: "Tree of guesses",
      inSight: ".tree-here",
      leastColumn: columnWidth(labels)
    });
    drawn.replaceChildren(tree.element);
    update();
  }

  function update() {
    const record = rounds[roundChoice.value];
    const {kind} = roundSteps(record)[steps.value];
    fillTree(tree, record, steps.value, labels);
    tree.follow();
    rows.replaceChildren(...outputRows(record, progressAt(record, steps.value), labels));
    frame.show(
      {
        round: roundChoice.value,
        step: steps.value,
        kind,
        accepted: record.accepted_nodes,
        emitted: record.emitted,
        greedy: record.greedy_reference
      },
      describeStep(record, steps.value, labels)
    );
  }

  frame.follow(roundChoice, () => open(0));
  frame.follow(steps, update);
  open(step);
  return frame.open();
}

/** Room for a chip and the target's token beside it, in rem. */
function columnWidth(labels) {
  const longest = Math.max(...labels.map((label) => label.length));
  return Math.min(9, 2.25 + longest);
}

/** Each place gets what is known of it: the guess, what the target says after it, its fate. */
function fillTree({root, nodes, edges}, round, step, labels) {
  const {tree, context, root_next, node_next} = round;
  const progress = progressAt(round, step);
  const {kind, at} = roundSteps(round)[step];
  const depths = treeDepths(tree.parents);
  const end = [-1, ...progress.accepted][progress.accepted.length];
  const next = (place) => {
    if (!progress.scored) return "";
    const bonus = progress.stopped && place === end;
    const token = labels[place === -1 ? root_next : node_next[place]];
    return html`<span class=${`tree-next ${bonus ? "tree-next-bonus" : ""}`}><span aria-hidden="true">→</span>${
      html`<span class="widget-only-heard"> the target goes on with </span>`}${token}</span>`;
  };
  const fill = (element, place, content) => {
    element.classList.toggle("tree-here", at === place && kind !== "commit");
    element.replaceChildren(html`<div class="tree-node">${content}${next(place)}</div>`);
  };

  fill(root, -1, chip(labels[context[context.length - 1]], "context"));
  nodes.forEach((element, node) => {
    const drafted = depths[node] <= progress.drafted;
    if (!drafted) element.replaceChildren(html`<span class="tree-awaited" aria-hidden="true">`);
    else fill(element, node, chip(labels[tree.tokens[node]], fateOf(tree, node, progress)));
    edges[node].setAttribute("class", drafted ? `tree-${edgeOf(fateOf(tree, node, progress))}` : "");
  });
}

/** A guess is out as soon as another one is accepted at its level, or its parent is out. */
function fateOf({parents}, node, {accepted, stopped}) {
  if (accepted.includes(node)) return "accepted";
  const tip = [-1, ...accepted][accepted.length];
  const open = isBelow(parents, node, tip) && !stopped;
  return open ? "draft" : "discarded";
}

function isBelow(parents, node, tip) {
  for (let at = node; at !== -1; at = parents[at]) if (parents[at] === tip) return true;
  return tip === -1;
}

const edgeOf = (fate) => ({accepted: "accepted", draft: "drafted", discarded: "out"})[fate];

/** What has been emitted so far, and, once the round is over, what plain decoding writes. */
function outputRows({accepted_nodes, emitted, greedy_reference}, {scored, accepted, stopped, committed}, labels) {
  const shown = stopped ? emitted.length : accepted.length;
  const kind = (place) => (place < accepted_nodes.length ? "accepted" : "bonus");
  const out = emitted.slice(0, shown).map((token, place) => chip(labels[token], kind(place)));
  const greedy = committed ? greedy_reference.map((token) => chip(labels[token], "context")) : [];
  const passes = (number) => html`<span class="tree-passes">${number} pass${number === 1 ? "" : "es"}</span>`;
  return [
    html`<span>Emitted</span>`,
    html`<div class="tree-row">${out}</div>`,
    scored ? passes(1) : html`<span></span>`,
    html`<span>Greedy</span>`,
    html`<div class="tree-row">${greedy}${committed ? html`<span style="color: var(--role-accepted)">✓ the same</span>` : ""}</div>`,
    committed ? passes(greedy.length) : html`<span></span>`
  ];
}
