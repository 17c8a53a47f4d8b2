import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { BrokerError } from '../base/errors/broker-error.js';
import type { PushReplay, SpoolMessage } from '../base/spool/push-spool.js';
import { SqlStatementError } from '../raw-sql/sql-failure.js';
import { mintUuid } from '../segment/uuid-v7.js';
import { realDisk } from './disk.js';
import { FileReplay, type ReplayOutcome } from './file-replay.js';
import { keepApart } from './quarantine.js';
import { encodeRecord } from './spool-record.js';
import type { SpoolFile } from './spool-file.js';

let directory: string;
let batches: string[][];
let stored: string[];
/** What the database says to a message. */
let verdict: (id: string, batch: readonly string[]) => BrokerError | null;
let goOn: () => boolean;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'file-replay-'));
  batches = [];
  stored = [];
  verdict = () => null;
  goOn = () => true;
});
afterEach(() => rmSync(directory, { recursive: true }));

const refused = new SqlStatementError('22P02', 'QPUSH: not this', null);
const away = new BrokerError('database_unavailable');

const push: PushReplay = {
  replay: (messages: readonly SpoolMessage[]) => {
    const ids = messages.map(({ transactionId }) => transactionId.toString());
    batches.push(ids);
    return Promise.resolve(ids.map((id) => verdict(id, ids)));
  },
};

function file(...ids: string[]): SpoolFile {
  const records = ids.flatMap((id) =>
    id === 'damaged'
      ? [Buffer.from([3, 0, 0, 0]), Buffer.from('{x}')]
      : encodeRecord({
          target: { tenant: 't', queue: 'q', partition: `p-${id}` },
          messageId: mintUuid(1),
          transactionId: Buffer.from(id),
          ...{ traceId: null, producerSub: null, headers: null, encrypted: false },
          payload: Buffer.from('1'),
        }),
  );
  const path = join(directory, '0000000001000-00000000.buf');
  writeFileSync(path, Buffer.concat(records));
  return {
    path,
    name: '0000000001000-00000000.buf',
    events: ids.length,
    bytes: statSync(path).size,
    writtenAtMs: 1000,
  };
}

function attempt(replay: FileReplay): Promise<ReplayOutcome> {
  const onStored = ({ transactionId }: SpoolMessage) => void stored.push(transactionId.toString());
  return replay.attempt({ goOn: () => goOn(), onStored });
}

describe('FileReplay', () => {
  it('stores a file in batches, in order', async () => {
    const replay = new FileReplay(file('a', 'b', 'c', 'd', 'e'), push, 2);
    expect(await attempt(replay)).toBe('stored');
    expect(batches).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
    expect(stored).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('stops at once when the database is away, and goes on with what is left', async () => {
    const replay = new FileReplay(file('a', 'b', 'c', 'd'), push, 2);
    verdict = (id) => (id === 'c' ? away : null);
    expect(await attempt(replay)).toBe('away');
    expect(stored).toEqual(['a', 'b', 'd']);
    verdict = () => null;
    batches = [];
    expect(await attempt(replay)).toBe('stored');
    expect(batches).toEqual([['c']]);
    expect(replay.attempts).toBe(0);
  });

  it('asks again for one alone, since its neighbour in the segment may be the one that is refused', async () => {
    const replay = new FileReplay(file('a', 'bad', 'c'), push, 10);
    verdict = (_, batch) => (batch.includes('bad') ? refused : null);
    expect(await attempt(replay)).toBe('poisoned');
    expect(batches).toEqual([['a', 'bad', 'c'], ['a'], ['bad'], ['c']]);
    expect(stored).toEqual(['a', 'c']);
    expect([...replay.poison]).toEqual([[1, { tenant: 't', queue: 'q', partition: 'p-bad' }]]);
    expect(replay.attempts).toBe(1);

    batches = [];
    expect(await attempt(replay)).toBe('poisoned');
    expect(batches).toEqual([['bad']]);
    expect(replay.attempts).toBe(2);
  });

  it('counts a record that cannot be read as one that cannot be stored', async () => {
    const replay = new FileReplay(file('a', 'damaged', 'b'), push, 10);
    expect(await attempt(replay)).toBe('poisoned');
    expect(stored).toEqual(['a', 'b']);
    expect([...replay.poison]).toEqual([[1, null]]);
  });

  it.each([
    ['40001', 'away'],
    ['40P01', 'away'],
    ['57P03', 'away'],
    ['53100', 'away'],
    ['08006', 'away'],
    ['58030', 'away'],
    [undefined, 'away'],
    ['22P02', 'poisoned'],
    ['23514', 'poisoned'],
    ['QMULT', 'poisoned'],
    ['42501', 'poisoned'],
  ])('takes SQLSTATE %s for %s', async (sqlState, outcome) => {
    verdict = () => new SqlStatementError(sqlState, 'no', null);
    expect(await attempt(new FileReplay(file('a'), push, 1))).toBe(outcome);
  });

  it.each(['overloaded', 'pool', 'statement_timeout', 'database_unavailable', 'queue_paused'] as const)(
    'tries again later after %s',
    async (code) => {
      verdict = () => new BrokerError(code);
      expect(await attempt(new FileReplay(file('a'), push, 1))).toBe('away');
    },
  );

  it('begins no further batch when told to stop', async () => {
    const replay = new FileReplay(file('a', 'b', 'c'), push, 1);
    goOn = () => batches.length < 2;
    expect(await attempt(replay)).toBe('stopped');
    expect(stored).toEqual(['a', 'b']);
    goOn = () => true;
    expect(await attempt(replay)).toBe('stored');
    expect(stored).toEqual(['a', 'b', 'c']);
  });
});

describe('keepApart', () => {
  it('copies what could not be stored, readable or not, and nothing else', async () => {
    const whole = file('a', 'bad', 'c', 'damaged');
    const kept = await keepApart(
      whole,
      new Map([
        [1, null],
        [3, null],
      ]),
      directory,
      realDisk,
    );
    expect(kept).toMatchObject({ events: 2, path: join(directory, 'failed', whole.name) });
    expect(readFileSync(kept.path)).toEqual(
      Buffer.concat([
        readFileSync(whole.path).subarray(...recordAt(whole.path, 1)),
        Buffer.from([3, 0, 0, 0]),
        Buffer.from('{x}'),
      ]),
    );
    expect(kept.bytes).toBe(statSync(kept.path).size);
  });
});

/** Where a record stands in a file, its length included. */
function recordAt(path: string, index: number): [number, number] {
  const bytes = readFileSync(path);
  let at = 0;
  for (let i = 0; i < index; i++) at += 4 + bytes.readUInt32LE(at);
  return [at, at + 4 + bytes.readUInt32LE(at)];
}
