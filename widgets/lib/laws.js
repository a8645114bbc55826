import {Plot, html, svg} from "../vendor/observable.js";
import {role} from "./colours.js";
import {count, probability} from "./formats.js";
import {plot, responsive} from "./plot.js";
import {addStyles} from "./styles.js";

const CSS = `
  .widget-mini-law { display: block; width: 100%; max-width: 4.5rem; height: 1.5rem; margin: 0 auto .125rem; }
  .widget-law-rest { color: var(--role-muted); font-size: .75rem; line-height: 1.3; }
`;

const CHART_HEIGHT = 124;
const TOKENS_SHOWN = 8;

/** A law as a row of small bars, without words; the drawn token's bar is solid, or all are where none is drawn. */
export function miniLaw(probs, drawn, colour) {
  addStyles("laws", CSS);
  const highest = Math.max(...probs);
  const bars = probs.map((mass, token) => {
    const height = mass / highest;
    const opacity = drawn === null || token === drawn ? 1 : 0.35;
    return svg`<rect x=${token + 0.1} y=${1 - height} width="0.8" height=${height} fill=${role(colour)}
      fill-opacity=${opacity}></rect>`;
  });
  return svg`<svg class="widget-mini-law" viewBox=${`0 0 ${probs.length} 1`} preserveAspectRatio="none"
    aria-hidden="true">${bars}</svg>`;
}

/** The tokens a chart has room for: all of a small vocabulary, else the likeliest ones and the drawn one, by id. */
export function tokensToShow(laws, drawn) {
  const tokens = laws[0].map((_, token) => token);
  if (tokens.length <= TOKENS_SHOWN) return tokens;
  const weight = (token) => (token === drawn ? Infinity : Math.max(...laws.map((law) => law[token])));
  const likeliest = tokens.sort((a, b) => weight(b) - weight(a)).slice(0, TOKENS_SHOWN);
  return likeliest.sort((a, b) => a - b);
}

/**
 * Laws side by side, token by token.
 * @param {string[]} labels by token
 * @param {[string, string, number[]][]} series name, colour role and probabilities of each law
 * @param {number|null} drawn the token whose bars are solid
 */
export function lawChart(labels, series, drawn) {
  addStyles("laws", CSS);
  const tokens = tokensToShow(
    series.map(([, , probs]) => probs),
    drawn
  );
  const names = series.map(([name]) => name);
  const chart = groupedBars({
    bars: tokens.flatMap((token) =>
      series.map(([name, colour, probs]) => ({
        group: token,
        name,
        colour,
        mass: probs[token],
        faint: drawn !== null && token !== drawn
      }))
    ),
    groupName: (token) => labels[token],
    label: `${names.join(" and ")} by token${drawn === null ? "" : `; drawn: ${labels[drawn]}`}`
  });
  const hidden = labels.length - tokens.length;
  if (hidden === 0) return chart;
  return html`<div>${chart}<div class="widget-law-rest">and ${count(hidden, "less likely token")}</div></div>`;
}

/**
 * Bars in groups, each with its value above it where there is room.
 * @param {{bars: {group: any, name: string, colour: string, mass: number, faint?: boolean}[],
 *   groupName: (group: any) => string, label: string}} chart `label` is the accessible name
 */
export function groupedBars({bars, groupName, label}) {
  const unique = (key) => [...new Set(bars.map((bar) => bar[key]))];
  const [groups, names] = [unique("group"), unique("name")];
  const place = {fx: "group", x: "name", y: "mass"};
  const colour = (bar) => role(bar.colour);
  return responsive((width) => {
    const barWidth = width / bars.length;
    const named = names.length > 1 && barWidth >= 48;
    return plot({
      label,
      width,
      height: CHART_HEIGHT,
      marginLeft: 0,
      marginRight: 0,
      marginTop: 18,
      marginBottom: 22,
      fx: {domain: groups, label: null, padding: 0.15, tickFormat: groupName, axis: "bottom"},
      x: {domain: names, axis: null, padding: 0.08},
      y: {axis: null, domain: [0, Math.max(...bars.map(({mass}) => mass))]},
      marks: [
        Plot.barY(bars, {...place, fill: colour, fillOpacity: ({faint}) => (faint ? 0.35 : 1)}),
        Plot.text(barWidth < 24 ? [] : bars, {
          ...place,
          dy: -9,
          fill: colour,
          fontSize: barWidth < 36 ? 10.5 : 12,
          text: ({name, mass}) => (named ? `${name} ${probability(mass)}` : probability(mass))
        }),
        Plot.ruleY([0], {stroke: "var(--widget-line)"})
      ]
    });
  });
}
