import {Plot, html} from "./vendor/observable.js";
import {oneOf} from "./lib/address.js";
import {role} from "./lib/colours.js";
import {percent} from "./lib/formats.js";
import {widgetFrame} from "./lib/frame.js";
import {choice, levels} from "./lib/inputs.js";
import {columns, controlRow, part} from "./lib/layout.js";
import {plot, responsive} from "./lib/plot.js";
import {addStyles} from "./lib/styles.js";

/** The decoders, each with its colour and the shape of its line and dots. */
const DECODERS = [
  {name: "greedy", colour: "muted", dash: "2,3", symbol: "square"},
  {name: "Jacobi", colour: "draft", dash: "7,3", symbol: "triangle"},
  {name: "lookahead", colour: "accepted", dash: null, symbol: "circle"}
];

/** The passes of each decoder at one setting of a stream's grid, and the tokens per pass that they come to. */
export function passesAt(grid, blockSize, ngramN) {
  const row = grid.block_sizes.indexOf(blockSize);
  const passes = [grid.greedy, grid.jacobi[row], grid.lookahead[row][grid.ngram_sizes.indexOf(ngramN)]];
  return {passes, tokensPerPass: passes.map((count) => grid.n_new / count)};
}

/**
 * Checks what must hold of any stream: greedy takes a pass a token, the others never more, and exactly as many where
 * a block is one place.
 * @throws {Error} naming the stream and the setting
 */
export function checkGrid(grid) {
  const demand = (holds, words) => {
    if (!holds) throw new Error(`pass counter, ${grid.name}: ${words}`);
  };
  demand(grid.greedy === grid.n_new, "greedy decoding takes one pass a token");
  for (const blockSize of grid.block_sizes) {
    for (const ngramN of grid.ngram_sizes) {
      const {passes} = passesAt(grid, blockSize, ngramN);
      const place = `at block ${blockSize}, N = ${ngramN}`;
      demand(
        passes.every((count) => count >= Math.ceil(grid.n_new / blockSize)),
        `a pass emits more than its block ${place}`
      );
      demand(
        passes.every((count) => count <= grid.greedy),
        `more passes than greedy ${place}`
      );
      demand(
        blockSize > 1 || passes.every((count) => count === grid.greedy),
        `a block of one is greedy decoding ${place}`
      );
    }
  }
}

/** What the widget shows, as numbers. */
export function counterState(grid, blockSize, ngramN) {
  const {passes, tokensPerPass} = passesAt(grid, blockSize, ngramN);
  const [greedy, jacobi, lookahead] = passes;
  return {stream: grid.name, blockSize, ngramN, newTokens: grid.n_new, greedy, jacobi, lookahead, tokensPerPass};
}

/** The state in a few sentences. */
export function describeCounter({stream, blockSize, ngramN, newTokens, greedy, jacobi, lookahead, tokensPerPass}) {
  const counts = `${newTokens} tokens of “${stream}” with block size ${blockSize} and N = ${ngramN}: greedy ${greedy} passes, Jacobi ${jacobi}, lookahead ${lookahead} (${tokensPerPass[2].toFixed(2)} tokens a pass).`;
  if (blockSize === 1) return `${counts} A block of one place is plain greedy decoding.`;
  if (lookahead === greedy)
    return `${counts} Nothing repeats soon enough and no block converges: no gain, and no loss of passes either.`;
  if (lookahead < jacobi) return `${counts} The pool finds what the iteration alone does not.`;
  if (lookahead > jacobi) return `${counts} Here the pool’s guesses are worse than what the iteration carries over.`;
  return `${counts} Here the iteration converges without the pool’s help.`;
}

const CSS = `
  .widget-passes .passes-bars {
    display: grid; grid-template-columns: auto minmax(0, 1fr); gap: .5rem .625rem; align-items: center; margin-top: .5rem;
  }
  .widget-passes .passes-bar { display: flex; gap: .375rem; align-items: center; white-space: nowrap; }
  .widget-passes .passes-track { flex: 0 1 calc(100% - 8.5rem); min-width: 0; }
  .widget-passes .passes-track > span { display: block; height: 1.25rem; border-radius: .1875rem; background: var(--role); }
`;

const NGRAM_LABEL = "N, tokens the pool keeps after a key";

/**
 * How many passes greedy decoding, Jacobi iteration and lookahead take for the same text.
 * @param {{streams: object[]}} data each {name, n_new, block_sizes, ngram_sizes, greedy, jacobi, lookahead}: a name
 *   and what specdec.lookahead.pass_grid returns, over the same sizes for all
 * @param {{stream?: string, blockSize?: number, ngramN?: number}} options where to start
 * @returns {HTMLElement} with `.value` {stream, blockSize, ngramN, newTokens, greedy, jacobi, lookahead, tokensPerPass};
 *   emits `input`
 */
export function passCounter({streams}, options = {}) {
  addStyles("passes", CSS);
  streams.forEach(checkGrid);
  const names = streams.map(({name}) => name);
  const [{block_sizes: blockSizes, ngram_sizes: ngramSizes}] = streams;
  const middle = (values) => values[Math.floor(values.length / 2)];
  const start = {stream: names[0], blockSize: middle(blockSizes), ngramN: middle(ngramSizes), ...options};
  const controls = {
    stream: choice(names, {label: "Text", value: start.stream}),
    blockSize: levels(blockSizes, {label: "block size", name: "block size", value: start.blockSize}),
    ngramN: levels(ngramSizes, {label: NGRAM_LABEL, name: NGRAM_LABEL, value: start.ngramN})
  };
  const grid = () => streams[names.indexOf(controls.stream.value)];
  const bars = html`<div class="passes-bars">`;
  const curves = responsive((width) => drawCurves(width, grid(), frame.root.value));
  const arrange = (sentence) => [
    controlRow(...Object.values(controls)),
    columns(part("Passes, and tokens per pass", bars), part("Passes against block size", curves)),
    sentence
  ];
  const frame = widgetFrame("passes", "Pass counter", arrange, {
    fields: {stream: oneOf(names), blockSize: oneOf(blockSizes), ngramN: oneOf(ngramSizes)},
    set(state) {
      for (const [name, control] of Object.entries(controls)) control.value = state[name];
      update();
    }
  });

  function update() {
    const state = counterState(grid(), controls.blockSize.value, controls.ngramN.value);
    frame.show(state, describeCounter(state));
    bars.replaceChildren(...passBars(state));
    curves.redraw();
  }

  frame.follow(Object.values(controls), update);
  update();
  return frame.open();
}

function passBars({greedy, jacobi, lookahead, tokensPerPass}) {
  const passes = [greedy, jacobi, lookahead];
  return DECODERS.flatMap(({name, colour}, index) => [
    html`<span>${name}</span>`,
    html`<div class="passes-bar" style=${`--role: ${role(colour)}`}>
      <div class="passes-track"><span style=${`width: ${percent(passes[index] / greedy)}`}></span></div>
      <span><b>${passes[index]}</b> · ${tokensPerPass[index].toFixed(2)} a pass</span>
    </div>`
  ]);
}

function drawCurves(width, grid, {blockSize, ngramN}) {
  const rows = grid.block_sizes.map((size) => ({size, passes: passesAt(grid, size, ngramN).passes}));
  const chosen = rows.filter(({size}) => size === blockSize);
  const [greedy, jacobi, lookahead] = chosen[0].passes;
  const ends = rows[rows.length - 1].passes;
  const names = (passes) => DECODERS.filter((_, index) => ends[index] === passes).map(({name}) => name);
  const lines = DECODERS.flatMap(({colour, dash, symbol}, index) => {
    const place = {x: "size", y: ({passes}) => passes[index]};
    return [
      Plot.line(rows, {...place, stroke: role(colour), strokeWidth: 1.5, strokeDasharray: dash || "none"}),
      Plot.dot(rows, {...place, symbol, r: 3, fill: role(colour)}),
      Plot.dot(chosen, {...place, symbol, r: 5.5, fill: role(colour), stroke: "var(--widget-paper)"}),
      Plot.text(ends.indexOf(ends[index]) === index ? rows.slice(-1) : [], {
        ...place,
        text: () => names(ends[index]).join("\n"),
        textAnchor: "start",
        dx: 8,
        fill: role(colour)
      })
    ];
  });
  return plot({
    label: `Passes against block size: at ${blockSize} greedy ${greedy}, Jacobi ${jacobi}, lookahead ${lookahead}`,
    width,
    height: 200,
    marginLeft: 28,
    marginRight: 66,
    marginTop: 10,
    marginBottom: 34,
    x: {
      ticks: grid.block_sizes,
      tickFormat: "d",
      label: "block size",
      labelAnchor: "center",
      labelArrow: "none",
      inset: 6
    },
    y: {domain: [0, grid.greedy * 1.05], ticks: 5, grid: true, label: null},
    marks: [Plot.ruleX(chosen, {x: "size", stroke: role("target"), strokeOpacity: 0.4}), ...lines]
  });
}
