import { BrokerError } from '../base/errors/broker-error.js';
import { DEFAULT_TENANT, nameProblem, QUEUE_MODE_GROUP, type NameKind } from '../base/names/names.js';
import { queueKey } from '../base/queue-key.js';
import { Generations } from '../ack-registry/generations.js';
import { mintUuid, uuidText } from '../segment/uuid-v7.js';
import type { WakeKey } from '../wake-gate/wake-key.js';
import { BATCH_MAX, PARTITIONS_MAX, parsePopQuery, TIMEOUT_MS_MAX } from './pop-query.dto.js';

/** What one pop asks for; made once at the edge and not changed after. */
export interface PopRequest {
  readonly tenant: string;
  readonly scope: PopScope;
  /** tenant and queue, the key of ring, gate and caches; empty for discovery. */
  readonly key: string;
  readonly wakeKey: WakeKey;
  readonly queue: string;
  readonly partition: string;
  readonly namespace: string;
  readonly task: string;
  readonly group: string;
  /** Message cap over all partitions of the answer. */
  readonly batch: number;
  readonly partitions: number;
  readonly autoAck: boolean;
  readonly wait: boolean;
  readonly timeoutMs: number;
  /** Null: the queue's own lease time. */
  readonly leaseSeconds: number | null;
  readonly subscriptionMode: 'all' | 'new';
  readonly subscriptionFrom: string;
  /** Fresh per request; on a leased answer the client sees it as `leaseId`. */
  readonly workerId: string;
  /** Parameters that were above their maximum, as `name=value in force`. */
  readonly clamped: string;
}

export type PopScope = 'queue' | 'partition' | 'discovery';

export interface PopTarget {
  scope: PopScope;
  queue?: string;
  partition?: string;
}

const NEW_MODES = new Set(['new', 'new-only', 'new_only', 'newonly']);
const REMEMBERED_MAX = 2000;
/** A longer one is no consumer's daily question. */
const REMEMBERED_URL_LENGTH_MAX = 1024;
export const LEASE_SECONDS_MAX = 7 * 24 * 3600;

/** What all pops with the same text have in common: everything but the identity of the one that asks. */
type PopForm = Omit<PopRequest, 'workerId'>;

/**
 * Turns query strings into requests. Consumers ask the same for days, so the validated form is remembered by the raw text
 * of what they ask for; those asked for least lately are forgotten first.
 */
export class PopRequestParser {
  private readonly forms = new Generations<PopForm>(REMEMBERED_MAX);

  constructor(private readonly timeoutMsDefault: number) {}

  /** Forms that are remembered. */
  get remembered(): number {
    return this.forms.size;
  }

  /**
   * The request of a URL, whose path says what `target` says. Throws as parse() does; what is wrong is not remembered.
   * @param url path and query as they came
   */
  of(url: string, target: PopTarget, tenant: string): PopRequest {
    if (url.length > REMEMBERED_URL_LENGTH_MAX) return this.parse(target, queryOf(url), tenant);
    const key = tenant === DEFAULT_TENANT ? url : `${tenant} ${url}`;
    let form = this.forms.get(key);
    if (!form) this.forms.set(key, (form = this.form(target, queryOf(url), tenant)));
    return { ...form, workerId: uuidText(mintUuid(Date.now())) };
  }

  /** @throws BrokerError `bad_parameter`, `bad_name`, or `no_filter` for a discovery pop without namespace and task */
  parse(target: PopTarget, query: string, tenant: string = DEFAULT_TENANT): PopRequest {
    return { ...this.form(target, query, tenant), workerId: uuidText(mintUuid(Date.now())) };
  }

  private form(target: PopTarget, query: string, tenant: string): PopForm {
    const dto = parsePopQuery(query, this.timeoutMsDefault);
    const queue = target.queue ?? '';
    const partition = target.partition ?? '';
    if (target.scope === 'discovery' && dto.namespace === '' && dto.task === '') {
      throw new BrokerError('no_filter', 'namespace or task is required', { success: false, messages: [] });
    }
    if (target.scope !== 'discovery') requireName('queue', queue);
    if (target.scope === 'partition') requireName('partition', partition);
    const group = dto.consumerGroup === '' ? QUEUE_MODE_GROUP : dto.consumerGroup;
    requireName('consumerGroup', group);
    requireName('namespace', dto.namespace);
    requireName('task', dto.task);
    const key = target.scope === 'discovery' ? '' : queueKey(tenant, queue);
    const clamps: string[] = [];
    return {
      tenant,
      scope: target.scope,
      key,
      wakeKey: wakeKeyOf(target.scope, tenant, key, partition),
      queue,
      partition,
      namespace: dto.namespace,
      task: dto.task,
      group,
      batch: clamp('batch', Math.max(1, dto.batch), BATCH_MAX, clamps),
      partitions:
        dto.partitions <= 0 ? PARTITIONS_MAX : clamp('partitions', dto.partitions, PARTITIONS_MAX, clamps),
      autoAck: dto.autoAck,
      wait: dto.wait,
      timeoutMs: clamp('timeout', dto.timeout, TIMEOUT_MS_MAX, clamps),
      leaseSeconds:
        dto.leaseSeconds !== undefined && dto.leaseSeconds > 0
          ? clamp('leaseSeconds', dto.leaseSeconds, LEASE_SECONDS_MAX, clamps)
          : null,
      subscriptionMode: NEW_MODES.has(dto.subscriptionMode.toLowerCase()) ? 'new' : 'all',
      // No time either way; PostgreSQL takes no text with U+0000, and the pop would fail.
      subscriptionFrom: dto.subscriptionFrom.replaceAll('\0', '\ufffd'),
      clamped: clamps.join(', '),
    };
  }
}

function queryOf(url: string): string {
  const start = url.indexOf('?');
  return start < 0 ? '' : url.slice(start + 1);
}

function wakeKeyOf(scope: PopScope, tenant: string, key: string, partition: string): WakeKey {
  if (scope === 'discovery') return { kind: 'discovery', tenant };
  if (scope === 'partition') return { kind: 'partition', key, partition };
  return { kind: 'queue', key };
}

function requireName(kind: NameKind, name: string): void {
  const problem = nameProblem(kind, name);
  if (problem) throw new BrokerError('bad_name', problem);
}

function clamp(name: string, value: number, max: number, clamps: string[]): number {
  if (value <= max) return value;
  clamps.push(`${name}=${max}`);
  return max;
}
