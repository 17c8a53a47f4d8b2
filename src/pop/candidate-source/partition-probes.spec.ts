import { beforeEach, describe, expect, it } from '@jest/globals';
import { BrokerError } from '../../base/errors/broker-error.js';
import type { RawSqlService } from '../../raw-sql/raw-sql.service.js';
import type { PopArgs } from '../pop.procedures.js';
import { PartitionProbes } from './partition-probes.js';

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Statements wait until the spec answers them. */
class FakeSql {
  readonly asked: string[][] = [];
  private readonly pending: { resolve(rows: boolean[]): void; reject(error: Error): void }[] = [];

  call(_: unknown, pops: readonly PopArgs[]): Promise<boolean[]> {
    this.asked.push(pops.map(({ partition }) => partition));
    return new Promise((resolve, reject) => this.pending.push({ resolve, reject }));
  }

  async answer(rows: boolean[] | Error): Promise<void> {
    const { resolve, reject } = this.pending.shift()!;
    if (rows instanceof Error) reject(rows);
    else resolve(rows);
    await turn();
    await turn(); // the next one leaves at the end of a turn
  }
}

let sql: FakeSql;
let probes: PartitionProbes;
const askOf = (partition: string, group: string) => probes.ask({ partition, group } as PopArgs);
const ask = (partition: string) => askOf(partition, 'g');

beforeEach(() => {
  sql = new FakeSql();
  probes = new PartitionProbes(sql as unknown as RawSqlService);
});

describe('PartitionProbes', () => {
  it('asks for all that look in the same turn at once, and gives each its answer', async () => {
    const answers = ['a', 'b', 'c'].map(ask);
    await turn();
    expect(sql.asked).toEqual([['a', 'b', 'c']]);
    await sql.answer([true, false, true]);
    expect(await Promise.all(answers)).toEqual([true, false, true]);
  });

  it('asks once for all that want to know the same', async () => {
    const answers = [ask('a'), ask('a'), askOf('a', 'h'), ask('a')];
    await turn();
    expect(sql.asked).toEqual([['a', 'a']]);
    await sql.answer([true, false]);
    expect(await Promise.all(answers)).toEqual([true, true, false, true]);
  });

  it('never gives an answer that is older than its question', async () => {
    const first = ask('a');
    await turn();
    const again = ask('a');
    await turn();
    expect(sql.asked).toEqual([['a'], ['a']]);
    await sql.answer([false]);
    await sql.answer([true]);
    expect(await Promise.all([first, again])).toEqual([false, true]);
  });

  it('has two statements under way, and those that come meanwhile share the next', async () => {
    for (const partition of ['a', 'b']) {
      void ask(partition);
      await turn();
    }
    const others = ['c', 'd', 'e'].map(ask);
    await turn();
    expect(sql.asked).toHaveLength(2);
    await sql.answer([true]);
    expect(sql.asked[2]).toEqual(['c', 'd', 'e']);
    await sql.answer([true]);
    await sql.answer([false, true, false]);
    expect(await Promise.all(others)).toEqual([false, true, false]);
  });

  it('asks about at most five hundred partitions in one statement', async () => {
    const answers = Array.from({ length: 1200 }, (_, i) => ask(`p${i}`));
    await turn();
    await sql.answer(new Array<boolean>(500).fill(false));
    await sql.answer(new Array<boolean>(500).fill(false));
    await sql.answer(new Array<boolean>(200).fill(true));
    expect(sql.asked.map((names) => names.length)).toEqual([500, 500, 200]);
    expect((await Promise.all(answers)).filter(Boolean)).toHaveLength(200);
  });

  it('fails those whose statement failed, and goes on', async () => {
    const failed = Promise.allSettled(['a', 'b'].map(ask));
    await turn();
    await sql.answer(new BrokerError('pool'));
    expect(await failed).toMatchObject([{ reason: { code: 'pool' } }, { reason: { code: 'pool' } }]);
    const next = ask('c');
    await turn();
    await sql.answer([true]);
    expect(await next).toBe(true);
  });
});
