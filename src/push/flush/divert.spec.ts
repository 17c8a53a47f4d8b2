import { beforeEach, describe, expect, it } from '@jest/globals';
import { BrokerError } from '../../base/errors/broker-error.js';
import type { PushSpool, SpoolMessage, SpoolTarget } from '../../base/spool/push-spool.js';
import { mintUuid } from '../../segment/uuid-v7.js';
import { Countdown } from '../countdown.js';
import { partitionTarget } from '../partition-target.js';
import { PushMessage } from '../push-message.js';
import { Divert } from './divert.js';

const away = new BrokerError('database_unavailable');

let written: string[][];
let answer: () => Promise<void>;
let held: (target: SpoolTarget) => boolean;
let isEnabled: boolean;
let health: string[];
let divert: Divert;

beforeEach(() => {
  written = [];
  answer = () => Promise.resolve();
  held = () => false;
  isEnabled = true;
  health = [];
  const spool = {
    get isEnabled() {
      return isEnabled;
    },
    diverts: (target: SpoolTarget) => held(target),
    write: (messages: readonly SpoolMessage[]) => {
      written.push(messages.map(({ transactionId }) => transactionId.toString()));
      return answer();
    },
    databaseAway: () => health.push('away'),
    databaseAnswered: () => health.push('answered'),
  };
  divert = new Divert(spool as unknown as PushSpool);
});

function message(id: string, { partition = 'p', isReplay = false } = {}): PushMessage {
  const target = partitionTarget('t', 'q', partition);
  const payload = Buffer.from('1');
  return new PushMessage(target, new Countdown(), mintUuid(1), Buffer.from(id), false, null, null, payload, {
    isReplay,
  });
}

function planned(...items: PushMessage[]) {
  return { target: items[0].target, items, bytes: 1 };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));
const verdicts = (messages: PushMessage[]) => messages.map(({ status, failure }) => failure?.code ?? status);

describe('before a flush', () => {
  it('passes on everything while nothing is claimed', () => {
    const plan = [planned(message('a')), planned(message('b', { partition: 'other' }))];
    expect(divert.before(plan)).toBe(plan);
    expect(written).toEqual([]);
  });

  it('writes what belongs to a claimed partition, in order, and sends the rest', async () => {
    const messages = [message('a'), message('b')];
    const other = planned(message('c', { partition: 'other' }));
    held = ({ partition }) => partition === 'p';
    expect(divert.before([planned(...messages), other])).toEqual([other]);
    await settled();
    expect(written).toEqual([['a', 'b']]);
    expect(verdicts(messages)).toEqual(['buffered', 'buffered']);
  });

  it('sends a replay in any case: the spool is where it comes from', () => {
    const replay = message('old', { isReplay: true });
    held = () => true;
    expect(divert.before([planned(replay, message('new'))])).toEqual([
      { ...planned(replay), items: [replay] },
    ]);
    expect(written).toEqual([['new']]);
  });

  it('fails with the error of the spool when that cannot write', async () => {
    held = () => true;
    answer = () => Promise.reject(new BrokerError('spool_failed'));
    const messages = [message('a')];
    divert.before([planned(...messages)]);
    await settled();
    expect(verdicts(messages)).toEqual(['spool_failed']);
  });

  it('without a spool sends everything', () => {
    const plan = [planned(message('a'))];
    expect(new Divert().before(plan)).toBe(plan);
  });
});

describe('after a flush', () => {
  it('that found no database writes its messages', async () => {
    const messages = [message('a'), message('b')];
    divert.after(messages, away);
    await settled();
    expect(written).toEqual([['a', 'b']]);
    expect(verdicts(messages)).toEqual(['buffered', 'buffered']);
    expect(health).toEqual(['away']);
  });

  it.each([
    ['overloaded', undefined],
    ['statement_timeout', undefined],
    ['sql_failed', undefined],
    ['internal', undefined],
    ['pool', new Error('timeout exceeded when trying to connect')],
    ['pool', Object.assign(new Error('sorry, too many clients already'), { code: '53300' })],
    ['database_unavailable', Object.assign(new Error('read-only transaction'), { code: '25006' })],
  ] as const)(
    'that failed with %s (%s) fails its messages as before: that is no outage',
    async (code, cause) => {
      const messages = [message('a')];
      divert.after(messages, new BrokerError(code, undefined, undefined, { cause }));
      await settled();
      expect(written).toEqual([]);
      expect(verdicts(messages)).toEqual([code]);
      expect(health).toEqual([]);
    },
  );

  it('fails replays, whose messages are safe, and writes the others', async () => {
    const messages = [message('old', { isReplay: true }), message('new')];
    divert.after(messages, away);
    await settled();
    expect(written).toEqual([['new']]);
    expect(verdicts(messages)).toEqual(['database_unavailable', 'buffered']);
  });

  it('fails with the error of the database when the spool cannot write either', async () => {
    answer = () => Promise.reject(new BrokerError('spool_failed'));
    const messages = [message('a')];
    divert.after(messages, away);
    await settled();
    expect(verdicts(messages)).toEqual(['database_unavailable']);
  });

  it.each(['switched off', 'not there'])('with the spool %s fails as before', async (how) => {
    isEnabled = false;
    const messages = [message('a')];
    (how === 'not there' ? new Divert() : divert).after(messages, away);
    await settled();
    expect(written).toEqual([]);
    expect(verdicts(messages)).toEqual(['database_unavailable']);
  });

  it('has followers share the verdict', async () => {
    const leader = message('a');
    const follower = message('a');
    leader.lead(follower);
    divert.after([leader], away);
    await settled();
    expect(verdicts([leader, follower])).toEqual(['buffered', 'buffered']);
    expect(follower.resultId).toEqual(leader.messageId);
  });
});
