import { lastMomentOf } from './story.mjs';

/** What the clocks of two processes, PostgreSQL and a worker, may differ by over the length of a lease. */
const MARGIN_US = 50_000;

/** At most one live lease for a group and partition (I11, I16), and no ack counts under one that was taken over (I34). */
export function leaseRules(story) {
  return [...story.lanes.values()].flatMap((lane) => [...overlaps(story, lane), ...overtaken(lane)]);
}

/**
 * A lease began between the request and its answer, so it lived at least from the answer until its length after the
 * request: unless an ack may have ended it, or a seek. Whoever claimed wholly within that time claimed too much.
 */
function overlaps(story, lane) {
  const found = [];
  const leased = lane.batches
    .filter(({ lease }) => lease !== '')
    .sort((a, b) => a.step.startUs - b.step.startUs);
  const renewals = renewalsOf(story);
  leased.forEach((batch, i) => {
    const fromUs = batch.step.endUs;
    const untilUs = surelyUntilUs(story, lane, batch, renewals);
    for (const other of leased.slice(i + 1)) {
      if (other.step.startUs >= untilUs) break;
      if (other.step.startUs <= fromUs || other.step.endUs >= untilUs) continue;
      const { transactionId, partition } = other.messages[0];
      found.push({
        rule: 'one live lease',
        text: `${lane.group} was given ${lane.partitionId} under ${other.lease} while ${batch.lease} was alive`,
        message: { queue: lane.queue, partition, transactionId },
        steps: [batch.step, other.step],
      });
    }
  });
  return found;
}

function surelyUntilUs(story, lane, batch, renewals) {
  const { startUs, endUs, leaseSeconds } = batch.step;
  const lengths = (renewals.get(batch.lease) ?? []).map((renew) => renew.startUs + renew.seconds * 1_000_000);
  const ends = lane.acks
    .filter((ack) => ack.batch === batch && ack.mayRelease)
    .map(({ step }) => step.startUs);
  const seeks = story.seeksBetween(lane, startUs, Infinity).filter((seek) => lastMomentOf(seek) >= startUs);
  return Math.min(
    Math.max(startUs + leaseSeconds * 1_000_000, ...lengths) - MARGIN_US,
    ...ends,
    ...seeks.map((seek) => (seek.startUs < endUs ? startUs : seek.startUs)),
  );
}

/** Renewals that found all partitions of a lease alive. */
function renewalsOf(story) {
  story.renewals ??= (() => {
    const partitions = new Map();
    for (const { lease } of story.batches) partitions.set(lease, (partitions.get(lease) ?? 0) + 1);
    const renewals = new Map();
    for (const step of story.steps) {
      if (step.do !== 'renew' || step.outcome !== 'ok' || step.answer.renewed !== partitions.get(step.lease))
        continue;
      renewals.set(step.lease, [...(renewals.get(step.lease) ?? []), step]);
    }
    return renewals;
  })();
  return story.renewals;
}

function overtaken(lane) {
  const found = [];
  const leased = lane.batches.filter(({ lease }) => lease !== '');
  for (const { step, batch, items } of lane.acks) {
    const counted = items.filter(({ result }) => result?.success && !result.noop);
    if (counted.length === 0) continue;
    const successor = leased.find(
      (other) => other.step.startUs > batch.step.endUs && other.step.endUs < step.startUs,
    );
    if (!successor) continue;
    found.push({
      rule: 'no ack under a lost lease',
      text: `an ack of ${lane.group} in ${lane.partitionId} under ${batch.lease} counted after ${successor.lease} had taken over`,
      message: {
        queue: lane.queue,
        partition: batch.messages[0].partition,
        transactionId: counted[0].transactionId,
      },
      steps: [batch.step, successor.step, step],
    });
  }
  return found;
}
