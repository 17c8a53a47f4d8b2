import { expect } from '@jest/globals';
import fc from 'fast-check';
import { hashTransactionIds } from '../../src/segment/transaction-hash.js';
import { pushMultiCall, pushOneCall, run, scalar, type Pushed } from '../support/make.js';
import type { Model } from './broker.model.js';
import { promiseFor, push, stampSegment, type SegmentPlan } from './model.push.js';
import type { Snapshot } from './snapshot.js';
import { expectUntouched, named, Step, type Real, type Target } from './step.js';
import { target } from './choices.js';

/** A text of a message: a new one, or the k-th of those the partition has seen. */
type TextChoice = 'new' | number;

interface SegmentChoice extends Target {
  texts: TextChoice[];
  /** Tell the procedure how far back it need not look. */
  promise: boolean;
}

function tell(choice: SegmentChoice): string {
  return `${named(choice)} [${choice.texts.join(' ')}]${choice.promise ? ' with a promise' : ''}`;
}

/** Resolves choices in order, so that a later segment may repeat what an earlier one of the same push brings. */
function planOf(model: Model, choices: readonly SegmentChoice[]): SegmentPlan[] {
  const brought = new Map<string, string[]>();
  return choices.map(({ queue, partition, texts, promise }) => {
    const place = named({ queue, partition });
    const stored = model.partition(queue, partition);
    const seen = [...(stored?.log.flatMap((segment) => segment.texts) ?? []), ...(brought.get(place) ?? [])];
    // One segment never holds a text twice: its sender has merged them.
    const chosen = [
      ...new Set(
        texts.map((text) =>
          text === 'new' || seen.length === 0 ? model.mint('m') : seen[text % seen.length],
        ),
      ),
    ];
    brought.set(place, [...(brought.get(place) ?? []), ...chosen]);
    // A promise is made before the push, about what is stored then.
    return { queue, partition, texts: chosen, verified: promise ? promiseFor(stored, chosen) : -1 };
  });
}

class PushMany extends Step {
  constructor(private readonly choices: SegmentChoice[]) {
    super();
  }

  protected async act(model: Model, real: Real): Promise<void> {
    const plans = planOf(model, this.choices);
    const call = pushMultiCall(
      plans.map(({ queue, ...plan }) => ({ ...plan, queue: queue.name, tenant: queue.tenant })),
    );
    const verdicts = await scalar<Pushed[]>(real.session, call);
    const expected = push(model, plans);
    expect(verdicts.map(withoutTime)).toEqual(expected); // I27, I29
    verdicts.forEach((verdict, k) => stamp(model, plans[k], verdict));
  }

  toString(): string {
    return `push ${this.choices.map(tell).join(', ')}`;
  }
}

class PushOne extends Step {
  constructor(private readonly choice: SegmentChoice) {
    super();
  }

  protected async act(model: Model, real: Real): Promise<void> {
    const [plan] = planOf(model, [this.choice]);
    const { queue, partition, texts, verified } = plan;
    const call = pushOneCall(queue.name, partition, texts, { verified, tenant: queue.tenant });
    const verdict = await scalar<Pushed>(real.session, call);
    expect([withoutTime(verdict)]).toEqual(push(model, [plan]));
    stamp(model, plan, verdict);
  }

  toString(): string {
    return `push alone ${tell(this.choice)}`;
  }
}

/** I7: a push that fails, or whose transaction is rolled back, has not been. */
class PushInVain extends Step {
  constructor(
    private readonly choices: SegmentChoice[],
    private readonly rolledBack: boolean,
  ) {
    super();
  }

  protected async act(model: Model, { session }: Real): Promise<void> {
    const plans = planOf(model, this.choices);
    const segments = plans.map(({ queue, ...plan }) => ({
      ...plan,
      queue: queue.name,
      tenant: queue.tenant,
    }));
    if (this.rolledBack) {
      await session.query('begin');
      await run(session, pushMultiCall(segments));
      await session.query('rollback');
      return;
    }
    const [text, values] = pushMultiCall(segments);
    const hashes = values[3] as Buffer[];
    hashes[hashes.length - 1] = hashTransactionIds([...plans.at(-1)!.texts, 'one too many']);
    await expect(session.query(text, values)).rejects.toMatchObject({ code: 'QPUSH' });
  }

  protected override look(before: Snapshot, after: Snapshot): void {
    expectUntouched(before, after);
  }

  toString(): string {
    const how = this.rolledBack ? 'rolled back' : 'with a broken last segment';
    return `push in vain, ${how}: ${this.choices.map(tell).join(', ')}`;
  }
}

function withoutTime({ createdAt: _createdAt, ...verdict }: Pushed): Omit<Pushed, 'createdAt'> {
  return verdict;
}

function stamp(model: Model, plan: SegmentPlan, { status, baseOffset, createdAt }: Pushed): void {
  if (status !== 'queued') return;
  // I45: the text is UTC whatever the session's time zone; the row it names is compared by its instant.
  const partition = model.partition(plan.queue, plan.partition)!;
  stampSegment(partition, baseOffset!, microsOf(createdAt!));
}

/** Microseconds since 1970 of an ISO text in UTC with six digits of a second. */
export function microsOf(iso: string): number {
  const parts = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})\.(\d{6})Z$/.exec(iso);
  if (!parts) throw new Error(`not a time in UTC with microseconds: ${iso}`);
  return Date.parse(`${parts[1]}Z`) * 1000 + Number(parts[2]);
}

const segment: fc.Arbitrary<SegmentChoice> = fc
  .record({
    target,
    texts: fc.array(
      fc.oneof(
        { weight: 3, arbitrary: fc.constant<TextChoice>('new') },
        { weight: 1, arbitrary: fc.nat(30) },
      ),
      { minLength: 1, maxLength: 4 },
    ),
    promise: fc.boolean(),
  })
  .map(({ target: { queue, partition }, ...rest }) => ({ queue, partition, ...rest }));

const segments = fc.array(segment, { minLength: 1, maxLength: 4 });

export const pushMany = segments.map((choices) => new PushMany(choices));
export const pushOne = segment.map((choice) => new PushOne(choice));
export const pushInVain = fc
  .tuple(segments, fc.boolean())
  .map(([choices, rolledBack]) => new PushInVain(choices, rolledBack));
