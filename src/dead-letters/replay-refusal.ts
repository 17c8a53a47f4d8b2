import { BrokerError } from '../base/errors/broker-error.js';
import type { ReplayOutcome } from './replay.service.js';

type Moved = Extract<ReplayOutcome, { result: 'moved' }>;

/**
 * The outcome of a replay that took place. @throws BrokerError `replay_duplicate`, `dead_letter_empty`: the letter is
 * still there, and repeating the call changes nothing.
 */
export function moved(outcome: Exclude<ReplayOutcome, { result: 'gone' }> | Moved): Moved {
  if (outcome.result === 'moved') return outcome;
  const extra = { success: false, dlqRowRemoved: false, pushResult: null };
  if (outcome.result === 'duplicate') {
    throw new BrokerError('replay_duplicate', undefined, { ...extra, pushResult: { status: 'duplicate' } });
  }
  throw new BrokerError('dead_letter_empty', undefined, extra);
}
