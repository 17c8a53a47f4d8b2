import { expect } from '@jest/globals';

/** Whether an answer is the one that a page shows: "…" stands for any text, and as a key for keys that are not shown. */
export function expectShape(shown: unknown, actual: unknown): void {
  if (shown === '…') expect(actual).toEqual(expect.any(String));
  else if (Array.isArray(shown)) {
    expect(actual).toHaveLength(shown.length);
    shown.forEach((each, i) => expectShape(each, (actual as unknown[])[i]));
  } else if (shown !== null && typeof shown === 'object') {
    for (const [key, value] of Object.entries(shown)) {
      if (key === '…') continue;
      expect(actual).toHaveProperty([key]);
      expectShape(value, (actual as Record<string, unknown>)[key]);
    }
    if (!('…' in shown)) expect(Object.keys(actual as object).sort()).toEqual(Object.keys(shown).sort());
  } else expect(actual).toEqual(shown);
}
