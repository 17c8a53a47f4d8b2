import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startBroker, type TestBroker } from '../support/broker.js';

describe('the documents page', () => {
  let broker: TestBroker;
  let html: string;
  beforeAll(async () => {
    broker = await startBroker();
    html = await (await fetch(`${broker.base}/docs`)).text();
  });
  afterAll(() => broker.stop());

  const named = (text: string) => [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address);

  it('is made of files that the broker serves, and of nothing else', async () => {
    const addresses = named(html);
    expect(addresses.length).toBeGreaterThanOrEqual(5);
    for (const address of addresses) {
      const url = new URL(address, `${broker.base}/docs`);
      expect(url.origin).toBe(broker.base);
      const answer = await fetch(url);
      const bytes = await answer.arrayBuffer();
      expect([address, answer.status]).toEqual([address, 200]);
      expect(bytes.byteLength).toBeGreaterThan(10);
      expect(answer.headers.get('x-content-type-options')).toBe(address.endsWith('.json') ? null : 'nosniff');
    }
  });

  it('reads the document of this broker, wherever a proxy puts it', async () => {
    const start = await (await fetch(`${broker.base}/docs/start.js`)).text();
    expect(/url: '([^']+)'/.exec(start)![1]).toBe('openapi.json');
    expect(start).toContain('validatorUrl: null'); // or every visitor would be reported to somebody else
    for (const address of named(html)) expect(address).not.toMatch(/^(\/|\w+:)/);
  });

  it('has no code and no style in it, and lets none in', async () => {
    expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\son\w+=|\sstyle=|javascript:/i);
    const { headers } = await fetch(`${broker.base}/docs`);
    const policy = headers.get('content-security-policy')!;
    expect(policy).toMatch(/default-src 'none'/);
    expect(policy).toMatch(/frame-ancestors 'none'/);
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
  });

  it.each(['..%2Fpackage.json', 'index.html', 'swagger-ui-bundle.js.map', 'constructor', ''])(
    'does not serve %j',
    async (name) => {
      const { status, body } = await broker.get(`/docs/${name}`);
      expect(status).toBe(404);
      expect(body).toMatchObject({ code: 'not_found' });
    },
  );
});
