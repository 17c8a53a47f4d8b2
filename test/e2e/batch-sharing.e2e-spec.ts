import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { acksFor, queuePath, startBroker, type PopBody, type TestBroker } from '../support/broker.js';
import { numbered } from '../support/make.js';

jest.setTimeout(30_000);

const LANES = { a: 15, b: 20, c: 75 };
const ALL = 110;

/** `batch` bounds an answer over all its partitions, `partitions` how many of them it may take from (field case A33). */
describe('how a batch is shared (A33)', () => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker();
  });
  afterAll(() => broker.stop());

  async function fill(queue: string): Promise<void> {
    for (const [partition, count] of Object.entries(LANES)) {
      await broker.push(numbered(partition, count).map((payload) => ({ queue, partition, payload })));
    }
  }

  /** Pops and acks until nothing is left; the answers in order. */
  async function drain(queue: string, query: Record<string, number>): Promise<PopBody[]> {
    const answers: PopBody[] = [];
    for (let empty = 0; empty < 2;) {
      const { status, body } = await broker.pop(queuePath(queue), { consumerGroup: 'g', ...query });
      if (status === 204) {
        empty += 1;
        continue;
      }
      empty = 0;
      answers.push(body);
      await broker.ackBatch(acksFor(body.messages));
    }
    return answers;
  }

  const runsOf = ({ messages }: PopBody) =>
    messages.map(({ partition }) => partition).filter((partition, i, all) => partition !== all[i - 1]);

  function expectAllInOrder(answers: readonly PopBody[]): void {
    const seen = answers.flatMap(({ messages }) => messages);
    expect(seen).toHaveLength(ALL);
    for (const [partition, count] of Object.entries(LANES)) {
      const own = seen.filter((message) => message.partition === partition).map(({ data }) => data);
      expect(own).toEqual(numbered(partition, count));
    }
  }

  it.each([
    { partitions: 1, batch: 10 },
    { partitions: 5, batch: 10 },
    { partitions: 1000, batch: 10 },
    { partitions: 5, batch: 40 },
    { partitions: 1000, batch: 10_000 },
  ])(
    'with $partitions partitions and a batch of $batch: bounded over all, each partition in one piece and in order',
    async (query) => {
      const queue = `share ${query.partitions} ${query.batch}`;
      await fill(queue);
      const answers = await drain(queue, query);
      expectAllInOrder(answers);
      for (const answer of answers) {
        const runs = runsOf(answer);
        expect(answer.messages.length).toBeLessThanOrEqual(query.batch);
        expect(runs.length).toBeLessThanOrEqual(query.partitions);
        expect(runs).toEqual([...new Set(runs)]);
        expect(answer.partitionsClaimed).toBe(runs.length);
      }
    },
  );

  it('takes turns: no partition with messages waits longer than the others take to be served once', async () => {
    await fill('turns');
    const answers = await drain('turns', { partitions: 5, batch: 10 });
    for (const partition of Object.keys(LANES)) {
      const rounds = answers.flatMap((answer, round) => (runsOf(answer).includes(partition) ? [round] : []));
      const gaps = rounds.map((round, i) => round - (rounds[i - 1] ?? -1));
      // One more than there are: the group's first contact takes any partition, and the ring then begins its own round.
      expect(Math.max(...gaps)).toBeLessThanOrEqual(Object.keys(LANES).length + 1);
    }
  });

  it('among five who work at once nothing is lost, repeated or out of order', async () => {
    await fill('five');
    const shares = await Promise.all(numbered('', 5).map(() => drain('five', { partitions: 5, batch: 10 })));
    const seen = shares.flat().flatMap(({ messages }) => messages.map(({ data }) => data as string));
    expect(seen.sort()).toEqual(
      Object.entries(LANES)
        .flatMap(([name, count]) => numbered(name, count))
        .sort(),
    );
  });

  it('lets one partition of an answer be acked without the others', async () => {
    await broker.push(['p', 'q'].map((partition) => ({ queue: 'apart', partition, payload: partition })));
    const { body } = await broker.pop(queuePath('apart'), { consumerGroup: 'g', partitions: 2 });
    const [first, second] = body.messages;
    await broker.ackBatch(acksFor([first]));
    await broker.ackBatch(acksFor([second], 'retry'));
    const again = await broker.pop(queuePath('apart'), { consumerGroup: 'g', partitions: 2 });
    expect(again.body.messages.map(({ data }) => data)).toEqual([second.data]);
  });
});
