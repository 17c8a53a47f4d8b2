/** A source of choices that says the same for the same seed (mulberry32). */
export function random(seed) {
  let state = hash(String(seed));
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const int = (min, max) => min + Math.floor(next() * (max - min + 1));
  return {
    /** Both ends included. */
    int,
    /** True so often, of one. */
    chance: (share) => next() < share,
    pick: (choices) => choices[int(0, choices.length - 1)],
    /** One of the keys, as often as its number says. */
    weighted(weights) {
      let left = next() * Object.values(weights).reduce((sum, weight) => sum + weight, 0);
      for (const [key, weight] of Object.entries(weights)) if ((left -= weight) < 0) return key;
      return Object.keys(weights)[0];
    },
  };
}

/** FNV-1a: names and seeds that differ little begin far apart. */
function hash(text) {
  let value = 0x811c9dc5;
  for (const character of text) value = Math.imul(value ^ character.codePointAt(0), 0x01000193);
  return value | 0;
}
