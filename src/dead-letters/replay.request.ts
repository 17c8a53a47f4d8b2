import { IsBoolean, IsInt, IsObject, IsOptional, IsString, Min, validateSync } from 'class-validator';
import { BrokerError } from '../base/errors/broker-error.js';
import { badBody, readJsonBody } from '../base/json/read-json-body.js';
import { textFlaw } from '../base/json/text-flaw.js';
import { nameProblem, type NameKind } from '../base/names/names.js';
import { instantOf } from '../http/list-query.js';
import { type DeadLetterFilter, FILTER_PARAMETERS, passesAll } from './dead-letter-filter.js';
import type { LetterPosition } from './dead-letters.procedures.js';
import { readCursor } from './replay-cursor.js';
import { BACK_WHERE_IT_CAME_FROM, type ReplayTarget } from './replay.service.js';

export interface BulkReplayRequest {
  readonly filter: DeadLetterFilter;
  readonly target: ReplayTarget;
  readonly dryRun: boolean;
  /** Dead letters to go through in this call. */
  readonly limit: number;
  /** The call goes on behind this one; null: from the oldest. */
  readonly after: LetterPosition | null;
}

export const BULK_LIMIT_DEFAULT = 1000;
export const BULK_LIMIT_MAX = 10_000;

class TargetDto {
  @IsOptional()
  @IsString()
  queue?: string | null;

  @IsOptional()
  @IsString()
  partition?: string | null;
}

class BulkReplayDto {
  @IsOptional()
  @IsString()
  queue?: string | null;

  @IsOptional()
  @IsString()
  partition?: string | null;

  @IsOptional()
  @IsString()
  consumerGroup?: string | null;

  @IsOptional()
  @IsString()
  from?: string | null;

  @IsOptional()
  @IsString()
  to?: string | null;

  @IsOptional()
  @IsBoolean()
  all?: boolean | null;

  @IsOptional()
  @IsBoolean()
  dryRun?: boolean | null;

  @IsOptional()
  @IsInt()
  @Min(1)
  limit?: number | null;

  @IsOptional()
  @IsString()
  next?: string | null;

  @IsOptional()
  @IsObject()
  target?: Record<string, unknown> | null;
}

const TARGET_KEYS = ['queue', 'partition'] as const;
const BULK_KEYS = [...FILTER_PARAMETERS, 'all', 'dryRun', 'limit', 'next', 'target'] as const;

/** `{queue?, partition?}`, or no body at all: back where it came from. Throws BrokerError `bad_body`, `bad_name`. */
export function parseReplayBody(body: Buffer): ReplayTarget {
  if (body.length === 0) return BACK_WHERE_IT_CAME_FROM;
  return targetOf(readObject(body));
}

/**
 * A filter (the parameters of the list), and `dryRun`, `limit`, `target`, `next`. Without any filter it wants `all:true`;
 * a key that is none of these is refused, since a misspelt filter would replay more than was meant.
 * Throws BrokerError `bad_body`, `bad_parameter`, `bad_name`, `filter_required`.
 */
export function parseBulkReplayBody(body: Buffer, tenant: string): BulkReplayRequest {
  const dto = validated(new BulkReplayDto(), readObject(body), BULK_KEYS);
  const cursor = textOf('next', dto.next) === null ? null : readCursor(dto.next!);
  const filter = {
    tenant,
    queue: textOf('queue', dto.queue),
    partition: textOf('partition', dto.partition),
    group: textOf('consumerGroup', dto.consumerGroup),
    from: timeOf('from', dto.from),
    to: timeOf('to', dto.to),
  };
  if (passesAll(filter) && dto.all !== true) throw new BrokerError('filter_required');
  return {
    filter: cursor ? { ...filter, to: cursor.until } : filter,
    target: dto.target ? targetOf(dto.target) : BACK_WHERE_IT_CAME_FROM,
    dryRun: dto.dryRun === true,
    limit: Math.min(dto.limit ?? BULK_LIMIT_DEFAULT, BULK_LIMIT_MAX),
    after: cursor?.after ?? null,
  };
}

function targetOf(object: Record<string, unknown>): ReplayTarget {
  const { queue = null, partition = null } = validated(new TargetDto(), object, TARGET_KEYS);
  requireName('queue', queue);
  requireName('partition', partition);
  return { queue, partition };
}

function readObject(body: Buffer): Record<string, unknown> {
  // The scanner first: it knows the nesting limit, and says where a body stops being JSON.
  readJsonBody(body, (cursor) => {
    if (cursor.type() !== 'object') throw badBody('expected an object');
    cursor.skipValue();
  });
  return JSON.parse(body.toString()) as Record<string, unknown>;
}

function validated<T extends object>(dto: T, object: Record<string, unknown>, keys: readonly string[]): T {
  const unknown = Object.keys(object).find((key) => !keys.includes(key));
  if (unknown !== undefined) {
    throw badBody(`${JSON.stringify(unknown)} is not known here; known are ${keys.join(', ')}`);
  }
  Object.assign(dto, object);
  const faults = validateSync(dto, { forbidUnknownValues: false });
  // Of a text where a number belongs, that it is no number says more than that it is not above another.
  const [text] = faults.flatMap(({ constraints = {} }) => constraints.isInt ?? Object.values(constraints));
  if (text !== undefined) throw badBody(text);
  return dto;
}

function requireName(kind: NameKind, name: string | null): void {
  const problem = name === null ? null : nameProblem(kind, name);
  if (problem) throw new BrokerError('bad_name', problem);
}

/** An empty text counts as not given, as in a query. */
function textOf(name: string, text: string | null | undefined): string | null {
  if (text === undefined || text === null || text === '') return null;
  const flaw = textFlaw(text);
  if (flaw) throw badBody(`${name} must not contain ${flaw}`);
  return text;
}

function timeOf(name: string, text: string | null | undefined): number | null {
  const given = textOf(name, text);
  return given === null ? null : instantOf(name, given);
}
