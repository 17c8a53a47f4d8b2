export const DEFAULT_SECONDS = 60;
/** As long as a pop may ask for; a longer wish is granted this much, and the answer says until when. */
export const SECONDS_MAX = 7 * 24 * 3600;

/** `{"seconds":n}` takes few bytes; nothing longer is worth parsing. */
export const BODY_BYTES_MAX = 4096;

/**
 * How long from now the lease shall last. Lenient, unlike other bodies (http 3.6): clients send `{}` or nothing at all,
 * and losing a lease over the body of its renewal would cost a redelivery. What is not a whole number means 60.
 */
export function parseExtendBody(body: Buffer): number {
  if (body.length === 0 || body.length > BODY_BYTES_MAX) return DEFAULT_SECONDS;
  let parsed: unknown;
  try {
    parsed = JSON.parse(body.toString());
  } catch {
    return DEFAULT_SECONDS;
  }
  const seconds: unknown = (parsed as { seconds?: unknown } | null)?.seconds;
  if (typeof seconds !== 'number' || !Number.isInteger(seconds)) return DEFAULT_SECONDS;
  return Math.min(Math.max(seconds, 1), SECONDS_MAX);
}
