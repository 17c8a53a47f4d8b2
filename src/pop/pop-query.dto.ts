import { IsBoolean, IsInt, IsOptional, IsString, Max, Min, validateSync } from 'class-validator';
import { BrokerError } from '../base/errors/broker-error.js';

export const BATCH_DEFAULT = 200;
/** Larger values are clamped, and the answer says so in `Queen-Clamped`. */
export const BATCH_MAX = 10_000;
export const PARTITIONS_MAX = 1000;
export const TIMEOUT_MS_MAX = 3_600_000;
const INT32_MAX = 2_147_483_647;
const INT32_MIN = -2_147_483_648;

/**
 * The query of a pop with its defaults (seed, "The request parameters and their defaults"). Integers are plain decimals
 * inside int32, booleans are `true` or `false`; anything else is a 400 that names the parameter. Unknown keys are ignored.
 */
export class PopQueryDto {
  @IsInt()
  @Min(INT32_MIN)
  @Max(INT32_MAX)
  batch: number = BATCH_DEFAULT;

  @IsInt()
  @Min(INT32_MIN)
  @Max(INT32_MAX)
  partitions: number = 1;

  @IsBoolean()
  autoAck: boolean = false;

  @IsBoolean()
  wait: boolean = false;

  @IsInt()
  @Min(0)
  @Max(INT32_MAX)
  timeout: number;

  @IsOptional()
  @IsInt()
  @Min(INT32_MIN)
  @Max(INT32_MAX)
  leaseSeconds?: number;

  @IsString()
  consumerGroup: string = '';

  @IsString()
  subscriptionMode: string = 'all';

  @IsString()
  subscriptionFrom: string = '';

  @IsString()
  namespace: string = '';

  @IsString()
  task: string = '';

  constructor(timeoutMsDefault: number) {
    this.timeout = timeoutMsDefault;
  }
}

const INTEGERS = new Set(['batch', 'partitions', 'timeout', 'leaseSeconds']);
const BOOLEANS = new Set(['autoAck', 'wait']);
const TEXTS = new Set(['consumerGroup', 'subscriptionMode', 'subscriptionFrom', 'namespace', 'task']);

/** @throws BrokerError `bad_parameter`, naming every parameter that breaks its rule */
export function parsePopQuery(query: string, timeoutMsDefault: number): PopQueryDto {
  const dto = new PopQueryDto(timeoutMsDefault);
  const seen = new Set<string>();
  for (const [name, value] of new URLSearchParams(query)) {
    if (!INTEGERS.has(name) && !BOOLEANS.has(name) && !TEXTS.has(name)) continue;
    if (seen.has(name)) throw new BrokerError('bad_parameter', `${name} is given more than once`);
    seen.add(name);
    Object.assign(dto, { [name]: converted(name, value) });
  }
  const faults = validateSync(dto, { forbidUnknownValues: false });
  if (faults.length > 0) {
    const text = faults
      .map(({ constraints = {} }) => constraints.isInt ?? Object.values(constraints)[0])
      .join('; ');
    throw new BrokerError('bad_parameter', text, { parameters: faults.map((fault) => fault.property) });
  }
  return dto;
}

/** Text that does not look like its type stays text, and validation refuses it. */
function converted(name: string, value: string): unknown {
  if (INTEGERS.has(name) && /^-?\d{1,15}$/.test(value)) return Number(value);
  if (BOOLEANS.has(name) && (value === 'true' || value === 'false')) return value === 'true';
  return value;
}
