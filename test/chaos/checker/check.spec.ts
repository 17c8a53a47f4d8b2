import { describe, expect, it } from '@jest/globals';
import { check, type Step } from './check.mjs';
import { type Batch, LEASE_MS, MadeUp, partitionIdOf } from './made-up.js';
import { report } from './report.mjs';

/** Two pushes, read by three groups; two transactions; everything as it should be. */
function healthy() {
  const made = new MadeUp();
  const pushes = [made.push(['m0', 'm1']), made.push(['m2', 'm3'])];
  const pops: Step[] = [];
  const acks: Step[] = [];
  for (const ids of [
    ['m0', 'm1'],
    ['m2', 'm3'],
  ]) {
    const pop = made.pop(ids);
    pops.push(pop);
    acks.push(made.ack(pop));
  }
  const autos = [
    made.pop(['m0', 'm1'], { group: 'a', autoAck: true }),
    made.pop(['m2', 'm3'], { group: 'a', autoAck: true }),
  ];
  const setBack = made.pop(['m0', 'm1', 'm2', 'm3'], { group: 's' });
  made.ack(setBack);
  made.push(['i0', 'i1', 'i2'], { queue: 'in' });
  const moves = [['i0', 'i1'], ['i2']].map((ids) =>
    made.transaction(made.pop(ids, { queue: 'in', group: 'm' })),
  );
  made.ack(made.pop(['i0>1', 'i1>1', 'i2>1'], { queue: 'out', group: 'o' }));
  return { made, pushes, pops, acks, autos, setBack, moves };
}

type Tale = ReturnType<typeof healthy>;

function rulesOf({ made }: Pick<Tale, 'made'>): string[] {
  const { violations } = check(made.steps, made.final, {});
  return [...new Set(violations.map(({ rule }) => rule))].sort();
}

const messagesOf = (step: Step) => (step.answer as Batch).messages;

describe('a healthy history', () => {
  it('passes', () => {
    expect(check(healthy().made.steps, healthy().made.final, {}).violations).toEqual([]);
  });

  it('counts its work, and fails when there was too little', () => {
    const { made } = healthy();
    const { work, violations } = check(made.steps, made.final, { pushed: 8 });
    expect(work).toMatchObject({ pushed: 7, delivered: 18, transactions: 2 });
    expect(violations.map(({ rule }) => rule)).toEqual(['enough work']);
  });

  it('may redeliver what was not acked in time, what was refused, and what an ack without an answer was about', () => {
    const made = new MadeUp();
    made.push(['m0', 'm1', 'm2']);
    made.pop(['m0', 'm1', 'm2']); // forgotten
    made.wait(LEASE_MS);
    made.ack(made.pop(['m0', 'm1', 'm2']), ['completed', 'retry', 'completed']);
    made.ack(made.pop(['m1', 'm2']), null, 'unknown');
    made.ack(made.pop(['m1', 'm2']));
    made.pop(['m0', 'm1', 'm2'], { group: 'a', autoAck: true });
    made.ack(made.pop(['m0', 'm1', 'm2'], { group: 's' }));
    expect(rulesOf({ made })).toEqual([]);
  });

  it('may redeliver everything after a seek', () => {
    const tale = healthy();
    tale.made.seek(0);
    tale.made.ack(tale.made.pop(['m0', 'm1', 'm2', 'm3'], { group: 's' }));
    expect(rulesOf(tale)).toEqual([]);
  });

  it('may repeat a push, which stores nothing, and store a copy after the window', () => {
    const tale = healthy();
    tale.made.push(['m0'], { statuses: ['duplicate'], stores: false });
    tale.made.wait(61_000);
    tale.made.store('out', ['i0>1']);
    const partition = tale.made.partition('out');
    tale.made.final.entries.at(-1)!.id = 'another id';
    tale.made.cursor('out', 'o').committed = partition.lastOffset;
    const pop = tale.made.pop(['i0>1'], { queue: 'out', group: 'o' });
    messagesOf(pop)[0].id = 'another id';
    expect(rulesOf(tale)).toEqual([]);
  });

  it('may hold an id twice in a batch, and finish the batch with either of them', () => {
    const made = new MadeUp({ dedupWindowSeconds: 0 });
    made.push(['m0', 'm1']);
    made.store('q', ['m0']);
    made.final.entries[2].id = 'the copy';
    made.push(['m2']);
    for (const group of ['g', 's', 'a']) {
      const pop = made.pop(['m0', 'm1', 'm0'], { group, autoAck: group === 'a' });
      messagesOf(pop)[2].id = 'the copy';
      if (group !== 'a') made.ack(pop);
      const next = made.pop(['m2'], { group, autoAck: group === 'a' }); // at once: no lease is in its way
      if (group !== 'a') made.ack(next);
    }
    expect(rulesOf({ made })).toEqual([]);
  });

  it('may lose what is on its way to a group that commits on delivery, and no more than that', () => {
    const tale = healthy();
    Object.assign(tale.autos[1], { outcome: 'unknown', answer: {} });
    expect(rulesOf(tale)).toEqual([]);
    tale.autos[1].batch = 1;
    expect(rulesOf(tale)).toEqual(['everything is delivered']);
  });

  it('may miss what became a dead letter, and what retention took', () => {
    const tale = healthy();
    messagesOf(tale.pops[1]).pop();
    const letter = { partitionId: partitionIdOf('q'), group: 'g', offset: 3, text: 'm3', error: '' };
    tale.made.final.deadLetters.push(letter);
    expect(rulesOf(tale)).toEqual([]);

    const made = new MadeUp({ retentionSeconds: 1 });
    made.push(['m0']);
    made.partition('q').logStart = 1;
    expect(rulesOf({ made })).toEqual([]);
  });
});

describe('a planted fault is found:', () => {
  const plants: [string, string | string[], (tale: Tale) => void][] = [
    [
      'a dropped ack',
      'nothing below an acknowledged cursor',
      ({ made }) => void made.pop(['m2', 'm3']), // after their ack was confirmed
    ],
    [
      'a dropped ack of a part',
      'nothing below an acknowledged cursor',
      ({ made, acks }) => {
        // Up to the refused one it was confirmed.
        (acks[1].acks as { status: string }[])[1].status = 'retry';
        made.ack(made.pop(['m2', 'm3']));
      },
    ],
    [
      'a swapped pair in a batch',
      ['a batch is consecutive', 'order of first deliveries'],
      ({ pops }) => void messagesOf(pops[0]).reverse(),
    ],
    [
      'a swapped pair of batches',
      'order of first deliveries',
      ({ pops }) => {
        const [first, second] = pops.map(({ answer }) => (answer as Batch).messages);
        (pops[0].answer as Batch).messages = second;
        (pops[1].answer as Batch).messages = first;
      },
    ],
    [
      'a swapped pair in the log',
      'order of pushes',
      ({ made }) => {
        const [a, b] = [1, 2].map((offset) => made.final.entries[offset]);
        [a.offset, b.offset] = [b.offset, a.offset];
        // As if handed out that way, too.
        for (const step of made.steps)
          if (step.do === 'pop' || step.do === 'ack') Object.assign(step, swapped(step));
      },
    ],
    [
      'a swapped pair of one request',
      'order inside a request',
      ({ pushes }) => {
        (pushes[0].items as unknown[]).reverse();
        (pushes[0].answer as { items: unknown[] }).items.reverse();
      },
    ],
    [
      'a double delivery to a group that commits on delivery',
      'at most once, in order',
      ({ made }) => void made.pop(['m2', 'm3'], { group: 'a', autoAck: true }),
    ],
    [
      'a double delivery under two live leases',
      'one live lease',
      ({ made, pops, acks }) => {
        made.steps.splice(made.steps.indexOf(acks[1]), 1);
        const { startUs } = acks[1];
        const second = made.pop(['m2', 'm3']);
        Object.assign(second, { startUs, endUs: startUs + 1000 });
        expect(second.startUs).toBeGreaterThan(pops[1].endUs);
      },
    ],
    [
      'a lost message, never delivered',
      'everything is delivered',
      ({ pops }) => void messagesOf(pops[1]).pop(),
    ],
    [
      'a lost message, accepted and not stored',
      ['accepted push is stored', 'queued means stored'],
      ({ made }) => void made.push(['m4'], { stores: false }),
    ],
    [
      'a lost message, left in a spool',
      'accepted push is stored',
      ({ made }) => void made.push(['m4'], { stores: false, statuses: ['buffered'] }),
    ],
    ['a lost message after a seek', 'everything is delivered', ({ made }) => void made.seek(0)],
    [
      'a delivery never pushed',
      'delivered was pushed',
      ({ made, autos }) => {
        messagesOf(autos[1]).push({ ...messagesOf(autos[1])[1], id: 'unknown', transactionId: 'unknown' });
        expect(made.steps).toContain(autos[1]);
      },
    ],
    [
      'a stored message never pushed',
      ['accepted push is stored', 'queued means stored', 'stored was pushed'],
      ({ pushes }) => void (pushes[1].items as unknown[][]).splice(1, 1, ['q', 'elsewhere', 'm3']),
    ],
    [
      'the payload of another message',
      'payload',
      ({ pops }) => void (messagesOf(pops[0])[0].wrong = '{"id":"m1"}'),
    ],
    [
      'a transaction that left half of its pushes',
      ['accepted push is stored', 'delivered was pushed', 'queued means stored', 'transactions are atomic'],
      ({ made }) => {
        const entries = made.final.entries;
        entries.splice(
          entries.findIndex(({ transactionId }) => transactionId === 'i1>1'),
          1,
        );
      },
    ],
    [
      'a transaction that was rolled back and left its pushes',
      'transactions are atomic',
      ({ moves }) => void ((moves[1].answer as { success: boolean }).success = false),
    ],
    [
      'a transaction whose acks were lost: its messages were moved twice',
      'transactions are atomic',
      ({ made, moves }) => {
        Object.assign(moves[1], { outcome: 'unknown', answer: {} });
        made.transaction(made.pop(['i2'], { queue: 'in', group: 'm' }), { attempt: 2 });
        made.ack(made.pop(['i2>2'], { queue: 'out', group: 'o' }));
      },
    ],
    [
      'a transaction whose pushes were lost',
      ['delivered was pushed', 'transactions are atomic'],
      ({ made, moves }) => {
        Object.assign(moves[1], { outcome: 'unknown', answer: {} });
        const entries = made.final.entries;
        entries.splice(
          entries.findIndex(({ transactionId }) => transactionId === 'i2>1'),
          1,
        );
      },
    ],
    [
      'an ack that counted under a lease that was taken over',
      'no ack under a lost lease',
      ({ made }) => {
        made.push(['m4']);
        const late = made.pop(['m4']);
        made.wait(LEASE_MS);
        made.pop(['m4']);
        made.ack(late);
        made.ack(made.pop(['m4'], { group: 's' }));
        made.pop(['m4'], { group: 'a', autoAck: true });
      },
    ],
    [
      'a transactionId twice inside the window',
      ['everything is delivered', 'one copy inside the window'],
      ({ made }) => {
        made.push(['m3']);
        made.final.entries.at(-1)!.id = 'the second copy';
      },
    ],
    [
      'a push stored once and answered queued twice',
      'queued means stored',
      ({ made }) => void made.push(['m3'], { stores: false }),
    ],
    [
      'a duplicate without an original',
      'a duplicate has an original',
      ({ pushes }) => void ((pushes[1].answer as { items: unknown[][] }).items[0][0] = 'duplicate'),
    ],
    ['more messages than a pop asked for', 'no more than asked for', ({ pops }) => void (pops[0].batch = 1)],
    [
      'a cursor that went back',
      'I14',
      ({ made }) => {
        made.watch();
        const cursor = made.cursor('q', 'g');
        cursor.committed = 1;
        made.watch();
        cursor.committed = 3;
      },
    ],
    [
      'a log that lost its end',
      'I6',
      ({ made }) => {
        made.watch();
        made.partition('q').lastOffset = 2;
        made.watch();
        made.partition('q').lastOffset = 3;
      },
    ],
    [
      'messages that are gone although no rule takes them',
      'I37',
      ({ made }) => {
        made.partition('q').logStart = 2;
        made.watch();
      },
    ],
    [
      'a dead letter that came twice',
      'I36',
      ({ made }) => {
        const letter = { partitionId: partitionIdOf('q'), group: 'g', offset: 3, text: 'm3', error: '' };
        made.final.deadLetters.push(letter, letter);
      },
    ],
    [
      'a dead letter that the cursor has not passed',
      'I36',
      ({ made }) => {
        const letter = { partitionId: partitionIdOf('q'), group: 'g', offset: 9, text: 'm9', error: '' };
        made.final.deadLetters.push(letter);
      },
    ],
    ['a damaged segment', 'table', ({ made }) => void made.final.faults.push('segment 0 does not open')],
    [
      'a group that never came to the end',
      'everything comes to its end',
      ({ made }) => void made.final.stuck.push('g'),
    ],
    [
      'a broker that ended by itself',
      'nobody ends by itself',
      ({ made }) => void made.add('broker', { broker: 'a', what: 'ended by itself', code: 1 }, {}),
    ],
  ];

  it.each(plants)('%s', (_, rules, plant) => {
    const tale = healthy();
    plant(tale);
    expect(rulesOf(tale)).toEqual([rules].flat());
  });

  it('messages taken too early, and unread ones taken by the rule for read ones', () => {
    const early = new MadeUp({ retentionSeconds: 1 });
    early.push(['m0']);
    early.partition('q').logStart = 1;
    early.watch();
    expect(rulesOf({ made: early })).toEqual(['I37']);

    const unread = new MadeUp({ completedRetentionSeconds: 1 });
    unread.push(['m0']);
    unread.wait(2000);
    unread.ack(unread.pop(['m0']));
    unread.pop(['m0'], { group: 'a', autoAck: true });
    unread.partition('q').logStart = 1;
    unread.watch();
    unread.ack(unread.pop(['m0'], { group: 's' }));
    expect(rulesOf({ made: unread })).toEqual(['I37']);
  });
});

describe('the report', () => {
  it('names the seed, the steps that show the violation with the faults of that time, and the life of the message', () => {
    const { made } = healthy();
    const fault = made.add('fault', { kind: 'kill a broker', target: 'a' }, {});
    made.pop(['m2', 'm3']);
    const { violations } = check(made.steps, made.final, {});
    Object.assign(fault, { startUs: 0 });
    const text = report(violations, made.steps, made.final);
    expect(text).toContain('1 violations, seed made-up');
    expect(text).toContain('== nothing below an acknowledged cursor: g was given 2 of partition of q');
    expect(text).toContain('kill a broker');
    const life = text.slice(text.indexOf('-- life of m2 in q/p'));
    expect(life.match(/ {2}push {2}/g)).toHaveLength(1);
    expect(life.match(/ {2}pop {2}/g)).toHaveLength(4);
    expect(life).toContain('offset 2, id message q m2');
    expect(life).toContain('cursor of g: 3');
  });

  it('is empty when nothing is wrong', () => {
    const { made } = healthy();
    expect(report([], made.steps, made.final)).toBe('');
  });
});

/** A step with m1 and m2 in each other's place. */
function swapped({ acks, answer }: Step): object {
  const text = JSON.stringify({ acks, answer }).replace(/m[12]\b/g, (id) => (id === 'm1' ? 'm2' : 'm1'));
  return JSON.parse(text) as object;
}
