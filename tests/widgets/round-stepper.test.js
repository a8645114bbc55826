// The stepper shows recorded verdicts only after computing them again.

import assert from "node:assert/strict";
import {test} from "node:test";
import {checkRound, describeStep, progressAt, roundSteps} from "../../widgets/round-stepper.js";
import {tokensToShow} from "../../widgets/lib/laws.js";
import {fixture} from "./fixtures.js";

const {rounds, labels} = await fixture("round-stepper");
const clean = rounds.findIndex(({last_kind}) => last_kind === "bonus");
const early = rounds.findIndex(({n_accepted, proposed}) => n_accepted < proposed.length - 1);

async function tampered(index, change) {
  const round = (await fixture("round-stepper")).rounds[index];
  change(round);
  return round;
}

test("the recorded rounds pass, and there is a clean one and one that stops early", () => {
  rounds.forEach(checkRound);
  assert.ok(clean >= 0 && early >= 0);
});

const TAMPERINGS = {
  "a rejection called accepted": [
    early,
    (round) => {
      round.tests[round.n_accepted].accepted = true;
    },
    /say otherwise/
  ],
  "an acceptance called rejected": [
    clean,
    (round) => {
      round.tests[0].accepted = false;
    },
    /say otherwise/
  ],
  "a u that would decide otherwise": [
    early,
    (round) => {
      round.tests[round.n_accepted].u = 0;
    },
    /say otherwise/
  ],
  "u equal to the ratio, which must reject": [
    clean,
    (round) => {
      round.tests[0].u = 1;
    },
    /say otherwise/
  ],
  "a p that is not in the target's row": [
    clean,
    (round) => {
      round.tests[0].p += 0.01;
    },
    /p is not/
  ],
  "a q that is not in the draft's row": [
    clean,
    (round) => {
      round.tests[0].q += 0.01;
    },
    /q is not/
  ],
  "a wrong ratio": [
    early,
    (round) => {
      round.tests[round.n_accepted].ratio = 1;
    },
    /ratio/
  ],
  "another token tested": [
    clean,
    (round) => {
      round.tests[0].token = (round.tests[0].token + 1) % labels.length;
    },
    /another token/
  ],
  "a wrong count": [
    clean,
    (round) => {
      round.n_accepted -= 1;
    },
    /recorded as accepted/
  ],
  "a bonus after a rejection": [
    early,
    (round) => {
      round.last_kind = "bonus";
    },
    /ends with a correction/
  ],
  "a token lost": [
    clean,
    (round) => {
      round.emitted.pop();
    },
    /one more/
  ],
  "another token emitted": [
    clean,
    (round) => {
      round.emitted[0] += 1;
    },
    /do not begin/
  ],
  "p in the residual's place": [
    early,
    (round) => {
      round.residual = round.target_probs[round.n_accepted];
    },
    /residual/
  ],
  "a residual after a clean block": [
    clean,
    (round) => {
      round.residual = round.target_probs[0];
    },
    /residual/
  ]
};

for (const [name, [index, change, message]] of Object.entries(TAMPERINGS)) {
  test(`throws on ${name}`, async () => {
    const round = await tampered(index, change);
    assert.throws(
      () => checkRound(round, index),
      (error) => message.test(error.message) && error.message.includes(`round ${index + 1}`)
    );
  });
}

test("the steps tell the whole round, once each", () => {
  for (const round of rounds) {
    const kinds = roundSteps(round).map(({kind}) => kind);
    assert.deepEqual(kinds, [
      "start",
      ...round.proposed.map(() => "draft"),
      "score",
      ...round.tests.map(() => "test"),
      round.last_kind,
      "commit"
    ]);
    assert.deepEqual(progressAt(round, 0), {drafted: 0, scored: false, tested: 0, rejectedAt: null, emitted: 0});
    assert.equal(progressAt(round, kinds.length - 1).emitted, round.emitted.length);
  }
});

test("a rejection is known once it has been tested, not before", () => {
  const round = rounds[early];
  const step = roundSteps(round).findIndex(({kind, position}) => kind === "test" && position === round.n_accepted);
  assert.equal(progressAt(round, step - 1).rejectedAt, null);
  assert.equal(progressAt(round, step).rejectedAt, round.n_accepted);
});

test("every step has a sentence that names its token", () => {
  for (const round of rounds) {
    roundSteps(round).forEach(({kind, position}, step) => {
      const sentence = describeStep(round, step, labels);
      assert.match(sentence, /\.$/);
      if (kind === "draft" || kind === "test") assert.ok(sentence.includes(`“${labels[round.proposed[position]]}”`));
    });
  }
});

test("a chart of a large vocabulary keeps the likeliest tokens and the drawn one, in order", () => {
  const law = Array.from({length: 32}, (_, token) => (token % 8 === 0 ? 0.2 : 0.001));
  const shown = tokensToShow([law], 31);
  assert.equal(shown.length, 8);
  assert.deepEqual(
    shown,
    [...shown].sort((a, b) => a - b)
  );
  for (const token of [0, 8, 16, 24, 31]) assert.ok(shown.includes(token));
  assert.deepEqual(tokensToShow([[0.5, 0.5]], null), [0, 1]);
});
