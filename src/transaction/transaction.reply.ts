import { inTurns } from '../ack/in-turns.js';
import type { OperationResult } from './transaction.service.js';

const RESULTS_PER_TURN = 4096;

/** `{"transactionId","success":true,"results":[{"index",…},…]}`, in slices: there may be a quarter of a million. */
export async function renderResults(
  transactionId: string,
  results: readonly OperationResult[],
): Promise<Buffer> {
  const pieces = [Buffer.from(`{"transactionId":"${transactionId}","success":true,"results":[`)];
  await inTurns(results.length, RESULTS_PER_TURN, (from, to) => {
    let text = '';
    for (let index = from; index < to; index++)
      text += (index === 0 ? '' : ',') + JSON.stringify({ index, ...results[index] });
    pieces.push(Buffer.from(text));
  });
  pieces.push(Buffer.from(']}'));
  return Buffer.concat(pieces);
}
