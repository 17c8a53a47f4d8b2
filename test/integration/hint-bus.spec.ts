import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { HintListener } from '../../src/hints/hint-bus.js';
import type { Hint } from '../../src/hints/hint.js';
import { NotifyBus } from '../../src/hints/notify.bus.js';
import type { DatabaseOptions } from '../../src/raw-sql/database-options.js';
import { Proxy } from '../chaos/proxy.mjs';
import { createTestDatabase, type TestDatabase } from '../support/database.js';
import { waitFor } from '../support/wait-for.js';

class Listener implements HintListener {
  readonly hints: Hint[] = [];
  reconnects = 0;

  heard(hint: Hint): void {
    this.hints.push(hint);
  }

  reconnected(): void {
    this.reconnects++;
  }
}

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

function busOver(url: string): NotifyBus {
  const options: DatabaseOptions = {
    ...{ url, host: '', port: 0, user: '', password: '', database: '', ssl: false, directUrl: null },
    ...{ sslRejectUnauthorized: true, poolSize: 1, poolWaitMs: 2000, poolWaitersMax: 1, pooled: false },
    ...{ statementTimeoutMs: 30_000, namedStatements: true },
  };
  return new NotifyBus(options);
}

describe('two brokers that tell each other over PostgreSQL', () => {
  let wire: Proxy;
  let far: NotifyBus;
  let near: NotifyBus;
  let heardFar: Listener;
  let heardNear: Listener;

  beforeEach(async () => {
    const url = new URL(db.url);
    wire = await Proxy.start(Number(url.port));
    url.host = `127.0.0.1:${wire.port}`;
    [far, near] = [busOver(url.href), busOver(db.url)];
    [heardFar, heardNear] = [new Listener(), new Listener()];
    await far.start(heardFar);
    await near.start(heardNear);
  });

  afterEach(async () => {
    wire.set('pass');
    await Promise.all([far.stop(), near.stop()]);
    await wire.stop();
  });

  const mark: Hint = { kind: 'dirty', key: 'tenant\u001fq', partition: 'p' };
  const news: Hint = { kind: 'dropped', key: 'tenant\u001fq' };

  it('hear each other, and not themselves', async () => {
    await far.publish([mark]);
    await near.publish([news]);
    await waitFor(() => heardNear.hints.length > 0 && heardFar.hints.length > 0, {
      within: 10_000,
      what: 'both to hear',
    });
    expect(heardNear.hints).toEqual([mark]);
    expect(heardFar.hints).toEqual([news]);
  });

  it('wait for no answer for ever: marks are dropped, and news follow when the wire is back', async () => {
    wire.set('silence'); // nothing is refused or closed; statements simply get no answer
    const given = far.publish([mark, news]);
    await waitFor(given, { within: 20_000, what: 'the hints to be given up' });
    expect(far.stats()).toMatchObject({ isConnected: false, dropped: 1 });

    wire.set('cut'); // what is still on its way does not arrive late
    wire.set('pass');
    await waitFor(() => heardNear.hints.length > 0, { within: 30_000, what: 'the news to arrive' });
    expect(heardNear.hints).toEqual([news]);
    await waitFor(() => heardFar.reconnects === 1, {
      within: 10_000,
      what: 'the far one to look for itself',
    });
  });
});
