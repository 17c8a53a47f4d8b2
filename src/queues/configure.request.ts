import { Allow, IsObject, IsOptional, IsString, validateSync } from 'class-validator';
import { BrokerError } from '../base/errors/broker-error.js';
import { badBody, readJsonBody } from '../base/json/read-json-body.js';
import { textFlaw } from '../base/json/text-flaw.js';
import { nameProblem, type NameKind } from '../base/names/names.js';

export type OptionValue = string | number | boolean;

export interface ConfigureRequest {
  readonly queue: string;
  /** Only what the client set; null counts as not set. Names and ranges are judged by the procedure. */
  readonly options: Readonly<Record<string, OptionValue>>;
}

/** The body as clients send it. Without `options`, what stands beside the queue are the options. */
export class ConfigureDto {
  @IsString()
  queue!: string;

  @IsOptional()
  @IsString()
  namespace?: string | null;

  @IsOptional()
  @IsString()
  task?: string | null;

  @IsOptional()
  @IsObject()
  options?: Record<string, unknown> | null;

  @Allow()
  rest: Record<string, unknown> = {};
}

/**
 * `POST /api/v1/configure`. Throws BrokerError `bad_body` for what is not a JSON object, `queue_required`, `bad_name`,
 * and `bad_option` for a value that is neither a text, a number nor a boolean.
 */
export function parseConfigureBody(body: Buffer): ConfigureRequest {
  const dto = readDto(body);
  const options = new Map(Object.entries(dto.options ?? dto.rest));
  if (dto.namespace && isUnset(options.get('namespace'))) options.set('namespace', dto.namespace);
  if (dto.task && isUnset(options.get('task'))) options.set('task', dto.task);

  requireName('queue', dto.queue);
  const set: [string, OptionValue][] = [];
  for (const [name, value] of options) {
    if (isUnset(value)) continue;
    if ((name === 'namespace' || name === 'task') && typeof value === 'string') requireName(name, value);
    set.push([name, optionValue(name, value)]);
  }
  // fromEntries makes own properties: a key such as __proto__ stays a key, to be refused as an unknown option.
  return { queue: dto.queue, options: Object.fromEntries(set) };
}

function readDto(body: Buffer): ConfigureDto {
  // The scanner first: it knows the nesting limit, and says where a body stops being JSON.
  readJsonBody(body, (cursor) => {
    if (cursor.type() !== 'object') throw badBody('expected an object');
    cursor.skipValue();
  });
  const { queue, namespace, task, options, ...rest } = JSON.parse(body.toString()) as Record<string, unknown>;
  const dto = Object.assign(new ConfigureDto(), { queue, namespace, task, options, rest });
  const faults = validateSync(dto, { forbidUnknownValues: false, stopAtFirstError: true });
  if (faults.some(({ property }) => property === 'queue')) {
    throw new BrokerError('queue_required', 'queue is required');
  }
  const [fault] = faults.flatMap(({ constraints }) => Object.values(constraints ?? {}));
  if (fault !== undefined) throw new BrokerError('bad_option', fault);
  return dto;
}

function requireName(kind: NameKind, name: string): void {
  const problem = nameProblem(kind, name);
  if (problem) throw new BrokerError('bad_name', problem);
}

function isUnset(value: unknown): boolean {
  return value === undefined || value === null;
}

/** Refuses here what would not survive the way into jsonb: a text with U+0000, a number such as 1e400. */
function optionValue(name: string, value: unknown): OptionValue {
  const flaw = textFlaw(name) ?? (typeof value === 'string' ? textFlaw(value) : null);
  if (flaw) throw new BrokerError('bad_option', `option ${JSON.stringify(name)} must not hold ${flaw}`);
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  throw new BrokerError('bad_option', `option ${JSON.stringify(name)} must be a text, a number or a boolean`);
}
