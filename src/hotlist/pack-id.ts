const notHex = 16;
const hexDigits = new Uint8Array(128).fill(notHex);
for (let digit = 0; digit < 16; digit++) {
  hexDigits[digit.toString(16).charCodeAt(0)] = digit;
  hexDigits[digit.toString(16).toUpperCase().charCodeAt(0)] = digit;
}
const bytes = new Array<number>(16).fill(0);

/**
 * A UUID, in any case, as its 16 bytes in a one-byte string: half the memory of its text, and one spelling. Anything
 * else stays as it is. By hand, since it runs once a candidate and Buffer takes four times as long.
 */
export function packId(id: string): string {
  if (id.length !== 36) return id;
  let seen = 0;
  let filled = 0;
  for (let at = 0; at < 36; at += 2) {
    if (at === 8 || at === 13 || at === 18 || at === 23) {
      if (id[at] !== '-') return id;
      at++;
    }
    const high = hexDigits[id.charCodeAt(at)] ?? notHex;
    const low = hexDigits[id.charCodeAt(at + 1)] ?? notHex;
    seen |= high | low;
    bytes[filled++] = (high << 4) | low;
  }
  return seen >= notHex ? id : String.fromCharCode(...bytes);
}
