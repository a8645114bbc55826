import {html} from "./vendor/observable.js";
import {integer, oneOf} from "./lib/address.js";
import {chip} from "./lib/chips.js";
import {count} from "./lib/formats.js";
import {widgetFrame} from "./lib/frame.js";
import {choice, levels} from "./lib/inputs.js";
import {controlRow} from "./lib/layout.js";
import {legend} from "./lib/legend.js";
import {carriedGuess, checkPasses, fateOfAnswer, fateOfGuess, leadingAgreement} from "./lib/passes.js";
import {scrollRegion} from "./lib/scroll.js";
import {stepper} from "./lib/stepper.js";
import {addStyles} from "./lib/styles.js";

/** Recomputes a run of specdec.lookahead.jacobi_decode; throws where the record says otherwise. */
export function checkRun(run) {
  checkPasses(run, (verified, carried) => carriedGuess(verified, carried, run.block_size));
}

/** Two steps a pass, the guess and the answers: {pass, phase, name}. */
export function runSteps({passes}) {
  return passes.flatMap((_, pass) =>
    ["guess", "answers"].map((phase) => ({pass, phase, name: `pass ${pass + 1}, ${phase}`}))
  );
}

/** What the widget shows, as numbers. */
export function gridState(run, step) {
  const {pass, phase} = runSteps(run)[step];
  const {n_verified: verified, n_accepted: accepted} = run.passes[pass];
  return {
    stream: run.name,
    blockSize: run.block_size,
    step,
    pass: pass + 1,
    passes: run.passes.length,
    phase,
    nAccepted: accepted,
    locked: verified - run.prompt.length + (phase === "answers" ? accepted : 0),
    newTokens: run.tokens.length
  };
}

/** A step in a few sentences. */
export function describeStep(run, step, name) {
  const {pass, phase, passes, locked, newTokens: wanted} = gridState(run, step);
  const record = run.passes[pass - 1];
  const {guess, refined, n_accepted: accepted, source} = record;
  if (phase === "guess") {
    const places = guess.length === 1 ? "the next place" : `the next ${guess.length} places`;
    const origin =
      source === "carried" && run.passes[pass - 2].carried.length > 0
        ? "what the last pass left over"
        : "the last known token again";
    return `Pass ${pass} of ${passes}, with block size ${run.block_size}: the guess for ${places} is ${guess.map(name).join(" ")}, ${origin}.`;
  }
  const right = leadingAgreement(guess, refined);
  const first = "One pass answers every place as if the guesses before it were right, so the first answer is certain";
  const end =
    locked === wanted
      ? `All ${wanted} tokens are there after ${passes} passes; plain greedy decoding takes ${wanted}.`
      : `${locked} of ${wanted} tokens are there.`;
  return `${first}${andMore(right, guess.length)}: ${count(accepted, "token")} locked in, ${guess.length - accepted} carried over. ${end}`;
}

function andMore(right, places) {
  if (right === 0) return "; the first guess was wrong, so only its correction is certain";
  if (right === places) return places === 1 ? "" : "; every guess was right, and so is every answer";
  return right === 1
    ? ", and one more for the first guess, which was right"
    : `, and one more for each of the first ${right} guesses, which were right`;
}

const CSS = `
  .widget-jacobi .widget-scroll { margin-top: .75rem; min-height: calc(1.5rem + 7 * 2.125rem); }
  .widget-jacobi table {
    display: table; width: 100%; min-width: calc(4rem + var(--columns) * 2.375rem); margin: 0; border: 0;
    border-collapse: collapse; table-layout: fixed; font: inherit;
  }
  .widget-jacobi tr { border: 0; background: none; }
  .widget-jacobi th, .widget-jacobi td {
    height: 2.125rem; padding: 0 .125rem; border: 0; background: none; text-align: center; vertical-align: middle;
    font-weight: 400; white-space: nowrap;
  }
  .widget-jacobi thead th { height: 1.5rem; color: var(--role-muted); font-size: .75rem; }
  .widget-jacobi thead th:first-child { width: 4rem; }
  .widget-jacobi tbody th { padding: 0; text-align: left; font-size: .8125rem; }
  .widget-jacobi .jacobi-text { border-bottom: 1px solid var(--widget-line); }
  .widget-jacobi .jacobi-now th { font-weight: 600; }
  .widget-jacobi .jacobi-now .jacobi-block { background: color-mix(in srgb, var(--role-target) 9%, var(--widget-paper)); }
  .widget-jacobi .jacobi-unknown {
    display: block; width: .375rem; height: .375rem; margin: auto; border-radius: 50%; background: var(--widget-line);
  }
  .widget-jacobi .widget-chip { gap: .125em; padding-inline: .25rem; }
`;

const EARLIER_PASSES = 4;

/**
 * Jacobi iteration pass by pass: the block of guesses, the answers, what is locked in and what is carried.
 * @param {{streams: object[], labels?: string[]}} data runs {name, prompt, block_size, tokens, passes} of
 *   specdec.lookahead.jacobi_decode, for each name the same block sizes; labels[token] is what a chip shows, the number
 *   itself without it
 * @param {{stream?: string, blockSize?: number, step?: number}} options where to start
 * @returns {HTMLElement} with `.value` {stream, blockSize, step, pass, passes, phase, nAccepted, locked, newTokens};
 *   emits `input`
 */
export function jacobiGrid({streams: runs, labels}, options = {}) {
  addStyles("jacobi", CSS);
  runs.forEach(checkRun);
  const streams = [...new Set(runs.map(({name}) => name))];
  const blockSizes = [...new Set(runs.map(({block_size}) => block_size))];
  const start = {stream: streams[0], blockSize: blockSizes[blockSizes.length - 1], step: 0, ...options};
  const streamChoice = choice(streams, {label: "Text", value: start.stream});
  const block = levels(blockSizes, {label: "block size", name: "block size", value: start.blockSize});
  const current = () => runs.find((run) => run.name === streamChoice.value && run.block_size === block.value);
  const names = () => runSteps(current()).map(({name}) => name);
  const steps = stepper({steps: names(), value: start.step});
  const table = scrollRegion("The passes so far", ".jacobi-now .jacobi-block");
  const arrange = (sentence) => [
    controlRow(streamChoice, blockSizes.length > 1 ? block : "", steps),
    table,
    legend([
      [chip("a", "accepted"), "right, or certain"],
      [chip("a", "rejected"), "the first wrong guess"],
      [chip("a", "discarded"), "a guess behind it"],
      [chip("a", "draft"), "carried over as a guess"]
    ]),
    sentence
  ];
  const frame = widgetFrame("jacobi", "Jacobi iteration, pass by pass", arrange, {
    fields: {
      stream: oneOf(streams),
      blockSize: oneOf(blockSizes),
      step: integer(0, Math.max(...runs.map((run) => runSteps(run).length)) - 1)
    },
    set({stream, blockSize, step}) {
      streamChoice.value = stream;
      block.value = blockSize;
      steps.setSteps(names(), Math.min(step, names().length - 1));
      update();
    }
  });

  function update() {
    const name = (token) => (labels ? labels[token] : String(token));
    table.show(passTable(current(), steps.value, name));
    frame.show(gridState(current(), steps.value), describeStep(current(), steps.value, name));
  }

  for (const control of [streamChoice, block]) {
    frame.follow(control, () => {
      steps.setSteps(names(), 0);
      update();
    });
  }
  frame.follow(steps, update);
  update();
  return frame.open();
}

/** A column for each new token; rows: the text, the last few passes, and this pass's guess and answers. */
function passTable(run, step, name) {
  const {pass, phase, locked, newTokens: wanted} = gridState(run, step);
  const places = Array.from({length: wanted}, (_, place) => place);
  const row = (kind, words, cells) => html`<tr class=${`jacobi-${kind}`}><th scope="row">${words}</th>${cells}</tr>`;
  const known = places.map(
    (place) =>
      html`<td>${place < locked ? chip(name(run.tokens[place]), "context") : html`<span class="jacobi-unknown">`}</td>`
  );
  const block = (record, tokens, fate) =>
    places.map((place) => {
      const index = place - (record.n_verified - run.prompt.length);
      if (index < 0 || index >= tokens.length) return html`<td></td>`;
      return html`<td class="jacobi-block">${chip(name(tokens[index]), fate(index))}</td>`;
    });
  const answers = (record) => block(record, record.refined, (index) => fateOfAnswer(record, index));
  const earlier = run.passes
    .slice(Math.max(0, pass - 1 - EARLIER_PASSES), pass - 1)
    .map((record) => row("earlier", `pass ${run.passes.indexOf(record) + 1}`, answers(record)));
  const record = run.passes[pass - 1];
  const answered = phase === "answers";
  const guess = block(record, record.guess, (index) => (answered ? fateOfGuess(record, index) : "draft"));
  return html`<table style=${`--columns: ${wanted}`}>
    <thead><tr><th scope="col">place</th>${places.map((place) => html`<th scope="col">${place + 1}</th>`)}</tr></thead>
    <tbody>
      ${row("text", "text", known)}${earlier}${row("now", "guess", guess)}${answered ? row("now", "answers", answers(record)) : ""}
    </tbody>
  </table>`;
}
