import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { BrokerProcess } from '../support/broker-process.js';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { waitFor } from '../support/wait-for.js';

/** The log as a collector of logs meets it: standard output of the real process. */

interface Line {
  level: string;
  time: string;
  context?: string;
  msg: string;
  requestId?: string;
  code?: string;
  stack?: string;
}

const KEY = 'c0ffee'.repeat(10) + 'cafe';

describe('the log of a broker', () => {
  let db: TestDatabase;
  let broker: (BrokerProcess & { port: number }) | undefined;
  beforeAll(async () => {
    db = await createTestDatabase();
  });
  afterEach(() => broker?.end());
  afterAll(() => db.drop());

  const start = async (settings: Record<string, string>) =>
    (broker = await BrokerProcess.start({ DATABASE_URL: db.url, ...settings }));

  /** Each line of it; fails when one is not JSON. */
  const linesOf = ({ lines }: BrokerProcess) =>
    lines
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line);

  it('is JSON from the first line to the last, without a secret at any level', async () => {
    const process = await start({ LOG_LEVEL: 'trace', QUEEN_ENCRYPTION_KEY: KEY });
    expect((await fetch(`http://127.0.0.1:${process.port}/health`)).status).toBe(200);
    process.kill('SIGTERM');
    await waitFor(process.exit, { within: 30_000, what: 'the broker to exit' });
    const lines = linesOf(process);
    expect(lines.length).toBeGreaterThan(10);
    for (const line of lines) {
      expect(line).toMatchObject({
        level: expect.stringMatching(/^(trace|debug|info|warn|error|fatal)$/),
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        msg: expect.any(String),
      });
    }
    expect(lines.map(({ msg }) => msg)).toEqual(
      expect.arrayContaining([`listening on 127.0.0.1:${process.port}`, 'SIGTERM: draining', 'stopped']),
    );
    const { password } = new URL(db.url);
    for (const secret of [KEY, ...(password.length >= 6 ? [password] : [])]) {
      expect(process.lines.includes(secret)).toBe(false);
    }
  }, 120_000);

  it('warns about a setting that nobody knows, with the nearest one and without its value', async () => {
    const process = await start({ QUEEN_HOTLST: 'opensesame' });
    expect(linesOf(process)).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        msg: 'QUEEN_HOTLST is not a setting of this broker and has no effect; did you mean QUEEN_HOTLIST?',
      }),
    );
    expect(process.lines).not.toContain('opensesame');
  }, 120_000);

  it('names the request of a failure, and writes one line of many that are alike', async () => {
    const process = await start({});
    await db.query('alter function queen.log_pop_specific_v1 rename to log_pop_gone');
    try {
      for (let i = 0; i < 5; i++) {
        const answer = await fetch(`http://127.0.0.1:${process.port}/api/v1/pop/queue/q/partition/p`, {
          headers: { 'x-request-id': `request-${i}` },
        });
        expect(answer.status).toBe(500);
      }
    } finally {
      await db.query('alter function queen.log_pop_gone rename to log_pop_specific_v1');
    }
    const failures = () => linesOf(process).filter(({ requestId }) => requestId !== undefined);
    await waitFor(() => failures().length > 0, { within: 10_000, what: 'a line about the failure' });
    process.kill('SIGTERM');
    await waitFor(process.exit, { within: 30_000, what: 'the broker to exit' });
    expect(failures()).toEqual([
      expect.objectContaining({
        level: 'error',
        requestId: 'request-0',
        code: 'sql_failed',
        msg: expect.stringMatching(/^GET \/api\/v1\/pop\/queue\/:queue\/partition\/:partition: pop failed/),
        stack: expect.stringMatching(/\n\s+at /),
      }),
    ]);
  }, 120_000);

  it('is text for people where that is asked for', async () => {
    const process = await start({ LOG_FORMAT: 'text' });
    expect(process.lines).toMatch(/^\d\d:\d\d:\d\d info {2}Broker listening on 127\.0\.0\.1:\d+$/m);
  }, 120_000);
});
