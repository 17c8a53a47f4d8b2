import { BrokerError } from '../base/errors/broker-error.js';
import { parseUuid } from '../segment/uuid-v7.js';
import type { LetterPosition } from './dead-letters.procedures.js';

/** Where a bulk replay stands, as the client carries it from call to call. */
export interface ReplayCursor {
  readonly after: LetterPosition;
  /** The end of the time range, fixed by the first call: what fails later is not part of this replay. */
  readonly until: number;
}

export function cursorText({ after, until }: ReplayCursor): string {
  return Buffer.from(`${until} ${after.failedAt} ${after.id}`).toString('base64url');
}

/** @throws BrokerError `bad_parameter` for anything that cursorText did not write */
export function readCursor(text: string): ReplayCursor {
  const match = /^(-?\d{1,16}) (-?\d{1,16}) (\S+)$/.exec(Buffer.from(text, 'base64url').toString('latin1'));
  if (!match || !parseUuid(match[3])) {
    throw new BrokerError('bad_parameter', 'next must be the text that the call before gave');
  }
  return { until: Number(match[1]), after: { failedAt: Number(match[2]), id: match[3] } };
}
