/**
 * Microseconds since the epoch to `YYYY-MM-DDTHH:MM:SS.mmmZ`, the form of administrative reads. Cut, not rounded: a
 * rounded time could lie ahead of its event.
 */
export function isoMillis(epochMicros: number): string {
  return new Date(Math.floor(epochMicros / 1000)).toISOString();
}
