/**
 * Microseconds since the epoch, as PostgreSQL's timestamptz counts them, to `YYYY-MM-DDTHH:MM:SS.ffffffZ`.
 * A JavaScript Date would drop the last three digits.
 */
export function isoMicros(epochMicros: number): string {
  const ms = Math.floor(epochMicros / 1000);
  const microsPart = epochMicros - ms * 1000;
  const iso = new Date(ms).toISOString();
  return `${iso.slice(0, -1)}${String(microsPart).padStart(3, '0')}Z`;
}

/** The same as a statement parameter, with PostgreSQL's words for the infinities. */
export function timestampText(epochMicros: number): string {
  if (epochMicros === -Infinity) return '-infinity';
  if (epochMicros === Infinity) return 'infinity';
  return isoMicros(epochMicros);
}
