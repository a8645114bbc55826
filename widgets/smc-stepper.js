import {html} from "./vendor/observable.js";
import {integer} from "./lib/address.js";
import {chip} from "./lib/chips.js";
import {role} from "./lib/colours.js";
import {count, percent, probability} from "./lib/formats.js";
import {widgetFrame} from "./lib/frame.js";
import {choice} from "./lib/inputs.js";
import {controlRow, stageRow} from "./lib/layout.js";
import {blockRatio, copiesOf, effectiveSampleSize, shares} from "./lib/particles.js";
import {scrollRegion} from "./lib/scroll.js";
import {stepper} from "./lib/stepper.js";
import {addStyles} from "./lib/styles.js";

/** The six steps of a round, in the order in which they are told. */
export const STEPS = ["draft", "score", "reweight", "ESS", "extend", "resample"];

const close = (a, b) => Math.abs(a - b) <= 2e-5 * Math.max(1, Math.abs(b)); // what is recorded has six digits
const allClose = (a, b) => a.length === b.length && a.every((value, index) => close(value, b[index]));

/** The weights before each round: all equal at first, then those that the last round left. */
export const weightsBefore = (rounds, index) =>
  index === 0 ? rounds[0].contexts.map(() => 1) : rounds[index - 1].weights;

/** The particles after a round. */
export function particlesAfter({contexts, draft_blocks, extra_tokens, ancestors}) {
  const grown = contexts.map((context, n) => [...context, ...draft_blocks[n], extra_tokens[n]]);
  return ancestors === null ? grown : ancestors.map((ancestor) => grown[ancestor]);
}

/**
 * Computes a recorded round again: ratios, weights, effective sample size, whether to resample, what is left.
 * @throws {Error} naming the round and what is off
 */
export function checkRound(rounds, index) {
  const round = rounds[index];
  const demand = (holds, words) => {
    if (!holds) throw new Error(`smc stepper, round ${index + 1}: ${words}`);
  };
  const n = round.contexts.length;
  const ratios = round.target_probs.map((p, particle) => blockRatio(p, round.draft_probs[particle]));
  demand(
    ratios.every(
      (ratio, particle) =>
        Math.abs(ratio / round.block_ratios[particle] - 1) < 1e-4 || ratio === round.block_ratios[particle]
    ),
    "a ratio is not the product of p/q"
  );
  const weights = weightsBefore(rounds, index).map((weight, particle) => weight * round.block_ratios[particle]);
  demand(allClose(shares(weights), shares(round.scored_weights)), "the weights are not the old ones times the ratios");
  demand(
    close(effectiveSampleSize(round.scored_weights), round.ess),
    "the effective sample size is not that of the weights"
  );
  demand(round.resampled === round.ess < round.eta, "particles are resampled if and only if the ESS is below η");
  demand(round.resampled === (round.ancestors !== null), "ancestors belong to resampling, and to nothing else");
  const after = round.resampled ? round.weights.map(() => 1 / n) : round.scored_weights;
  demand(allClose(round.weights, after), "the weights after the round are not 1/N, or as they were");
  demand(
    round.ancestors === null || round.ancestors.every((ancestor) => round.scored_weights[ancestor] > 0),
    "a dead particle is copied"
  );
  const length = round.contexts[0].length + round.draft_blocks[0].length + 1;
  demand(
    round.lengths.every((each) => each === length),
    "a particle grew by another number of tokens"
  );
  const next = rounds[index + 1];
  demand(
    !next || JSON.stringify(next.contexts) === JSON.stringify(particlesAfter(round)),
    "the next round starts from other particles"
  );
}

/** What the widget shows, as numbers. */
export function roundState(rounds, round, step) {
  const record = rounds[round];
  return {
    round,
    step,
    kind: STEPS[step],
    shares: shares(record.scored_weights),
    ess: record.ess,
    resampled: record.resampled,
    copies: record.ancestors === null ? null : copiesOf(record.ancestors, record.contexts.length),
    tokens: record.draft_blocks[0].length + 1
  };
}

/** A step in a few sentences; particles are counted from 1. */
export function describeStep(rounds, round, step) {
  const record = rounds[round];
  const {shares: share, copies, tokens} = roundState(rounds, round, step);
  const {block_ratios: ratios, ess, eta, resampled} = record;
  const n = ratios.length;
  const best = ratios.indexOf(Math.max(...ratios));
  const worst = ratios.indexOf(Math.min(...ratios));
  const heaviest = share.indexOf(Math.max(...share));
  switch (STEPS[step]) {
    case "draft":
      return `Round ${round + 1}: each of the ${count(n, "particle")} gets ${count(tokens - 1, "token")} from the draft. Nobody asks the target yet.`;
    case "score":
      return `One pass of the target scores all blocks: p/q, multiplied over a block, goes from ${probability(ratios[worst])} (particle ${worst + 1}) to ${probability(ratios[best])} (particle ${best + 1}, which the target likes best). No token is rejected.`;
    case "reweight":
      return `Each weight is multiplied by its block’s ratio. Particle ${heaviest + 1} now holds ${probability(share[heaviest])} of all weight; an equal share would be ${probability(1 / n)}.`;
    case "ESS":
      return `The effective sample size is ${ess.toFixed(2)} of ${n}: ${resampled ? `below η = ${eta}, so the particles will be resampled` : `not below η = ${eta}, so the particles stay as they are`}.`;
    case "extend":
      return `Every particle gets one more token, from the target itself: ${count(tokens, "token")} a round, for each of them, whatever the weights say.`;
    default:
      return resampled
        ? describeResampling(copies)
        : `No resampling: all ${n} particles live on, and their weights go into the next round.`;
  }
}

function describeResampling(copies) {
  const places = copies.map((_, particle) => particle);
  const died = places.filter((particle) => copies[particle] === 0).map((particle) => particle + 1);
  const cloned = places
    .filter((particle) => copies[particle] > 1)
    .sort((a, b) => copies[b] - copies[a])
    .map((particle) => `particle ${particle + 1} has ${copies[particle]} copies`);
  const dead = died.length === 1 ? `particle ${died[0]} died` : `particles ${died.join(", ")} died`;
  return `Resampled in proportion to weight: ${[...cloned, ...(died.length > 0 ? [dead] : [])].join("; ")}. All weights are 1/${copies.length} again.`;
}

const CSS = `
  .widget-smc table {
    display: table; width: 100%; min-width: calc(21rem + var(--tokens)); margin: 0; border: 0; border-collapse: collapse; table-layout: fixed;
    font: inherit;
  }
  .widget-smc tr { border: 0; background: none; }
  .widget-smc tbody tr { border-top: 1px solid var(--widget-line); }
  .widget-smc th, .widget-smc td {
    height: 2.125rem; padding: 0 .25rem; border: 0; background: none; text-align: left; vertical-align: middle;
    font-weight: 400; white-space: nowrap;
  }
  .widget-smc thead th { height: 1.75rem; color: var(--role-muted); font-size: .8125rem; }
  .widget-smc .smc-n { width: 1.75rem; color: var(--role-muted); }
  .widget-smc .smc-ratio { width: 4.5rem; text-align: right; padding-right: .75rem; }
  .widget-smc .smc-text { width: calc(.5rem + var(--tokens)); }
  .widget-smc .smc-fate { width: 7.5rem; }
  .widget-smc td.smc-here { background: color-mix(in srgb, var(--role-target) 9%, var(--widget-paper)); }
  .widget-smc .smc-tokens { display: flex; gap: .1875rem; align-items: center; overflow: hidden; }
  .widget-smc .smc-bar { display: flex; gap: .375rem; align-items: center; }
  .widget-smc .smc-track { flex: 1 1 0; min-width: 0; }
  .widget-smc .smc-track > span { display: block; height: .875rem; border-radius: .125rem; min-width: 1px; }
  .widget-smc .smc-awaited { color: var(--role-muted); }
  .widget-smc .smc-small { color: var(--role-muted); font-size: .75rem; }
  .widget-smc .smc-gauge { margin-top: .75rem; }
  .widget-smc .smc-gauge > div { position: relative; height: 1.25rem; margin-top: .25rem; border-radius: .1875rem; background: var(--widget-soft); }
  .widget-smc .smc-low { position: absolute; inset: 0 auto 0 0; border-radius: .1875rem; background: var(--rejected-hatch); }
  .widget-smc .smc-level { position: absolute; inset: .25rem auto .25rem 0; border-radius: .125rem; background: var(--role-target); outline: 1px solid var(--widget-paper); }
  @container (max-width: 27rem) {
    .widget-smc .smc-tokens .chip-mark { display: none; }
  }
`;

/**
 * Steps through recorded rounds of sequential Monte Carlo speculative decoding.
 * @param {{rounds: object[], labels?: string[]}} data SMCRounds of one run, first to last, see specdec.smc_sd;
 *   labels[token] is what a chip shows, the number itself without it
 * @param {{round?: number, step?: number}} options where to start, both counted from 0
 * @returns {HTMLElement} with `.value` {round, step, kind, shares, ess, resampled, copies, tokens}; emits `input`
 */
export function smcStepper({rounds, labels}, {round = 0, step = 0} = {}) {
  addStyles("smc", CSS);
  rounds.forEach((_, index) => checkRound(rounds, index));
  const name = (token) => (labels ? labels[token] : String(token));
  const roundChoice = choice(new Map(rounds.map((_, index) => [String(index + 1), index])), {
    label: "Round",
    value: round
  });
  const steps = stepper({steps: STEPS, value: step});
  const stages = stageRow(STEPS, "Steps of a round");
  const table = scrollRegion("The particles", ".smc-here");
  const gauge = html`<div class="smc-gauge">`;
  const arrange = (sentence) => [controlRow(roundChoice, steps), stages, table, gauge, sentence];
  const frame = widgetFrame("smc", "A round of sequential Monte Carlo, step by step", arrange, {
    fields: {round: integer(0, rounds.length - 1), step: integer(0, STEPS.length - 1)},
    set({round, step}) {
      roundChoice.value = round;
      steps.setSteps(STEPS, step);
      update();
    }
  });

  function update() {
    const state = roundState(rounds, roundChoice.value, steps.value);
    stages.show(state.step);
    table.show(particleTable(rounds, state, name));
    gauge.replaceChildren(...essGauge(rounds[state.round], state.step));
    frame.show(state, describeStep(rounds, state.round, state.step));
  }

  frame.follow(roundChoice, () => {
    steps.setSteps(STEPS, 0);
    update();
  });
  frame.follow(steps, update);
  update();
  return frame.open();
}

const CONTEXT_SHOWN = 2;
const at = (name) => STEPS.indexOf(name);

/** A row for each particle: its tokens, its block's ratio, its weight share, what became of it. */
function particleTable(rounds, state, name) {
  const record = rounds[state.round];
  const {step} = state;
  const before = shares(weightsBefore(rounds, state.round));
  const share = step >= at("reweight") ? state.shares : before;
  const widest = Math.max(...before, ...state.shares);
  const cell = (kind, steps, content) =>
    html`<td class=${`smc-${kind} ${steps.map(at).includes(step) ? "smc-here" : ""}`}>${content}</td>`;
  const rows = record.contexts.map((_, n) => {
    const ratio = step >= at("score") ? probability(record.block_ratios[n]) : awaited();
    return html`<tr><th scope="row" class="smc-n">${n + 1}</th>
      ${cell("text", ["draft", "extend"], particleTokens(record, n, step, name))}
      ${cell("ratio", ["score"], ratio)}
      ${cell("weight", ["reweight", "ESS"], shareBar(share[n], widest, step >= at("reweight")))}
      ${cell("fate", ["resample"], step === at("resample") ? fate(state, n) : awaited())}</tr>`;
  });
  const style = `--tokens: ${tokensWidth(record, name)}rem`;
  return html`<table style=${style}><thead><tr><th scope="col" class="smc-n">#</th><th scope="col" class="smc-text">tokens</th>
    <th scope="col" class="smc-ratio">Π p/q</th><th scope="col" class="smc-weight">weight share</th>
    <th scope="col" class="smc-fate">copies (N·share)</th></tr></thead><tbody>${rows}</tbody></table>`;
}

/** Room for a particle's chips, in rem. */
function tokensWidth({contexts, draft_blocks, extra_tokens}, name) {
  const shown = [...contexts.map((context) => context.slice(-CONTEXT_SHOWN)), ...draft_blocks, extra_tokens].flat();
  const longest = Math.max(...shown.map((token) => name(token).length));
  const chips = Math.min(CONTEXT_SHOWN, contexts[0].length) + draft_blocks[0].length + 1;
  return 1 + chips * (1.75 + 0.5 * longest);
}

const awaited = () => html`<span class="smc-awaited" aria-hidden="true">·</span>`;

function particleTokens({contexts, draft_blocks, extra_tokens}, n, step, name) {
  const context = contexts[n].slice(-CONTEXT_SHOWN).map((token) => chip(name(token), "context"));
  const block = draft_blocks[n].map((token) => chip(name(token), "draft"));
  const extra = step >= at("extend") ? chip(name(extra_tokens[n]), "bonus") : "";
  return html`<div class="smc-tokens">${contexts[n].length > CONTEXT_SHOWN ? "…" : ""}${context}${block}${extra}</div>`;
}

function shareBar(share, widest, current) {
  const style = `width: ${percent(share / widest)}; background: ${role(current ? "target" : "muted")}`;
  return html`<div class="smc-bar"><div class="smc-track"><span style=${style}></span></div><span>${probability(share)}</span></div>`;
}

function fate({copies, shares: share}, n) {
  if (copies === null) return html`<span style=${`color: ${role("muted")}`}>stays</span>`;
  const [colour, words] = copies[n] === 0 ? ["rejected", "✗ dies"] : ["accepted", `✓ ×${copies[n]}`];
  return html`<b style=${`color: ${role(colour)}`}>${words}</b> <span class="smc-small">(${(share[n] * copies.length).toFixed(1)})</span>`;
}

/** From 0 to N: where the effective sample size lies, and below which η particles are resampled. */
function essGauge({ess, eta, contexts}, step) {
  const n = contexts.length;
  const known = step >= at("ESS");
  const verdict = ess < eta ? "below η: resample" : "not below η: no resampling";
  const words = known ? `${ess.toFixed(2)}, ${verdict}` : "not computed yet";
  const level = html`<span class="smc-level" style=${`width: ${percent(ess / n)}`}></span>`;
  return [
    html`<span><b>Effective sample size</b> of ${n}: ${words} <span class="smc-small">(hatched: below η = ${eta})</span></span>`,
    html`<div aria-hidden="true"><span class="smc-low" style=${`width: ${percent(Math.min(1, eta / n))}`}></span>${known ? level : ""}</div>`
  ];
}
