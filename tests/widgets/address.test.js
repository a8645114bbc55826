// A widget's state in the page's address: written, read back, and several widgets side by side.

import assert from "node:assert/strict";
import {mock, test} from "node:test";
import {
  distribution,
  integer,
  number,
  oneOf,
  parseAddress,
  readState,
  stateGroup,
  withGroup
} from "../../widgets/lib/address.js";

const FIELDS = {alpha: number(0, 1), gamma: integer(1, 16), rule: oneOf(["correct", "a, b: c;"]), p: distribution(3)};
const STATE = {alpha: 0.8, gamma: 4, rule: "a, b: c;", p: [0.5, 0.25, 0.25]};

test("what is written is read back", () => {
  const hash = withGroup("", stateGroup("lab", STATE, FIELDS));
  assert.equal(hash, "#w=lab,alpha:0.8,gamma:4,rule:a%2C%20b%3A%20c%3B,p:0.5_0.25_0.25");
  assert.deepEqual(readState(hash, "lab", FIELDS), STATE);
});

test("several widgets share an address, the latest first; another's state is kept", () => {
  const other = withGroup("#sec-x", {name: "round", fields: [["step", "3"]]});
  const both = withGroup(other, stateGroup("lab", STATE, {alpha: FIELDS.alpha}));
  assert.equal(both, "#w=lab,alpha:0.8;round,step:3");
  assert.equal(withGroup(both, {name: "round", fields: [["step", "4"]]}), "#w=round,step:4;lab,alpha:0.8");
  assert.deepEqual(parseAddress(both).map(({name}) => name), ["lab", "round"]);
});

test("without a name, a widget takes what it has fields for", () => {
  assert.deepEqual(readState("#w=alpha:0.9,gamma:10", "speedup", FIELDS), {alpha: 0.9, gamma: 10});
  assert.deepEqual(readState("#w=step:3", "speedup", FIELDS), {});
  assert.deepEqual(readState("#sec-alpha", "speedup", FIELDS), {});
});

test("what is not allowed is left out, with a warning that names it", () => {
  const warn = mock.method(console, "warn", () => {});
  const bad = ["alpha:1.5", "alpha:", "alpha:x", "gamma:2.5", "gamma:17", "rule:none", "p:0.5_0.5", "p:0.9_0.9_0.9", "beta:1"];
  for (const field of bad) assert.deepEqual(readState(`#w=lab,${field}`, "lab", FIELDS), {}, field);
  assert.equal(warn.mock.callCount(), bad.length);
  assert.match(warn.mock.calls[0].arguments[0], /widget lab: the address can't set alpha to "1.5"/);
  assert.deepEqual(readState("#w=lab,alpha:2,gamma:3", "lab", FIELDS), {gamma: 3});
  warn.mock.restore();
});

test("a distribution that rounding left a little off is made to sum to 1", () => {
  const [a, b, c] = distribution(3).read("0.333333_0.333333_0.333333");
  assert.ok(Math.abs(a + b + c - 1) < 1e-15);
});
