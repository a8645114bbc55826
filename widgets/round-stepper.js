import {html} from "./vendor/observable.js";
import {integer} from "./lib/address.js";
import {chip} from "./lib/chips.js";
import {role} from "./lib/colours.js";
import {residualDistribution, verdict} from "./lib/distributions.js";
import {count, percent, probability} from "./lib/formats.js";
import {widgetFrame} from "./lib/frame.js";
import {choice} from "./lib/inputs.js";
import {controlRow, stageRow} from "./lib/layout.js";
import {groupedBars, lawChart, miniLaw} from "./lib/laws.js";
import {scrollRegion} from "./lib/scroll.js";
import {stepper} from "./lib/stepper.js";
import {addStyles} from "./lib/styles.js";

/**
 * Checks a recorded round: every verdict, and what follows from the verdicts, is computed again from p, q and u.
 * @param {object} round a SpeculativeRound, see src/specdec/trace.py
 * @param {number} index names the round in the message
 * @throws {Error} if the record says anything else
 */
export function checkRound(round, index) {
  const demand = (holds, what) => {
    if (!holds) throw new Error(`round stepper: round ${index + 1}: ${what}`);
  };
  round.tests.forEach((test, position) => {
    const {ratio, accepted} = verdict(test);
    const place = `test ${position + 1}`;
    demand(test.token === round.proposed[position], `${place} is of another token than was proposed`);
    demand(
      test.p === round.target_probs[position][test.token],
      `${place}: p is not the target's probability of the token`
    );
    demand(
      test.q === round.draft_probs[position][test.token],
      `${place}: q is not the draft's probability of the token`
    );
    demand(
      Math.abs(test.ratio - ratio) < 1e-5,
      `${place}: the ratio is recorded as ${test.ratio}, min(1, p/q) is ${ratio}`
    );
    demand(
      test.accepted === accepted,
      `${place} is recorded as ${test.accepted ? "accepted" : "rejected"}, but u = ${test.u} and min(1, p/q) = ${ratio} say otherwise`
    );
  });

  const accepted = round.tests.filter((test) => test.accepted).length;
  const clean = accepted === round.proposed.length;
  demand(
    round.n_accepted === accepted,
    `${round.n_accepted} tokens are recorded as accepted, the tests accept ${accepted}`
  );
  demand(round.tests.length === accepted + (clean ? 0 : 1), "the first rejection must be the last test");
  demand(
    round.last_kind === (clean ? "bonus" : "correction"),
    `a round with ${accepted} accepted ends with a ${clean ? "bonus" : "correction"}`
  );
  demand(round.emitted.length === accepted + 1, "a round emits its accepted tokens and one more");
  demand(
    round.emitted.slice(0, accepted).every((token, position) => token === round.proposed[position]),
    "the emitted tokens do not begin with the accepted ones"
  );
  demand(clean === (round.residual === null), "a residual belongs to a rejection, and to nothing else");
  if (clean) return;
  const residual = residualDistribution(round.target_probs[accepted], round.draft_probs[accepted]);
  // The record is rounded, and the residual of two close laws magnifies that.
  demand(
    residual.every((mass, token) => Math.abs(mass - round.residual[token]) < 1e-3),
    "the residual is not (p − q)₊ normalised"
  );
}

/** The steps that tell a round, first to last: {kind, position, name}. */
export function roundSteps(round) {
  const gamma = round.proposed.length;
  const step = (kind, position, name) => ({kind, position, name});
  return [
    step("start", null, "before the round"),
    ...round.proposed.map((_, position) => step("draft", position, `guess ${position + 1}`)),
    step("score", null, "one target pass"),
    ...round.tests.map((_, position) => step("test", position, `test guess ${position + 1}`)),
    step(round.last_kind, round.n_accepted, round.last_kind),
    step("commit", null, `${count(round.emitted.length, "token")} emitted, γ was ${gamma}`)
  ];
}

/** What is known once a step has been taken: how many guesses, tests and emitted tokens are there. */
export function progressAt(round, step) {
  const taken = roundSteps(round).slice(0, step + 1);
  const tally = (kind) => taken.filter((entry) => entry.kind === kind).length;
  const tested = tally("test");
  const accepted = round.tests.slice(0, tested).filter((test) => test.accepted).length;
  return {
    drafted: tally("draft"),
    scored: tally("score") === 1,
    tested,
    rejectedAt: tested > accepted ? accepted : null,
    emitted: accepted + tally(round.last_kind)
  };
}

/** A step in a sentence or two. */
export function describeStep(round, step, labels) {
  const {kind, position} = roundSteps(round)[step];
  const quoted = (token) => `“${labels[token]}”`;
  const gamma = round.proposed.length;
  const last = quoted(round.emitted[round.emitted.length - 1]);
  switch (kind) {
    case "start":
      return `${count(round.context.length, "token")} so far. Plain decoding would now ask the target once per token; instead, the small draft guesses ${gamma} tokens.`;
    case "draft": {
      const token = round.proposed[position];
      return `The draft draws guess ${position + 1} of ${gamma} from its own law q: ${quoted(token)}, which had probability q = ${probability(round.draft_probs[position][token])}.`;
    }
    case "score":
      return `One pass of the target over all the guesses gives its law p at ${gamma + 1} positions at once, the last one being the position after the guesses.`;
    case "test":
      return describeTest(round.tests[position], position, quoted);
    case "correction":
      return `The guess was rejected, so its place is filled from the residual: what p has above q, scaled to sum to 1. Drawn: ${last}. Later guesses are discarded.`;
    case "bonus":
      return `All ${gamma} guesses stood. The target’s last law was computed anyway, so one more token is drawn from it for free: ${last}.`;
    default:
      return `The round emits ${count(round.emitted.length, "token")} for one target pass: ${round.n_accepted} accepted and 1 ${round.last_kind}. The next round starts after them.`;
  }
}

function describeTest({token, p, q, u}, position, quoted) {
  const {ratio, accepted} = verdict({p, q, u});
  const numbers = `p = ${probability(p)}, q = ${probability(q)}`;
  const chance =
    p >= q ? "p ≥ q, so it is always accepted" : `it is accepted with probability p/q = ${probability(ratio)}`;
  const outcome = accepted
    ? `u = ${probability(u)} is below ${probability(ratio)}: accepted`
    : `u = ${probability(u)} is not below ${probability(ratio)}: rejected`;
  return `Guess ${position + 1}, ${quoted(token)}: ${numbers}; ${chance}. ${outcome}.`;
}

const STAGES = [
  ["Draft", ["start", "draft"]],
  ["Score", ["score"]],
  ["Verify", ["test", "correction", "bonus"]],
  ["Commit", ["commit"]]
];

const CSS = `
  .widget-round .round-context {
    display: flex; gap: .5rem; align-items: center; height: 1.75rem; margin-bottom: .25rem;
  }
  .widget-round .round-context > span { flex: none; color: var(--role-muted); }
  .widget-round .round-tokens { display: flex; flex: 1; justify-content: flex-end; min-width: 0; overflow: hidden; }
  .widget-round .round-tokens > div { display: flex; flex: 1 0 auto; gap: .25rem; }
  .widget-round table {
    width: 100%; margin: 0; border: 0; border-collapse: collapse; table-layout: fixed; font: inherit; display: table;
  }
  .widget-round th, .widget-round td {
    padding: .25rem .1875rem; border: 0; text-align: center; vertical-align: middle; background: none;
    font-weight: 400;
  }
  .widget-round tr { border: 0; background: none; }
  .widget-round tbody tr { border-top: 1px solid var(--widget-line); }
  .widget-round tbody th { width: 3.75rem; text-align: left; font-weight: 600; font-size: .75rem; padding-left: 0; }
  .widget-round thead th { color: var(--role-muted); font-size: .8125rem; }
  .widget-round thead td { width: 3.75rem; padding: 0; }
  .widget-round .round-here, .widget-round tr.round-here, .widget-round tr.round-here th[scope="row"] {
    background: color-mix(in srgb, var(--role-target) 9%, var(--widget-paper));
  }
  .widget-round .round-number {
    display: block; font-size: .75rem; line-height: 1.3; color: var(--role-muted); white-space: nowrap;
  }
  .widget-round .round-row-draft { height: 4.75rem; }
  .widget-round .round-row-draft td:has(.widget-chip) { vertical-align: top; }
  .widget-round .round-row-target { height: 3.5rem; }
  .widget-round .round-row-test { height: 3rem; }
  .widget-round .round-row-output { height: 2.5rem; }
  .widget-round .round-awaited {
    display: block; width: .375rem; height: .375rem; margin: auto; border-radius: 50%; background: var(--widget-line);
  }
  .widget-round .round-gauge {
    position: relative; display: block; max-width: 4.5rem; height: .5rem; margin: .125rem auto;
    border-radius: .125rem; background: color-mix(in srgb, var(--role-rejected) 28%, var(--widget-paper));
  }
  .widget-round .round-gauge-accept {
    position: absolute; inset: 0 auto 0 0; border-radius: .125rem; background: var(--role-accepted);
  }
  .widget-round .round-gauge-u {
    position: absolute; top: -.1875rem; bottom: -.1875rem; width: .1875rem; margin-left: -.09375rem;
    background: var(--widget-ink); outline: 1px solid var(--widget-paper);
  }
  .widget-round .round-mark { font-weight: 700; white-space: nowrap; font-size: .8125rem; }
  .widget-round .round-detail { min-height: 10.75rem; margin-top: .75rem; }
  .widget-round .round-detail p { margin: .375rem 0; }
  .widget-round .round-detail-title { font-weight: 600; }
  .widget-round .round-test {
    display: grid; grid-template-columns: 5.5rem minmax(0, 1fr); gap: .375rem .5rem; align-items: center;
    margin-top: .5rem;
  }
  .widget-round .round-test-bar {
    position: relative; height: 1.375rem; border-radius: .1875rem; background: var(--widget-soft);
  }
  .widget-round .round-test-bar > span { position: absolute; inset: 0 auto 0 0; border-radius: .1875rem; }
  .widget-round .round-test-bar.round-over::after {
    content: "→ p goes on"; position: absolute; right: .375rem; top: 0; color: var(--widget-paper);
    font-size: .8125rem; font-weight: 600; line-height: 1.375rem;
  }
  .widget-round .round-test-gauge {
    position: relative; height: 1.375rem; border-radius: .1875rem; margin-bottom: 1.25rem;
    background: var(--rejected-hatch);
  }
  .widget-round .round-test > span:nth-of-type(3) { align-self: start; }
  .widget-round .round-test-gauge .round-gauge-u { top: -.25rem; bottom: -.25rem; }
  .widget-round .round-test-u {
    position: absolute; top: 1.75rem; line-height: 1; font-weight: 700; white-space: nowrap;
    transform: translateX(-50%);
  }
  .widget-round .round-plan { margin: .375rem 0 0; padding-left: 1.25rem; }
  .widget-round .round-plan li { margin: .25rem 0; }
  .widget-round .round-cost {
    display: grid; grid-template-columns: 1fr; gap: .25rem 1rem; align-items: center; margin-top: .5rem;
  }
  .widget-round .round-cost div { display: flex; gap: .25rem; align-items: center; }
  .widget-round .round-pass-draft {
    width: .625rem; height: .75rem; border: 1px dashed var(--role-draft); border-radius: .125rem;
    background: color-mix(in srgb, var(--role-draft) 25%, var(--widget-paper));
  }
  .widget-round .round-pass-target {
    width: 2rem; height: 1.5rem; border-radius: .1875rem; background: var(--role-target);
  }
  .widget-round .round-laws { display: grid; grid-template-columns: minmax(0, 1fr); gap: .25rem 1rem; }
  @container (max-width: 27rem) {
    .widget-round th, .widget-round td { padding-inline: .125rem; }
    .widget-round table { min-width: calc(2.75rem + var(--columns) * 2.5rem); }
    .widget-round tbody th, .widget-round thead td { width: 2.75rem; padding-left: 0; font-size: .6875rem; }
    .widget-round td .widget-chip {
      flex-direction: column; gap: 0; align-items: center; padding: 0 .125rem; font-size: .75rem; line-height: 1.25;
    }
    .widget-round .round-row-draft { height: 5.25rem; }
    .widget-round .round-row-output { height: 3rem; }
    .widget-round .round-number { font-size: .6875rem; }
  }
  @container (min-width: 34rem) {
    .widget-round .round-cost { grid-template-columns: auto 1fr auto; }
    .widget-round .round-laws-two { grid-template-columns: repeat(2, minmax(0, 1fr)); }
    .widget-round tbody th, .widget-round thead td { width: 6rem; font-size: .8125rem; }
  }
`;

/**
 * Steps through recorded rounds of draft-and-verify.
 * @param {{rounds: object[], labels: string[]}} data SpeculativeRounds, see src/specdec/trace.py; labels[token]
 *   is what a chip shows
 * @param {{round?: number, step?: number}} options where to start, both counted from 0
 * @returns {HTMLElement} with `.value` {round, step, kind, nAccepted, emitted}; emits `input`
 */
export function roundStepper({rounds, labels}, {round = 0, step = 0} = {}) {
  addStyles("round", CSS);
  rounds.forEach(checkRound);
  const lastStep = (record) => roundSteps(record).length - 1;
  const names = (index) => roundSteps(rounds[index]).map(({name}) => name);
  const roundChoice = choice(new Map(rounds.map((_, index) => [String(index + 1), index])), {
    label: "Round",
    value: round
  });
  const steps = stepper({steps: names(round), value: step});
  const stages = stageRow(STAGES.map(([name]) => name), "Stages of a round");
  const context = html`<div class="round-context">`;
  const table = scrollRegion("The round so far", ".round-here");
  const detail = html`<div class="round-detail">`;
  const arrange = (sentence) => [
    controlRow(roundChoice, steps),
    stages,
    context,
    table,
    sentence,
    detail
  ];
  const frame = widgetFrame("round", "Round stepper", arrange, {
    fields: {round: integer(0, rounds.length - 1), step: integer(0, Math.max(...rounds.map(lastStep)))},
    set({round, step}) {
      roundChoice.value = round;
      steps.setSteps(names(round), Math.min(step, lastStep(rounds[round])));
      update();
    }
  });

  function update() {
    const record = rounds[roundChoice.value];
    const current = roundSteps(record)[steps.value];
    const committed = current.kind === "commit";
    context.replaceChildren(...contextChips(record, labels, committed));
    stages.show(STAGES.findIndex(([, kinds]) => kinds.includes(current.kind)));
    table.show(roundTable(record, steps.value, labels));
    detail.replaceChildren(...stepDetail(record, current, labels));
    frame.show(
      {
        round: roundChoice.value,
        step: steps.value,
        kind: current.kind,
        nAccepted: record.n_accepted,
        emitted: record.emitted
      },
      describeStep(record, steps.value, labels)
    );
  }

  frame.follow(roundChoice, () => {
    steps.setSteps(names(roundChoice.value), 0);
    update();
  });
  frame.follow(steps, update);
  update();
  return frame.open();
}

const CONTEXT_SHOWN = 12;

/** The last tokens before the round, and the emitted ones once they are committed; the newest are always in sight. */
function contextChips({context, emitted, n_accepted, last_kind}, labels, committed) {
  const before = context.map((token) => [token, "context"]);
  const after = emitted.map((token, position) => [token, position < n_accepted ? "accepted" : last_kind]);
  const tokens = committed ? [...before, ...after] : before;
  const shown = tokens.slice(-CONTEXT_SHOWN).map(([token, kind]) => chip(labels[token], kind));
  return [
    html`<span>So far</span>`,
    html`<div class="round-tokens"><div>${tokens.length > CONTEXT_SHOWN ? "…" : ""}${shown}</div></div>`
  ];
}

/** Rows: draft, target, test, output; a column per position, and one for the token after the guesses. */
function roundTable(round, step, labels) {
  const gamma = round.proposed.length;
  const progress = progressAt(round, step);
  const {kind, position: here} = roundSteps(round)[step];
  const columns = Array.from({length: gamma + 1}, (_, position) => position);
  const heads = columns.map((position) => html`<th scope="col">${position < gamma ? position + 1 : "next"}</th>`);
  const row = (name, words, cell, lit) => {
    const cells = columns.map((position) => {
      const content = cell(round, position, progress, labels);
      return html`<td class=${position === here ? "round-here" : ""}>${content}</td>`;
    });
    return html`<tr class=${`round-row-${name} ${lit ? "round-here" : ""}`}><th scope="row">${words}</th>${cells}</tr>`;
  };
  return html`<table style=${`--columns: ${gamma + 1}`}>
    <thead><tr><td></td>${heads}</tr></thead>
    <tbody>
      ${row("draft", "Draft q", draftCell)}
      ${row("target", "Target p", targetCell, kind === "score")}
      ${row("test", "Test", testCell)}
      ${row("output", "Output", outputCell)}
    </tbody>
  </table>`;
}

/** What stands where nothing is known yet. */
const awaited = () => html`<span class="round-awaited" aria-hidden="true">`;

const number = (words) => html`<span class="round-number">${words}</span>`;

function draftCell({proposed, draft_probs}, position, progress, labels) {
  if (position === proposed.length) return "";
  if (position >= progress.drafted) return awaited();
  const token = proposed[position];
  return html`${miniLaw(draft_probs[position], token, "draft")}
    ${chip(labels[token], fateOfGuess(position, progress))}
    ${number(probability(draft_probs[position][token]))}`;
}

function fateOfGuess(position, {tested, rejectedAt}) {
  if (position === rejectedAt) return "rejected";
  if (position < tested) return "accepted";
  return rejectedAt === null ? "draft" : "discarded";
}

function targetCell({proposed, target_probs}, position, {scored}) {
  if (!scored) return awaited();
  const [law, guessed] = [target_probs[position], position < proposed.length];
  return html`${miniLaw(law, guessed ? proposed[position] : null, "target")}
    ${number(guessed ? probability(law[proposed[position]]) : "ready")}`;
}

function testCell({tests, proposed}, position, {tested, rejectedAt}) {
  if (position === proposed.length) return "";
  if (position >= tested) return rejectedAt === null ? awaited() : number("unread");
  const {ratio, accepted} = verdict(tests[position]);
  const [mark, word] = accepted ? ["✓", "accepted"] : ["✗", "rejected"];
  return html`<span class="round-gauge" aria-hidden="true">${gauge(ratio, tests[position].u)}</span>
    <span class="round-mark" style=${`color: ${role(word)}`}>
      ${mark}<span class="widget-only-heard"> ${word}</span>
    </span>`;
}

/** The interval in which u is drawn: accepting up to the ratio, and where u fell. */
function gauge(ratio, u) {
  return html`<span class="round-gauge-accept" style=${`width: ${percent(ratio)}`}></span>
    <span class="round-gauge-u" style=${`left: ${percent(u)}`}></span>`;
}

function outputCell({emitted, n_accepted, last_kind}, position, progress, labels) {
  if (position < progress.emitted) return chip(labels[emitted[position]], position < n_accepted ? "accepted" : last_kind);
  return progress.rejectedAt === null || position === progress.rejectedAt ? awaited() : "";
}

/** The large picture under the table: what this step does. */
function stepDetail(round, {kind, position}, labels) {
  const {proposed, draft_probs, target_probs, tests, emitted} = round;
  const gamma = proposed.length;
  switch (kind) {
    case "start":
      return [title("A round in four stages"), plan(gamma)];
    case "draft": {
      const chart = lawChart(labels, [["q", "draft", draft_probs[position]]], proposed[position]);
      return [title(`Guess ${position + 1}: the draft’s law q`), chart];
    }
    case "score":
      return [title("p (left) and q (right) of each guess"), pairChart(round, labels)];
    case "test": {
      const guess = labels[tests[position].token];
      return [title(`Guess ${position + 1}, “${guess}”: is u below min(1, p/q)?`), testPicture(tests[position])];
    }
    case "correction":
      return [correctionPicture(round, labels)];
    case "bonus": {
      const chart = lawChart(labels, [["p", "target", target_probs[gamma]]], emitted[gamma]);
      return [title("The target’s law p after the guesses"), chart];
    }
    default:
      return [title(`${count(emitted.length, "token")} for one target pass`), costPicture(gamma, emitted.length)];
  }
}

const title = (words) => html`<div class="round-detail-title">${words}</div>`;

function plan(gamma) {
  return html`<ol class="round-plan">
    <li>The draft guesses γ = ${gamma} tokens, one after the other. That is cheap.</li>
    <li>One pass of the target scores every position at once.</li>
    <li>From the left, a guess stands if a uniform draw u is below min(1, p/q).</li>
    <li>The guesses that stand are emitted, and one token more: a correction or a bonus.</li>
  </ol>`;
}

/**
 * Draft and target mass of one guess on the scale of q, above the interval in which u is drawn: p ends where
 * acceptance does.
 */
function testPicture({p, q, u}) {
  const {ratio, accepted} = verdict({p, q, u});
  const bar = (share, colour) =>
    html`<div class="round-test-bar"><span style=${`width: ${percent(share)}; background: ${role(colour)}`}></span></div>`;
  const targetBar = bar(ratio, "target");
  targetBar.classList.toggle("round-over", p > q);
  const [colour, words] = accepted ? ["accepted", "✓ accept"] : ["rejected", "✗ reject"];
  const place = `left: clamp(4.5rem, ${percent(u)}, 100% - 4.5rem); color: ${role(colour)}`;
  return html`<div class="round-test" aria-hidden="true">
    <span>q = ${probability(q)}</span>${bar(1, "draft")}
    <span>p = ${probability(p)}</span>${targetBar}
    <span>p/q = ${probability(p / q)}</span>
    <div class="round-test-gauge">
      ${gauge(ratio, u)}<span class="round-test-u" style=${place}>u = ${probability(u)} ${words}</span>
    </div>
  </div>`;
}

/** Where p rises above q, and the law that this leaves for the correction. */
function correctionPicture({draft_probs, target_probs, residual, emitted, n_accepted}, labels) {
  const [p, q] = [target_probs[n_accepted], draft_probs[n_accepted]];
  const pair = [["p", "target", p], ["q", "draft", q]];
  return html`<div class="round-laws round-laws-two">
    <div>${title("Target p (left) against draft q (right)")}${lawChart(labels, pair, null)}</div>
    <div>${title("Residual: (p − q)₊, normalised")}${
      lawChart(labels, [["r", "correction", residual]], emitted[n_accepted])}</div>
  </div>`;
}

/** What the emitted tokens cost, with the draft and without: a box per pass. */
function costPicture(gamma, tokens) {
  const boxes = (many, kind) => Array.from({length: many}, () => html`<span class=${`round-pass round-pass-${kind}`}>`);
  return html`<div class="round-cost">
    <span>This round</span>
    <div>${boxes(gamma, "draft")}${boxes(1, "target")}</div>
    <span>${count(gamma, "draft step")}, 1 target pass</span>
    <span>Plain decoding</span>
    <div>${boxes(tokens, "target")}</div>
    <span>${tokens} target pass${tokens === 1 ? "" : "es"}, the same law</span>
  </div>`;
}

/** p and q of every guess: the numbers that the tests will use. */
function pairChart({proposed, draft_probs, target_probs}, labels) {
  const bars = proposed.flatMap((token, group) => [
    {group, name: "p", colour: "target", mass: target_probs[group][token]},
    {group, name: "q", colour: "draft", mass: draft_probs[group][token]}
  ]);
  const groupName = (group) => `${group + 1}: ${labels[proposed[group]]}`;
  return groupedBars({bars, groupName, label: "p and q of each guess"});
}
