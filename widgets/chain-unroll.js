import {html, svg} from "./vendor/observable.js";
import {integer} from "./lib/address.js";
import {chip} from "./lib/chips.js";
import {role} from "./lib/colours.js";
import {count, probability} from "./lib/formats.js";
import {widgetFrame} from "./lib/frame.js";
import {choice, levels} from "./lib/inputs.js";
import {lawChart} from "./lib/laws.js";
import {scrollRegion} from "./lib/scroll.js";
import {stepper} from "./lib/stepper.js";
import {addStyles} from "./lib/styles.js";

/** What the LM head, a row of weights per token, reads off a feature, as probabilities. */
export function readOff(lmHead, feature) {
  const logits = lmHead.map((row) => row.reduce((total, weight, index) => total + weight * feature[index], 0));
  const highest = Math.max(...logits);
  const weights = logits.map((logit) => Math.exp(logit - highest));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

/** How many drafted tokens are what the target itself says, from the first on. */
export function acceptedLength(drafted, greedy) {
  const wrong = drafted.findIndex((token, place) => token !== greedy[place]);
  return wrong === -1 ? drafted.length : wrong;
}

const likeliest = (law) => law.indexOf(Math.max(...law));

/**
 * Checks a recorded chain: what was fed back, how the links hang together, and every token that was read off.
 * @param {object} chain a ChainDraft of specdec.eagle, with `name` and `pinned_token`
 * @param {number[][]} lmHead the target's, (V, D)
 * @throws {Error} naming the chain and the link
 */
export function checkChain({name, pinned_token, draft_tokens, confidences, links}, lmHead) {
  const demand = (holds, link, what) => {
    if (!holds) throw new Error(`chain unroll: "${name}", link ${link}: ${what}`);
  };
  const sameToken = (feature, place) => {
    const law = readOff(lmHead, feature);
    demand(likeliest(law) === draft_tokens[place], place, `token ${draft_tokens[place]} is recorded, the LM head says ${likeliest(law)}`);
    demand(Math.abs(law[draft_tokens[place]] - confidences[place]) < 1e-3, place, "the confidence is not that of the LM head");
    return law;
  };
  demand(links.length === draft_tokens.length - 1, links.length, "there is one link for each token after the first");
  sameToken(links[0].feature, 0);
  links.forEach((link, index) => {
    const place = index + 1;
    const fed = pinned_token === null ? draft_tokens[index] : pinned_token;
    demand(link.fed_token === fed, place, `token ${link.fed_token} was fed back, not ${fed}`);
    if (index > 0) demand(String(link.feature) === String(links[index - 1].next_feature), place, "it does not go on from the link before");
    const law = sameToken(link.next_feature, place);
    demand(law.every((mass, token) => Math.abs(mass - link.law[token]) < 1e-3), place, "the law is not what the LM head reads off");
  });
}

/** The steps for a chain of a length: the target's own token, the links, the verification. */
export function chainSteps(length) {
  const links = Array.from({length: length - 1}, (_, index) => ({kind: "link", place: index + 1, name: `link ${index + 1}`}));
  return [{kind: "target", place: 0, name: "the target’s own token"}, ...links, {kind: "verify", place: length, name: "verification"}];
}

/** What comes of the chain's first tokens: how many are accepted, and what is emitted. */
export function chainOutcome({draft_tokens}, greedy, length) {
  const accepted = acceptedLength(draft_tokens.slice(0, length), greedy);
  return {accepted, emitted: greedy.slice(0, accepted + 1)};
}

/** A step in a sentence or two. */
export function describeStep({labels, greedy}, chain, length, step) {
  const {kind, place} = chainSteps(length)[step];
  const {draft_tokens, confidences, links, pinned_token} = chain;
  const quoted = (token) => `“${labels[token]}”`;
  if (kind === "target") {
    const feeding = pinned_token === null ? "the token just chosen" : quoted(pinned_token);
    const rest = length === 1 ? "It is the whole chain." : `${count(length - 1, "link")} with ${feeding} fed back will add the rest.`;
    return `The target’s last pass has left its feature of the last position. Its LM head reads the first token off: ${quoted(draft_tokens[0])}, with probability ${probability(confidences[0])}. That one is the target’s own. ${rest}`;
  }
  if (kind === "link") {
    const link = links[place - 1];
    const from = place === 1 ? "the target’s own feature" : `the feature predicted in link ${place - 1}`;
    const fed =
      pinned_token === null
        ? `the embedding of ${quoted(link.fed_token)}, the token just chosen`
        : `the embedding of ${quoted(link.fed_token)}, pinned, although ${quoted(draft_tokens[place - 1])} was chosen`;
    return `Link ${place}: ${from} is fused with ${fed}. The draft head makes the next feature of both, and the target’s LM head reads ${quoted(link.token)} off it, with probability ${probability(confidences[place])}.`;
  }
  const {accepted, emitted} = chainOutcome(chain, greedy, length);
  const last = quoted(emitted[accepted]);
  const end =
    accepted === length
      ? `All ${length} drafted tokens are what the target itself says, and ${last} comes on top`
      : `The target says the same ${accepted} times, then ${last} instead of ${quoted(draft_tokens[accepted])}`;
  return `One pass of the target over the chain. ${end}: ${count(emitted.length, "token")} emitted, the same as by plain greedy decoding.`;
}

const CSS = `
  .widget-chain .chain-controls { display: grid; grid-template-columns: 1fr; gap: .5rem 1.5rem; }
  .widget-chain .widget-stepper { margin-top: .5rem; }
  .widget-chain .chain-tokens {
    display: grid; grid-template-columns: max-content repeat(var(--tokens), minmax(1.75rem, 1fr)); gap: .25rem; align-items: center;
    margin-top: .75rem; text-align: center;
  }
  .widget-chain .chain-tokens > b {
    position: sticky; left: 0; z-index: 1; padding-right: .25rem; background: var(--widget-paper); text-align: left;
    font-weight: 600;
  }
  .widget-chain .chain-tokens > i { width: .375rem; height: .375rem; margin: auto; border-radius: 50%; background: var(--widget-line); }
  .widget-chain .chain-tokens > div { display: flex; justify-content: center; min-width: 0; min-height: 1.625rem; }
  .widget-chain .chain-tokens .chain-here .widget-chip { outline: 2px solid var(--role-target); outline-offset: 1px; }
  .widget-chain .chain-flow {
    display: grid; grid-template-columns: minmax(0, 1fr); gap: .125rem 1rem; align-items: center; min-height: 21rem;
    margin-top: .75rem; padding-top: .5rem; border-top: 1px solid var(--widget-line); align-content: start;
  }
  .widget-chain .chain-flow b { font-weight: 600; }
  .widget-chain .chain-flow small { display: block; color: var(--role-muted); font-size: .8125rem; }
  .widget-chain .chain-vector { display: block; width: 100%; height: 2.25rem; }
  @container (max-width: 27rem) { .widget-chain .chain-tokens .widget-chip { gap: 0; padding-inline: .125rem; } }
  @container (min-width: 34rem) {
    .widget-chain .chain-controls { grid-template-columns: auto minmax(12rem, 1fr); }
    .widget-chain .chain-flow { grid-template-columns: 11rem minmax(0, 1fr); gap: .375rem 1rem; min-height: 19rem; }
  }
`;

/**
 * Steps through drafted chains, one link at a time.
 * @param {{labels: string[], lm_head: number[][], greedy: number[], chains: object[]}} data labels[token] is what a
 *   chip shows; `lm_head` the target's weights (V, D); `greedy` what the target itself writes, one token more than the
 *   chains have; chains are ChainDrafts of specdec.eagle of one length, each with `name` and `pinned_token`, null where
 *   the token just chosen is fed back
 * @param {{chain?: number, length?: number, step?: number}} options where to start; chain and step counted from 0
 * @returns {HTMLElement} with `.value` {chain, length, step, kind, token, accepted, emitted}; emits `input`
 */
export function chainUnroll(data, {chain = 0, length = data.greedy.length - 1, step = 0} = {}) {
  addStyles("chain", CSS);
  const {labels, lm_head, greedy, chains} = data;
  chains.forEach((record) => checkChain(record, lm_head));
  const longest = greedy.length - 1;
  const names = (tokens) => chainSteps(tokens).map(({name}) => name);
  const chainChoice = choice(new Map(chains.map(({name}, index) => [name, index])), {label: "Fed back", value: chain});
  const lengthChoice = levels(Array.from({length: longest}, (_, index) => index + 1), {
    label: "Length of the chain",
    name: "Length of the chain",
    value: length
  });
  const steps = stepper({steps: names(length), value: step});
  const tokens = scrollRegion("Drafted tokens", ".chain-here");
  const flow = html`<div class="chain-flow">`;
  const arrange = (sentence) => [
    html`<div class="chain-controls">${chainChoice}${lengthChoice}</div>`,
    steps,
    tokens,
    sentence,
    flow
  ];
  const frame = widgetFrame("chain", "Chain of drafted features", arrange, {
    fields: {chain: integer(0, chains.length - 1), length: integer(1, longest), step: integer(0, longest)},
    set(state) {
      chainChoice.value = state.chain;
      lengthChoice.value = state.length;
      steps.setSteps(names(state.length), Math.min(state.step, state.length));
      update();
    }
  });

  function update() {
    const record = chains[chainChoice.value];
    const [many, at] = [lengthChoice.value, steps.value];
    const {kind, place} = chainSteps(many)[at];
    tokens.show(tokenRows(data, record, many, at));
    flow.replaceChildren(...flowParts(data, record, many, at));
    frame.show(
      {
        chain: chainChoice.value,
        length: many,
        step: at,
        kind,
        token: kind === "verify" ? null : record.draft_tokens[place],
        ...chainOutcome(record, greedy, many)
      },
      describeStep(data, record, many, at)
    );
  }

  frame.follow([chainChoice, steps], update);
  frame.follow(lengthChoice, () => {
    steps.setSteps(names(lengthChoice.value), Math.min(steps.value, lengthChoice.value));
    update();
  });
  update();
  return frame.open();
}

/** The chain so far, and under it, once it is verified, what the target itself says. */
function tokenRows({labels, greedy}, {draft_tokens}, length, step) {
  const {kind, place} = chainSteps(length)[step];
  const verified = kind === "verify";
  const accepted = acceptedLength(draft_tokens.slice(0, length), greedy);
  const fate = (index) => {
    if (!verified) return index === 0 ? "accepted" : "draft";
    return index < accepted ? "accepted" : index === accepted ? "rejected" : "discarded";
  };
  const columns = Array.from({length: length + 1}, (_, index) => index);
  const drafted = columns.map((index) => {
    if (index === length) return html`<div></div>`;
    if (index > place) return html`<i aria-hidden="true">`;
    return html`<div class=${index === place ? "chain-here" : ""}>${chip(labels[draft_tokens[index]], fate(index))}</div>`;
  });
  const own = columns.map((index) => {
    if (!verified || index > accepted) return html`<div></div>`;
    const kind = index < accepted ? "context" : accepted === length ? "bonus" : "correction";
    return html`<div>${chip(labels[greedy[index]], kind)}</div>`;
  });
  return html`<div class="chain-tokens" style=${`--tokens: ${length + 1}`}><b>Drafted</b>${drafted}<b>Target</b>${own}</div>`;
}

/** How the step's token comes about: feature, token fed back, both fused, next feature, what is read off. */
function flowParts({labels, lm_head, greedy}, chain, length, step) {
  const {kind, place} = chainSteps(length)[step];
  const row = (title, words, content) => [html`<div><b>${title}</b><small>${words}</small></div>`, html`<div>${content}</div>`];
  const law = (probs, token) => lawChart(labels, [["law", "target", probs]], token);
  if (kind === "target") {
    const {feature} = chain.links[0];
    return [
      ...row("Feature", "of the last position, the target’s own", vector(feature, "target")),
      ...row("Token read off", "by the target’s LM head", law(readOff(lm_head, feature), chain.draft_tokens[0]))
    ];
  }
  if (kind === "link") {
    const link = chain.links[place - 1];
    const fedBack = chain.pinned_token === null ? "the one just chosen, one step ahead" : "pinned, whatever was chosen";
    return [
      place === 1
        ? row("Feature", "the target’s own", vector(link.feature, "target"))
        : row("Feature", `predicted in link ${place - 1}`, vector(link.feature, "draft")),
      row("Token fed back", fedBack, chip(labels[link.fed_token], "context")),
      row("Fused", "feature and embedding in one", vector(link.fused, "muted")),
      row("Next feature", "predicted by the draft head", vector(link.next_feature, "draft")),
      row("Token read off", "by the target’s LM head", law(link.law, link.token))
    ].flat();
  }
  const {emitted} = chainOutcome(chain, greedy, length);
  return row(
    "Emitted",
    "for one target pass",
    html`<div style="display: flex; flex-wrap: wrap; gap: .25rem">${emitted.map((token) => chip(labels[token], "context"))}</div>`
  );
}

/** A vector as bars above and below a line. */
function vector(values, colour) {
  const highest = Math.max(...values.map(Math.abs));
  const bars = values.map((value, index) => `M${index + 0.1} 1v${-value / highest}h.8V1z`).join("");
  return svg`<svg class="chain-vector" viewBox=${`0 0 ${values.length} 2`} preserveAspectRatio="none" role="img"
    aria-label=${`${values.length} numbers, from ${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)}`}>
    <path d=${`M0 1H${values.length}`} stroke="var(--widget-line)" stroke-width="1" vector-effect="non-scaling-stroke"></path>
    <path d=${bars} fill=${role(colour)}></path></svg>`;
}
