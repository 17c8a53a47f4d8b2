import { loadTypeScript } from './load-typescript.mjs';

const { breaches } = await loadTypeScript(new URL('../properties/invariants.ts', import.meta.url));

/** The invariants of the properties (I1 to I5, I8, I9, I11 to I13, I42) on the tables as they are in the end. */
export function tableBreaches(final) {
  return breaches(final).map((text) => ({ rule: 'table', text }));
}
