import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { BrokerLock, formatBrokerPid, parseBrokerPid } from './broker-lock.js';
import { processAt } from './process-identity.js';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'broker-lock-'));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

describe('BrokerLock', () => {
  it('is held by one at a time, free again after release, and leaves nothing behind', () => {
    const lock = BrokerLock.acquire(dataDir);
    expect(() => BrokerLock.acquire(dataDir)).toThrow(
      new RegExp(`Another broker \\(process ${process.pid}\\) already uses .*QUEEN_DATA_DIR`),
    );
    lock.assertHeld();
    lock.release();
    BrokerLock.acquire(dataDir).release();
    expect(readdirSync(dataDir)).toEqual([]);
  });

  it.each([
    ['a process that is gone', formatBrokerPid({ pid: 2 ** 30, startedAt: null })],
    ['a file without a number', ''],
  ])('takes over from %s', (_, content) => {
    writeFileSync(join(dataDir, 'broker.pid'), content);
    const lock = BrokerLock.acquire(dataDir);
    expect(parseBrokerPid(readFileSync(join(dataDir, 'broker.pid'), 'utf8'))).toEqual(processAt(process.pid));
    lock.release();
    expect(readdirSync(dataDir)).toEqual([]);
  });

  (process.platform === 'linux' ? it : it.skip)(
    'takes over when the number now belongs to another process',
    () => {
      writeFileSync(join(dataDir, 'broker.pid'), `${process.pid}\nan-earlier-boot/17\n`);
      BrokerLock.acquire(dataDir).release();
    },
  );

  it('notices, and leaves alone, a file that is no longer its own', () => {
    const lock = BrokerLock.acquire(dataDir);
    const path = join(dataDir, 'broker.pid');
    writeFileSync(path, '1\nother\n');
    expect(() => lock.assertHeld()).toThrow(/taken over by another broker/);
    lock.release();
    expect(readFileSync(path, 'utf8')).toBe('1\nother\n');
  });
});
