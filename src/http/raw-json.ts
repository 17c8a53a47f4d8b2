/** JSON text that goes into an answer as it is: a payload parsed and written again would lose its spelling. */
export class RawJson {
  constructor(readonly text: string) {}
}

/**
 * As JSON.stringify, with every RawJson in place as its text. For plain objects, arrays and scalars; nests as deep as
 * an answer of ours does, never as deep as a payload.
 */
export function renderJson(value: unknown): string {
  if (value instanceof RawJson) return value.text;
  if (Array.isArray(value)) return `[${value.map((item) => renderJson(item ?? null)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members: string[] = [];
  for (const [key, member] of Object.entries(value)) {
    if (member !== undefined) members.push(`${JSON.stringify(key)}:${renderJson(member)}`);
  }
  return `{${members.join(',')}}`;
}
