import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { acksFor, partitionPath, startBroker, type TestBroker } from '../support/broker.js';
import { blocksOf } from '../support/markdown.js';

/** docs/dead-letters.md: every command works as it stands, each on dead letters of its own. */
const ADDRESS = 'localhost:6632';
const run = promisify(execFile);

const commands = blocksOf('docs/dead-letters.md')
  .filter(({ language }) => language === 'sh')
  .flatMap(({ body, line }) =>
    body
      .trim()
      .split('\n')
      .map((command, i) => [line + i + 1, command] as const),
  );

describe('docs/dead-letters.md', () => {
  let broker: TestBroker;
  let letters = 0;
  beforeAll(async () => {
    broker = await startBroker();
  });
  afterAll(() => broker.stop());

  /** One more dead letter of `orders`. */
  async function letter(): Promise<{ id: string; partitionId: string; transactionId: string }> {
    letters += 1;
    const partition = `p${letters}`;
    await broker.push([{ queue: 'orders', partition, transactionId: `t${letters}`, payload: { letters } }]);
    const { body } = await broker.pop(partitionPath('orders', partition), { consumerGroup: 'billing' });
    await broker.ackBatch(acksFor(body.messages, 'dlq', 'no use'));
    const list = await broker.get(`/api/v1/dlq?queue=orders&partition=${partition}`);
    return (list.body as { messages: { id: string; partitionId: string; transactionId: string }[] })
      .messages[0];
  }

  it.each(commands)('line %i works: %s', async (_, command) => {
    const { id, partitionId, transactionId } = await letter();
    const script = command
      .replaceAll(ADDRESS, `127.0.0.1:${broker.port}`)
      .replaceAll('<id>', id)
      .replaceAll('<partitionId>', partitionId)
      .replaceAll('<transactionId>', transactionId)
      // The page was written before this test: what is purged must have failed by now.
      .replace(/&to=2026-07-01/, '');
    const { stdout } = await run('bash', ['-euo', 'pipefail', '-c', script], { timeout: 60_000 });
    const answer = JSON.parse(stdout) as Record<string, unknown>;
    if (!command.includes('-X DELETE') && !command.includes('replay')) {
      expect(answer.total).toEqual(expect.any(Number));
      return;
    }
    expect(answer.success).toBe(true);
    const acted = answer.matched ?? answer.deleted ?? answer.moved ?? answer.dlqRowRemoved ?? answer.message;
    expect([command, Boolean(acted)]).toEqual([command, true]);
  });
});
