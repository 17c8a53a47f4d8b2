import { describe, expect, it } from '@jest/globals';
import { logAckByHashV1, logAckMultiV1 } from './ack.procedures.js';

describe('logAckByHashV1', () => {
  const outcome = { ok: true, acked: 0, noopHashes: [], staleHashes: [], unresolvedHashes: [] };

  it('refuses an offset that a number cannot hold exactly, instead of rounding it', () => {
    expect(logAckByHashV1.row([{ ...outcome, off: 2 ** 53 - 1 }])).toMatchObject({ off: 2 ** 53 - 1 });
    expect(() => logAckByHashV1.row([{ ...outcome, off: 2 ** 53 }])).toThrow(
      expect.objectContaining({ code: 'offset_too_large' }),
    );
  });

  it('takes a refusal, which has no offset', () => {
    expect(logAckByHashV1.row([{ ok: false, error: 'consumer not found' }])).toEqual({
      ok: false,
      error: 'consumer not found',
    });
  });

  it('sends one array element per hash', () => {
    const args = { partitionId: 'p', group: 'g', worker: 'w' };
    const [, , , hashes] = logAckByHashV1.values({
      ...args,
      hashes: Buffer.alloc(48, 1),
      statuses: ['completed', 'retry', 'dlq'],
    });
    // Binary arrays: the element count stands at byte 12.
    expect((hashes as Buffer).readInt32BE(12)).toBe(3);
  });
});

describe('logAckMultiV1', () => {
  it('unwraps the results', () => {
    expect(logAckMultiV1.row([{ ok: true, results: [{ ok: true }, { ok: false }] }])).toEqual([
      { ok: true },
      { ok: false },
    ]);
  });
});
