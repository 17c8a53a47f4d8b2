import fc from 'fast-check';
import type { PopOptions } from '../support/make.js';
import type { Model } from './broker.model.js';
import { group } from './choices.js';
import type { Claim, Subscription } from './model.pop.js';

/** Where a group that comes for the first time wants to begin. */
export interface FromChoice {
  mode: 'all' | 'new';
  /** A word as it is, or a time so many seconds ago, with or without a time zone. */
  from: string | { secondsAgo: number; zone: boolean };
}

export interface PopChoice {
  group: string;
  budget: number;
  leaseSeconds: number | null;
  autoAck: boolean;
  subscription: FromChoice;
}

export function claimOf(model: Model, { subscription, ...choice }: PopChoice, skipWindow = false): Claim {
  return {
    ...choice,
    worker: model.mint('w'),
    subscription: subscriptionOf(model, subscription),
    skipWindow,
  };
}

function subscriptionOf(model: Model, { mode, from }: FromChoice): Subscription {
  if (typeof from === 'string') return { mode, from, at: null };
  const ms = Math.floor(model.now / 1000) - from.secondsAgo * 1000;
  const text = new Date(ms).toISOString();
  return { mode, from: from.zone ? text : text.replace('T', ' ').replace('Z', ''), at: ms * 1000 };
}

export function optionsOf(how: Claim, tenantId: string, maxPartitions: number | null = 1): PopOptions {
  const { group, budget, leaseSeconds, worker, autoAck, skipWindow, subscription } = how;
  return {
    ...{ group, budget, leaseSeconds, worker, autoAck, skipWindow, maxPartitions, tenant: tenantId },
    ...{ mode: subscription.mode, from: subscription.from },
  };
}

export function tellPop({ group, budget, leaseSeconds, autoAck, subscription }: PopChoice): string {
  const { mode, from } = subscription;
  const start = typeof from === 'string' ? from : `${from.secondsAgo} s ago${from.zone ? '' : ' (no zone)'}`;
  const lease = autoAck ? 'auto-ack' : `lease ${leaseSeconds ?? 'of the queue'}`;
  return `for ${group}, budget ${budget}, ${lease}, subscribe ${mode} from "${start}"`;
}

const budget = fc.constantFrom(1, 2, 3, 5, 100, 0, -1);
export const maxPartitions = fc.constantFrom(1, 2, null, 0, -1, 2147483647);
const from = fc.oneof(
  { weight: 9, arbitrary: fc.constant('') },
  { weight: 1, arbitrary: fc.constantFrom('now', 'yesterday, perhaps', '2026-13-45T00:00:00Z') },
  {
    weight: 2,
    arbitrary: fc.record({ secondsAgo: fc.constantFrom(50, 150, 1050), zone: fc.boolean() }),
  },
);
export const popChoice: fc.Arbitrary<PopChoice> = fc.record({
  group,
  budget,
  leaseSeconds: fc.constantFrom(null, 50, 250, 1050),
  autoAck: fc.constantFrom(false, false, false, true),
  subscription: fc.record({ mode: fc.constantFrom<'all' | 'new'>('all', 'all', 'all', 'new'), from }),
});
