/** 0.4 → "0.40", 0.83333 → "0.833": two decimals, three where they say more. */
export function probability(value) {
  return value.toFixed(3).replace(/0$/, "");
}

/** 0.4 → "+0.40", −0.1 → "−0.10", with a true minus sign; "0" where nothing shows at three decimals. */
export function signed(value) {
  if (Math.abs(value) < 0.0005) return "0";
  return `${value < 0 ? "−" : "+"}${probability(Math.abs(value))}`;
}

/** 3.4314 → "3.43×" */
export function times(value) {
  return `${value.toFixed(2)}×`;
}

/** 2000 → "2,000" */
export function grouped(value) {
  return value.toLocaleString("en-US");
}

/** (1, "token") → "1 token", (5, "token") → "5 tokens" */
export function count(number, noun) {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** 0.25 → "25%", for CSS lengths. */
export function percent(share) {
  return `${+(100 * share).toFixed(3)}%`;
}
