/**
 * What happens in a pass of Jacobi iteration or lookahead, on lists of tokens, as in specdec.lookahead. A run is
 * {name, prompt, block_size, tokens, passes}: the new tokens, and a DecodingPass of specdec.lookahead for each pass.
 */

/** Whether two lists hold the same tokens. */
export const sameTokens = (a, b) => a.length === b.length && a.every((token, place) => token === b[place]);

/** 1 + the number of leading places where guess and answers agree, at most the block: so many answers are certain. */
export function acceptedPrefixLength(guess, refined) {
  return Math.min(1 + leadingAgreement(guess, refined), guess.length);
}

/** How many leading guesses were right. */
export function leadingAgreement(guess, refined) {
  const parting = guess.findIndex((token, place) => token !== refined[place]);
  return parting < 0 ? guess.length : parting;
}

/** What the answers make of a guess: a kind of chip. */
export function fateOfGuess({guess, refined}, place) {
  const right = leadingAgreement(guess, refined);
  if (place < right) return "accepted";
  return place === right ? "rejected" : "discarded";
}

/** What becomes of an answer: a kind of chip. */
export function fateOfAnswer({n_accepted: accepted}, place) {
  return place < accepted ? "accepted" : "draft";
}

/** Tokens cut to a length, or filled up to it with their last one. */
export function filled(tokens, length) {
  return Array.from({length}, (_, place) => tokens[Math.min(place, tokens.length - 1)]);
}

/** Jacobi's guess: what the last pass left over, or the last known token where there is nothing; filled up. */
export function carriedGuess(verified, carried, blockSize) {
  return filled(carried && carried.length > 0 ? carried : verified.slice(-1), blockSize);
}

/**
 * Computes a recorded run again: each guess from what was known, what is certain of the answers, and what is carried.
 * @param {object} run
 * @param {(verified: number[], carried: number[]|null, pass: object) => number[]} guessOf a full block
 * @throws {Error} naming the text and the pass that is off
 */
export function checkPasses(run, guessOf) {
  const wanted = run.prompt.length + run.tokens.length;
  let verified = run.prompt;
  let carried = null;
  run.passes.forEach((pass, index) => {
    const demand = (holds, words) => {
      if (!holds) throw new Error(`${run.name}, block ${run.block_size}, pass ${index + 1}: ${words}`);
    };
    const {guess, refined, emitted, n_accepted: accepted} = pass;
    demand(pass.n_verified === verified.length, "it does not start where the last pass ended");
    demand(refined.length === guess.length, "there is not one answer for each place");
    demand(
      sameTokens(guess, guessOf(verified, carried, pass).slice(0, wanted - verified.length)),
      "the guess is another one"
    );
    demand(
      accepted === acceptedPrefixLength(guess, refined),
      `${accepted} are recorded as certain, the tokens say otherwise`
    );
    demand(sameTokens(emitted, refined.slice(0, accepted)), "what is emitted is not what is certain");
    demand(sameTokens(pass.carried, refined.slice(accepted)), "what is carried is not the rest");
    verified = [...verified, ...emitted];
    carried = pass.carried;
  });
  if (!sameTokens(verified.slice(run.prompt.length), run.tokens))
    throw new Error(`${run.name}, block ${run.block_size}: the passes emit other tokens than the run`);
}
