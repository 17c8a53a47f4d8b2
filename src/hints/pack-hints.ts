import { toTuple, type Hint } from './hint.js';

/** NOTIFY takes payloads below 8,000 bytes. */
export const PAYLOAD_BYTES_MAX = 7500;
/** One flush sends no more than this; the rest becomes one hint a queue. */
export const PAYLOADS_MAX = 8;

/**
 * Hints as notification payloads. When they do not fit, the dirty partitions that are left over are told as "look at the
 * whole queue", one hint a queue: the receiver then runs one windowed reseed instead of hearing of each.
 */
export function packHints(sender: string, hints: readonly Hint[]): string[] {
  const payloads: string[] = [];
  const packer = new Packer(sender, payloads);
  const leftOver = new Set<string>();
  for (const hint of hints) {
    if (hint.kind === 'dirty' && payloads.length >= PAYLOADS_MAX) leftOver.add(hint.key);
    else packer.add(hint);
  }
  for (const key of leftOver) packer.add({ kind: 'dirty-queue', key });
  packer.close();
  return payloads;
}

export function unpackHints(payload: string): { sender: string; tuples: unknown[] } | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(payload);
  } catch {
    return null;
  }
  const { f, h } = (parsed ?? {}) as { f?: unknown; h?: unknown };
  return typeof f === 'string' && Array.isArray(h) ? { sender: f, tuples: h } : null;
}

class Packer {
  private items: string[] = [];
  private bytes: number;
  private readonly overhead: number;

  constructor(
    private readonly sender: string,
    private readonly payloads: string[],
  ) {
    this.overhead = this.wrap('').length;
    this.bytes = this.overhead;
  }

  add(hint: Hint): void {
    const item = JSON.stringify(toTuple(hint));
    const bytes = Buffer.byteLength(item) + 1;
    if (this.bytes + bytes > PAYLOAD_BYTES_MAX) this.close();
    this.items.push(item);
    this.bytes += bytes;
  }

  close(): void {
    if (this.items.length === 0) return;
    this.payloads.push(this.wrap(this.items.join(',')));
    this.items = [];
    this.bytes = this.overhead;
  }

  private wrap(items: string): string {
    return `{"f":${JSON.stringify(this.sender)},"h":[${items}]}`;
  }
}
