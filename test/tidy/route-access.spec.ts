import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isShared, ROUTE_ACCESS } from '../../src/auth/route-access.js';
import { startBroker, type TestBroker } from '../support/broker.js';
import { ROUTE_ROWS } from '../support/route-rows.js';
import { readText } from './sources.js';

/** Somebody has decided, for every route, who may call it. */
describe('the roles of routes', () => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker();
  });
  afterAll(() => broker.stop());

  it('stand in the table for each route there is, and for no other', () => {
    const reason =
      'a new route needs a row in src/auth/route-access.ts, and one in test/support/route-rows.ts';
    const routes = broker.broker.routes.list();
    expect(routes.length).toBeGreaterThan(50);
    expect({ reason, routes: Object.keys(ROUTE_ACCESS).sort() }).toEqual({ reason, routes });
  });

  it('are those of the interface, as the matrix of roles and tenants has them', () => {
    const rows = ROUTE_ROWS.map(({ route, asks, shared = false }) => [
      route,
      asks,
      shared || asks === 'public',
    ]);
    const table = Object.entries(ROUTE_ACCESS).map(([route, access]) => [
      route,
      access,
      isShared(route.split(' ')[1]),
    ]);
    const byRoute = (a: unknown[], b: unknown[]) => String(a[0]).localeCompare(String(b[0]));
    expect(table.sort(byRoute)).toEqual(rows.sort(byRoute));
  });

  it('are what docs/security.md tells', () => {
    const table = /<!-- routes by role -->\n\n([\s\S]*?)\n\n/.exec(readText('docs/security.md'))?.[1] ?? '';
    const told = table
      .split('\n')
      .slice(2)
      .flatMap((line) => {
        const [, role, routes] = line.split('|').map((cell) => cell.trim());
        return [...routes.matchAll(/`([A-Z]+) ([^`]+)`/g)].map(
          ([, method, path]) => `${method} ${path}: ${role}`,
        );
      });
    const actual = Object.entries(ROUTE_ACCESS)
      .filter(([route]) => !route.startsWith('HEAD '))
      .map(([route, access]) => `${route}: ${access}`);
    expect(told.sort()).toEqual(actual.sort());
  });
});
