import { describe, expect, it } from '@jest/globals';
import { serverArguments } from './server-process.js';

function settingsOf(args: string[]): Record<string, string> {
  const pairs = args.filter((_, i) => args[i - 1] === '-c').map((pair) => pair.split('='));
  return Object.fromEntries(pairs.map(([name, ...value]) => [name, value.join('=')]));
}

describe('serverArguments', () => {
  const durable = { port: 16632, durable: true, extra: {} };

  it('keeps the server on the loopback interface, without a socket file', () => {
    const args = serverArguments('/data/pg', durable);
    expect(args.slice(0, 2)).toEqual(['-D', '/data/pg']);
    expect(settingsOf(args)).toMatchObject({
      listen_addresses: '127.0.0.1',
      unix_socket_directories: '',
      port: '16632',
      max_connections: '200',
      jit: 'off',
      timezone: 'UTC',
    });
  });

  it('does not touch durability unless asked to', () => {
    const names = Object.keys(settingsOf(serverArguments('/data/pg', durable)));
    expect(names.filter((name) => /fsync|synchronous_commit|full_page/.test(name))).toEqual([]);
    expect(settingsOf(serverArguments('/data/pg', { ...durable, durable: false }))).toMatchObject({
      fsync: 'off',
      synchronous_commit: 'off',
    });
  });

  it('lets further settings win', () => {
    const args = serverArguments('/data/pg', {
      ...durable,
      extra: { max_connections: '300', work_mem: '8MB' },
    });
    expect(settingsOf(args)).toMatchObject({ max_connections: '300', work_mem: '8MB' });
  });
});
