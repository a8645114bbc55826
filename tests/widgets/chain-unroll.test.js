// The chain is shown only after every token has been read off again, and its sentences say what happened.

import assert from "node:assert/strict";
import {test} from "node:test";
import {acceptedLength, chainOutcome, chainSteps, checkChain, describeStep, readOff} from "../../widgets/chain-unroll.js";
import {assertClose, fixture} from "./fixtures.js";

const data = await fixture("chain-unroll");
const [own, pinned] = data.chains;
const longest = data.greedy.length - 1;

test("the recorded chains pass, and one goes further than the other", () => {
  for (const chain of data.chains) checkChain(chain, data.lm_head);
  const reach = (chain) => acceptedLength(chain.draft_tokens, data.greedy);
  assert.ok(reach(own) > reach(pinned) && reach(pinned) >= 1);
});

const TAMPERINGS = {
  "another token drafted": [(chain) => (chain.draft_tokens[2] += 1), /link 2: token \d is recorded, the LM head says/],
  "another first token": [(chain) => (chain.draft_tokens[0] += 1), /link 0: token/],
  "another confidence": [(chain) => (chain.confidences[3] -= 0.01), /link 3: the confidence/],
  "another token fed back": [(chain) => (chain.links[1].fed_token += 1), /link 2: token \d was fed back/],
  "a pin that was not used": [(chain) => (chain.pinned_token = 5), /link 1: token 1 was fed back, not 5/],
  "a broken chain": [(chain) => (chain.links[2].feature[0] += 1), /link 3: it does not go on/],
  "a law that is not read off": [(chain) => chain.links[4].law.reverse(), /link 5: the law is not/],
  "a link lost": [(chain) => chain.links.pop(), /one link for each token/]
};

for (const [name, [change, message]] of Object.entries(TAMPERINGS)) {
  test(`throws on ${name}`, async () => {
    const {chains, lm_head} = await fixture("chain-unroll");
    change(chains[0]);
    assert.throws(
      () => checkChain(chains[0], lm_head),
      (error) => message.test(error.message) && error.message.includes(chains[0].name)
    );
  });
}

test("an LM head of equal rows reads off a uniform law, however long the feature", () => {
  assertClose(readOff([[1, 2], [1, 2]], [300, 400]), [0.5, 0.5], "uniform");
});

test("a chain of one token has no link", () => {
  assert.deepEqual(chainSteps(1).map(({kind}) => kind), ["target", "verify"]);
  assert.deepEqual(chainSteps(3).map(({kind}) => kind), ["target", "link", "link", "verify"]);
});

test("whatever the length, the emitted tokens are greedy's", () => {
  for (const chain of data.chains) {
    for (let length = 1; length <= longest; length += 1) {
      const {accepted, emitted} = chainOutcome(chain, data.greedy, length);
      assert.ok(accepted <= length && emitted.length === accepted + 1);
      assert.deepEqual(emitted, data.greedy.slice(0, emitted.length));
    }
  }
});

test("the sentences tell whose feature it is, what was fed back, and how the chain ends", () => {
  const say = (chain, length, step) => describeStep(data, chain, length, step);
  assert.match(say(own, longest, 0), /reads the first token off: “b”.*the target’s own\. 5 links with the token just chosen fed back will add the rest\.$/);
  assert.match(say(pinned, 2, 0), /1 link with “a” fed back will add the rest\.$/);
  assert.match(say(own, 1, 0), /It is the whole chain\.$/);
  assert.match(say(own, longest, 1), /^Link 1: the target’s own feature is fused with the embedding of “b”, the token just chosen\./);
  assert.match(say(own, longest, 2), /^Link 2: the feature predicted in link 1/);
  assert.match(say(pinned, longest, 1), /the embedding of “a”, pinned, although “b” was chosen/);
  assert.match(say(own, 2, 2), /All 2 drafted tokens are what the target itself says, and “.” comes on top: 3 tokens emitted/);
  assert.match(say(own, longest, longest), /The target says the same 3 times, then “d” instead of “b”: 4 tokens emitted/);
});
