import { deliveryRules } from './deliveries.mjs';
import { leaseRules } from './leases.mjs';
import { markRules } from './marks.mjs';
import { pushRules } from './pushes.mjs';
import { Story } from './story.mjs';
import { transactionRules } from './transactions.mjs';

/** Without this much a run has shown nothing. Low: a slow machine must reach it in a minute, with a machine that has other things to do. */
const LEAST = { pushed: 50, delivered: 50, acked: 25, transactions: 2, faults: 2 };

/**
 * Holds a broker to its promises, from what everybody saw and what the tables hold in the end.
 *
 * @param {object[]} steps of stepsOf(); the first is the plan
 * @param {object} final of finalOf(), with `stuck`: what did not come to its end
 * @param {Partial<typeof LEAST>} [least] the work below which a run counts as failed
 * @returns violations ({rule, text, message?, partitionId?, group?, steps}) and the work that was done
 */
export function check(steps, final, least = LEAST) {
  const story = new Story(steps, final);
  const work = workOf(story);
  const tooLittle = Object.entries(least)
    .filter(([what, count]) => work[what] < count)
    .map(([what, count]) => ({
      rule: 'enough work',
      text: `${what}: ${work[what]}, at least ${count} were needed to show anything`,
      steps: [],
    }));
  const violations = [
    ...tooLittle,
    ...(final.stuck ?? []).map((text) => ({ rule: 'everything comes to its end', text, steps: [] })),
    ...crashes(story),
    ...pushRules(story),
    ...deliveryRules(story),
    ...leaseRules(story),
    ...transactionRules(story),
    ...markRules(story),
  ];
  return { violations, work };
}

/** A process that was not told to end. */
function crashes({ steps }) {
  return steps
    .filter((step) => (step.do === 'broker' || step.do === 'worker') && step.what === 'ended by itself')
    .map((step) => ({
      rule: 'nobody ends by itself',
      text: `${step.do} ${step.broker ?? step.worker} ended by itself (${step.signal ?? step.code})`,
      steps: [step],
    }));
}

function workOf({ steps, batches }) {
  const known = steps.filter(({ outcome }) => outcome === 'ok');
  const count = (what, of) =>
    known.filter((step) => step.do === what).reduce((sum, step) => sum + of(step), 0);
  return {
    pushed: count('push', ({ answer }) => answer.items.filter(([status]) => status !== 'failed').length),
    buffered: count('push', ({ answer }) => answer.items.filter(([status]) => status === 'buffered').length),
    duplicates: count(
      'push',
      ({ answer }) => answer.items.filter(([status]) => status === 'duplicate').length,
    ),
    delivered: batches.reduce((sum, { messages }) => sum + messages.length, 0),
    acked: count('ack', ({ answer }) => answer.results.filter(({ success }) => success).length),
    transactions: count('transaction', ({ answer }) => Number(answer.success)),
    seeks: count('seek', ({ answer }) => Number(answer.success)),
    faults: count('fault', () => 1),
    unknown: steps.filter(({ outcome, do: what }) => outcome !== 'ok' && what !== 'watch' && what !== 'fault')
      .length,
  };
}
