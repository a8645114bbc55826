// A small widget that keeps the contract. The broken ones beside it are this one with a single fault.

import {integer} from "../../../widgets/lib/address.js";
import {onInput, widgetFrame} from "../../../widgets/lib/frame.js";
import {range} from "../../../widgets/lib/inputs.js";

const MOST = 9;

export const squared = (n) => n * n;

/** A slider for n, and its square; the third argument is where a fault goes in. */
export function sound({note}, {n = 3} = {}, {square = squared, fields, defer = (react) => react()} = {}) {
  const slider = range([0, MOST], {label: "n", name: "n", value: n, step: 1});
  const arrange = (sentence) => [slider, sentence];
  const frame = widgetFrame("counter", "Squares", arrange, {
    fields: fields || {n: integer(0, MOST)},
    set(state) {
      slider.value = state.n;
      update();
    }
  });

  function update() {
    const state = {n: slider.value, square: square(slider.value)};
    frame.show(state, `The square of ${state.n} is ${state.square}. ${note}`);
  }

  onInput(slider, () =>
    defer(() => {
      update();
      frame.notify();
    })
  );
  update();
  return frame.open();
}
