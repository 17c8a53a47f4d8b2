import { randomBytes } from 'node:crypto';

/**
 * JSON payloads of about `bytes` each, as text before and after the sequence number and the time that the generator
 * writes into every message. `random`: base64 of random bytes, which no compressor shrinks below three quarters.
 */
export function payloadMaker(bytes, kind) {
  const pool = Array.from({ length: 512 }, () => {
    const filler = Math.max(0, bytes - 40);
    if (kind === 'repetitive') return 'abcdefghij'.repeat(Math.ceil(filler / 10)).slice(0, filler);
    return randomBytes(Math.ceil(filler * 0.75))
      .toString('base64')
      .slice(0, filler);
  });
  let at = 0;
  return (seq, micros) => `{"s":${seq},"t":${micros},"d":"${pool[at++ & 511]}"}`;
}
