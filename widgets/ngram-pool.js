import {html} from "./vendor/observable.js";
import {integer, oneOf} from "./lib/address.js";
import {chip} from "./lib/chips.js";
import {count} from "./lib/formats.js";
import {widgetFrame} from "./lib/frame.js";
import {choice} from "./lib/inputs.js";
import {controlRow} from "./lib/layout.js";
import {legend} from "./lib/legend.js";
import {carriedGuess, checkPasses, fateOfAnswer, fateOfGuess, filled, sameTokens} from "./lib/passes.js";
import {scrollRegion} from "./lib/scroll.js";
import {stepper} from "./lib/stepper.js";
import {addStyles} from "./lib/styles.js";

/** What a text puts into the pool, position by position: {key, continuation, position}, full continuations only. */
export function poolEntries(text, ngramN) {
  return text.slice(0, Math.max(0, text.length - ngramN)).map((key, position) => ({
    key,
    continuation: text.slice(position + 1, position + 1 + ngramN),
    position
  }));
}

/** The pool after a text: key → its latest entry, in the order in which the keys came. */
export function poolOf(text, ngramN) {
  return new Map(poolEntries(text, ngramN).map((entry) => [entry.key, entry]));
}

/** The continuation that the pool of a text has for a token, or null. */
export function lookUp(text, ngramN, key) {
  const entry = poolOf(text, ngramN).get(key);
  return entry ? entry.continuation : null;
}

/**
 * Computes a recorded run again: the passes, and before each of them what the pool took in, was asked and answered.
 * @throws {Error} naming the text and the pass that is off
 */
export function checkPoolRun(run) {
  let read = 0;
  checkPasses(run, (verified, carried, pass) => {
    const demand = (holds, words) => {
      if (!holds) throw new Error(`${run.name}, pass ${run.passes.indexOf(pass) + 1}: ${words}`);
    };
    const entries = poolEntries(verified, run.ngram_n);
    const added = entries.slice(read);
    const hit = lookUp(verified, run.ngram_n, pass.key);
    read = entries.length;
    const sameEntry = (a, b) =>
      a.key === b.key && a.position === b.position && sameTokens(a.continuation, b.continuation);
    demand(
      added.length === pass.added.length && added.every((entry, index) => sameEntry(entry, pass.added[index])),
      "the pool took in something else"
    );
    demand(pass.key === verified[verified.length - 1], "the key is not the last known token");
    demand(sameTokens(hit || [], pass.hit || []), "the pool answers otherwise");
    demand(pass.pool_size === poolOf(verified, run.ngram_n).size, "the pool holds another number of keys");
    demand((pass.source === "pool") === (hit !== null), "the guess comes from the pool if and only if there is a hit");
    return hit === null ? carriedGuess(verified, carried, run.block_size) : filled(hit, run.block_size);
  });
}

/** Two steps a pass: looking up the last token, and the model's answers. */
export function poolSteps({passes}) {
  return passes.flatMap((_, pass) =>
    ["look-up", "answers"].map((phase) => ({pass, phase, name: `pass ${pass + 1}, ${phase}`}))
  );
}

/** What the widget shows, as numbers. */
export function poolState(run, step) {
  const {pass, phase} = poolSteps(run)[step];
  const {n_verified: verified, n_accepted: accepted, hit, pool_size: poolSize} = run.passes[pass];
  return {
    stream: run.name,
    step,
    pass: pass + 1,
    passes: run.passes.length,
    phase,
    poolSize,
    hit: hit !== null,
    hits: run.passes.slice(0, pass + 1).filter((record) => record.hit !== null).length,
    nAccepted: accepted,
    locked: verified - run.prompt.length + (phase === "answers" ? accepted : 0),
    newTokens: run.tokens.length
  };
}

/** A step in a few sentences. */
export function describePool(run, step, name) {
  const {pass, phase, passes, poolSize, hits, locked, newTokens} = poolState(run, step);
  const {key, hit, guess, n_accepted: accepted} = run.passes[pass - 1];
  const quoted = `“${name(key)}”`;
  if (phase === "look-up") {
    const holds = `Pass ${pass} of ${passes}: the pool holds ${count(poolSize, "key")}.`;
    if (hit === null)
      return `${holds} The last known token ${quoted} is not among them, so the guess is what Jacobi iteration carries over.`;
    return `${holds} The last known token ${quoted} is one: the last time, ${hit.map(name).join(" ")} followed. That is the guess.`;
  }
  const end =
    locked === newTokens
      ? `All ${newTokens} tokens are there after ${passes} passes, ${count(hits, "hit")} among them; greedy decoding takes ${newTokens}.`
      : `${locked} of ${newTokens} are there.`;
  return `One pass of the model answers ${count(guess.length, "place")}: ${count(accepted, "token")} locked in. ${end}`;
}

const CSS = `
  .widget-pool .pool-title { margin-top: .625rem; font-weight: 600; }
  .widget-pool .pool-row { display: flex; gap: .25rem; align-items: center; min-height: 2rem; padding: .1875rem; width: max-content; }
  .widget-pool .pool-key .widget-chip { outline: 2px solid var(--role-target); outline-offset: 1px; }
  .widget-pool .pool-entries {
    display: flex; flex-wrap: wrap; gap: .375rem; align-content: flex-start; min-height: 4.25rem; margin: .25rem 0 0; padding: 0;
    list-style: none;
  }
  .widget-pool .pool-entry {
    display: flex; gap: .375rem; align-items: center; padding: .0625rem .5rem; border: 1px solid var(--widget-line);
    border-radius: .375rem; font: .8125rem/1.5 ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace;
  }
  .widget-pool .pool-new { border-color: var(--role-correction); }
  .widget-pool .pool-hit { border: 2px solid var(--role-accepted); background: color-mix(in srgb, var(--role-accepted) 12%, var(--widget-paper)); }
  .widget-pool .pool-new .pool-word { color: var(--role-correction); }
  .widget-pool .pool-hit .pool-word { color: var(--role-accepted); font-weight: 700; }
  .widget-pool .pool-block { display: grid; grid-template-columns: 4.5rem minmax(0, 1fr); align-items: center; margin-top: .625rem; }
  .widget-pool .pool-block > span { font-weight: 600; }
  .widget-pool .pool-block .pool-row { flex-wrap: wrap; width: auto; }
`;

/**
 * Steps through lookahead decoding: the pool of n-grams fills up along the text, and is asked before each pass.
 * @param {{streams: object[], labels?: string[]}} data runs {name, prompt, block_size, ngram_n, tokens, passes} of
 *   specdec.lookahead.lookahead_decode; labels[token] is what a chip shows, the number itself without it
 * @param {{stream?: string, step?: number}} options where to start
 * @returns {HTMLElement} with `.value` {stream, step, pass, passes, phase, poolSize, hit, hits, nAccepted, locked,
 *   newTokens}; emits `input`
 */
export function ngramPool({streams: runs, labels}, options = {}) {
  addStyles("pool", CSS);
  runs.forEach(checkPoolRun);
  const names = runs.map((run) => run.name);
  const start = {stream: names[0], step: 0, ...options};
  const name = (token) => (labels ? labels[token] : String(token));
  const streamChoice = choice(names, {label: "Text", value: start.stream});
  const current = () => runs[names.indexOf(streamChoice.value)];
  const stepNames = () => poolSteps(current()).map((step) => step.name);
  const steps = stepper({steps: stepNames(), value: start.step});
  const text = scrollRegion("The text so far", ".pool-key");
  const pool = html`<ul class="pool-entries" aria-label="The pool">`;
  const block = html`<div class="pool-block">`;
  const poolTitle = html`<div class="pool-title">`;
  const arrange = (sentence) => [
    controlRow(names.length > 1 ? streamChoice : "", steps),
    html`<div class="pool-title">Text so far</div>`,
    text,
    poolTitle,
    pool,
    block,
    legend([
      [chip("a", "accepted"), "right, or certain"],
      [chip("a", "rejected"), "the first wrong guess"],
      [chip("a", "draft"), "a guess"]
    ]),
    sentence
  ];
  const frame = widgetFrame("pool", "Pool of n-grams", arrange, {
    fields: {stream: oneOf(names), step: integer(0, Math.max(...runs.map((run) => poolSteps(run).length)) - 1)},
    set({stream, step}) {
      streamChoice.value = stream;
      steps.setSteps(stepNames(), Math.min(step, stepNames().length - 1));
      update();
    }
  });

  function update() {
    const run = current();
    const state = poolState(run, steps.value);
    const record = run.passes[state.pass - 1];
    text.show(textRow(run, record, state.phase, name));
    poolTitle.textContent = `Pool: a token, and the ${run.ngram_n} that followed it the last time`;
    pool.replaceChildren(...poolCards(run, record, name));
    block.replaceChildren(...blockRows(record, state.phase, name));
    frame.show(state, describePool(run, steps.value, name));
  }

  frame.follow(streamChoice, () => {
    steps.setSteps(stepNames(), 0);
    update();
  });
  frame.follow(steps, update);
  update();
  return frame.open();
}

/** The known tokens, the last of them marked as the key, and what this pass has made certain. */
function textRow({prompt, tokens}, {n_verified: verified, emitted}, phase, name) {
  const known = [...prompt, ...tokens].slice(0, verified);
  const chips = known.map(
    (token, place) =>
      html`<span class=${place === verified - 1 ? "pool-key" : ""}>${chip(name(token), "context")}</span>`
  );
  const added = phase === "answers" ? emitted.map((token) => chip(name(token), "accepted")) : [];
  return html`<div class="pool-row">${chips}${added}</div>`;
}

/** A card for each key: what followed it, whether this is new, whether it was just found. */
function poolCards(run, {n_verified: verified, key, hit, added}, name) {
  const text = [...run.prompt, ...run.tokens].slice(0, verified);
  const entries = [...poolOf(text, run.ngram_n).values()];
  if (entries.length === 0) return [html`<li class="pool-entry">still empty</li>`];
  return entries.map((entry) => {
    const found = hit !== null && entry.key === key;
    const fresh = added.some(({position}) => position === entry.position);
    const word = [found && "✓ hit", fresh && "+ new"].filter(Boolean).join(", ");
    const kind = found ? "pool-hit" : fresh ? "pool-new" : "";
    return html`<li class=${`pool-entry ${kind}`}><b>${name(entry.key)}</b>→ ${entry.continuation.map(name).join(" ")}${
      word && html`<span class="pool-word">${word}</span>`
    }</li>`;
  });
}

function blockRows(record, phase, name) {
  const answered = phase === "answers";
  const row = (tokens, fate) =>
    html`<div class="pool-row">${tokens.map((token, index) => chip(name(token), fate(index)))}</div>`;
  return [
    html`<span>guess</span>`,
    row(record.guess, (index) => (answered ? fateOfGuess(record, index) : "draft")),
    html`<span>answers</span>`,
    answered ? row(record.refined, (index) => fateOfAnswer(record, index)) : html`<div class="pool-row">`
  ];
}
