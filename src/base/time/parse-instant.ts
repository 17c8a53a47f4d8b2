const ISO =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(?:(Z)|([+\- ])(\d{2}):?(\d{2})?)?)?$/i;
const MINUTE_MICROS = 60_000_000;
const OFFSET_MINUTES_MAX = 15 * 60;

/**
 * An ISO 8601 date or time as microseconds since the epoch; null for any other text, and for a date that does not
 * exist. Without a zone it is UTC. A blank before the offset is read as `+`, which is what a query string makes of a
 * plus that was not encoded. Digits below the microsecond are dropped.
 */
export function parseInstant(text: string): number | null {
  const match = ISO.exec(text.trim());
  if (!match) return null;
  const [, date, time = '00:00', seconds = '00', fraction = '', , sign, hours = '0', minutes = '0'] = match;
  const ms = Date.parse(`${date}T${time}:${seconds}Z`);
  // Date.parse takes 24:00 and, in some engines, the 31st of February.
  if (Number.isNaN(ms) || !new Date(ms).toISOString().startsWith(date)) return null;
  const offsetMinutes = Number(hours) * 60 + Number(minutes);
  if (Number(minutes) > 59 || offsetMinutes > OFFSET_MINUTES_MAX) return null;
  const micros = ms * 1000 + Number(fraction.padEnd(6, '0').slice(0, 6));
  return micros - (sign === '-' ? -1 : 1) * offsetMinutes * MINUTE_MICROS;
}
