import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parsePostmasterPid, runningServer } from './postmaster-pid.js';

describe('parsePostmasterPid', () => {
  it('reads a running server', () => {
    const text = '7353\n/data/pg\n1796102257\n16632\n\n127.0.0.1\n  1234567     65538\nready   \n';
    expect(parsePostmasterPid(text)).toEqual({ pid: 7353, port: 16632, status: 'ready' });
  });

  it('reads a server that has only just begun', () => {
    expect(parsePostmasterPid('7353\n/data/pg\n1796102257\n')).toEqual({
      pid: 7353,
      port: null,
      status: null,
    });
  });

  it('reads a stand-alone backend', () => {
    expect(parsePostmasterPid('-7353\n/data/pg\n')).toMatchObject({ pid: 7353 });
  });

  it('gives nothing for a file without a number', () => {
    expect(parsePostmasterPid('')).toBeNull();
    expect(parsePostmasterPid('postgres\n')).toBeNull();
  });
});

describe('runningServer', () => {
  let pgData: string;
  beforeEach(() => {
    pgData = mkdtempSync(join(tmpdir(), 'postmaster-'));
  });
  afterEach(() => rmSync(pgData, { recursive: true }));

  const note = (pid: number) => writeFileSync(join(pgData, 'postmaster.pid'), `${pid}\n${pgData}\n1\n1\n`);

  it('finds none without a file', () => {
    expect(runningServer(pgData)).toEqual({ kind: 'none' });
  });

  it('finds a file stale whose process is gone', () => {
    note(2 ** 30);
    expect(runningServer(pgData)).toEqual({ kind: 'stale' });
  });

  it('finds a file stale whose number belongs to a process that works elsewhere', () => {
    note(process.pid);
    expect(runningServer(pgData).kind).toBe(process.platform === 'linux' ? 'stale' : 'unknown');
  });
});
