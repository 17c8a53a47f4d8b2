import { hashTransactionId } from '../../src/segment/transaction-hash.js';
import {
  blobOf,
  dlqHeadCall,
  scalar,
  TENANT,
  type Call,
  type DeadLetterInput,
  type Target,
} from './calls.js';
import { makeLease, pushMessages } from './make.js';
import { consumerRow, partitionRow } from './rows.js';

/** Pushes one message, which the group leases and puts aside at once; the id of its dead letter. */
export async function makeLetter(
  on: Target,
  queue: string,
  partition: string,
  letter: Omit<DeadLetterInput, 'payload'> & { payload?: string | null } = {},
): Promise<string> {
  const { group = 'g', payload = '{"n":1}', ...rest } = letter;
  const before = await partitionRow(on, queue, partition);
  const behind = before ? ((await consumerRow(on, queue, partition, group))?.committed ?? -1) : -1;
  if (!before || before.lastOffset <= behind)
    await pushMessages(on, queue, partition, [rest.text ?? 'poison']);
  const { partitionId, slices } = await makeLease(on, queue, partition, { group, budget: 1 });
  const offset = slices[0].base + slices[0].startIdx;
  const call = dlqHeadCall(partitionId, offset, { group, text: 'poison', ...rest });
  call[1][6] = payload;
  return (await scalar<{ id: string }>(on, call)).id;
}

export interface LetterFilter {
  queue?: string;
  partition?: string;
  group?: string;
  from?: string | Date;
  to?: string | Date;
  beforeAt?: unknown;
  beforeId?: unknown;
  limit?: number;
  offset?: number;
  bytesMax?: number;
  tenant?: string;
}

export function listLettersCall(filter: LetterFilter): Call {
  const { queue = null, partition = null, group = null, from = null, to = null, tenant = TENANT } = filter;
  const { beforeAt = null, beforeId = null, limit = 100, offset = 0, bytesMax = 1e9 } = filter;
  return [
    'select * from queen.get_dlq_messages_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)',
    [queue, partition, group, from, to, beforeAt, beforeId, limit, offset, bytesMax, tenant],
  ];
}

export interface Moved {
  result: 'moved' | 'gone' | 'duplicate' | 'maintenance';
  partitionId?: string;
  baseOffset?: number;
}

/** The replay of a letter to (queue, partition). */
export function moveCall(id: string, queue: string, partition: string, tenant = TENANT): Call {
  const text = `dlq:${id}`;
  return [
    'select queen.log_dlq_move_v1($1, $2, $3, $4, $5, $6) as result',
    [tenant, id, queue, partition, hashTransactionId(text), blobOf([text])],
  ];
}
