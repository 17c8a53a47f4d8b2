import type { JSONWebKeySet } from 'jose';

const KEY_SET_BYTES_MAX = 1024 * 1024;

export type FetchKeySet = () => Promise<JSONWebKeySet>;

/**
 * Reads a JWKS over HTTP(S), within a time and a size.
 * @throws Error that says why there is none
 */
export async function fetchKeySet(url: string, timeoutMs: number): Promise<JSONWebKeySet> {
  // A redirect could lead anywhere, from https to http for one.
  const response = await fetch(url, {
    redirect: 'error',
    headers: { accept: 'application/json' },
    signal: AbortSignal.timeout(timeoutMs),
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`it answered ${response.status}`);
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk as Uint8Array);
    if ((bytes += (chunk as Uint8Array).length) > KEY_SET_BYTES_MAX) {
      throw new Error(`it is larger than ${KEY_SET_BYTES_MAX} bytes`);
    }
  }
  const value = JSON.parse(Buffer.concat(chunks).toString()) as { keys?: unknown } | null;
  if (!Array.isArray(value?.keys)) throw new Error('it is no key set: there is no list "keys"');
  return value as JSONWebKeySet;
}
