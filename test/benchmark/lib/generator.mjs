import { DeliveryCheck } from './check.mjs';
import { HeadStart } from './head-start.mjs';
import { Histogram } from './histogram.mjs';
import { HttpClient } from './http-client.mjs';
import { payloadMaker } from './payloads.mjs';

const POP_TIMEOUT_MS = 500;

/**
 * @typedef {{
 *   queue: string, seconds: number, batch: number, partitions: number, producers: number, consumers: number,
 *   popBatch?: number, popPartitions?: number, autoAck?: boolean, groups?: number, bytes?: number, kind?: string,
 *   ratePerSecond?: number, messages?: number, spread?: boolean, drainMs?: number, backlog?: number, tag?: string,
 *   untilSeconds?: boolean, aheadMax?: number, group?: string, silenceMs?: number,
 * }} Plan
 * `messages`: push so many and stop; `spread`: each batch goes over all partitions instead of one; `backlog`: messages
 * that an earlier plan with another `tag` left to be consumed as well; `untilSeconds`: consumers stop with the time, and
 * what they have not reached by then is not lost; `aheadMax`: see HeadStart;
 * `silenceMs`: what is missing at the end is lost when nothing has come for so long, before that consumers are just slow.
 */

/**
 * The load of one run over HTTP: `producers` connections push, `consumers` connections a group pop and ack. Every message
 * is checked: lost, duplicated, out of order are counted. With `ratePerSecond` pushes start on schedule and latency
 * counts from the scheduled time, so that a stall is not hidden by the generator's waiting.
 *
 * @param {string} base address of a broker
 * @param {Plan} plan
 */
export function generate(base, plan) {
  return generateWith(() => new HttpClient(base), plan);
}

/** The same with clients of another kind: `open` makes one that has push, pop, ack and close as HttpClient has them. */
export function generateWith(open, plan) {
  return new Run(open, plan).go();
}

class Run {
  constructor(open, plan) {
    this.open = open;
    this.plan = {
      popBatch: plan.batch,
      popPartitions: 1,
      groups: 1,
      group: 'g',
      bytes: 256,
      kind: 'random',
      drainMs: 15_000,
      backlog: 0,
      tag: 'p',
      untilSeconds: false,
      aheadMax: Infinity,
      silenceMs: 3000,
      ...plan,
    };
    this.payload = payloadMaker(this.plan.bytes, this.plan.kind);
    this.pushed = 0;
    this.acked = 0;
    this.errors = { pushErrors: 0, popErrors: 0, ackErrors: 0 };
    this.pushLatency = new Histogram();
    this.popLatency = new Histogram();
    this.pushing = true;
    this.pushStoppedMs = Infinity;
    this.lastAckMs = 0;
    const { groups, consumers } = this.plan;
    this.checks = Array.from({ length: consumers > 0 ? groups : 0 }, () => new DeliveryCheck());
    const read = () => Math.min(...this.checks.map(({ delivered }) => delivered)) - this.plan.backlog;
    this.headStart = new HeadStart(this.checks.length > 0 ? this.plan.aheadMax : Infinity, read);
    this.lastDeliveryMs = performance.now();
  }

  async go() {
    const { producers, consumers, untilSeconds } = this.plan;
    const startedMs = performance.now();
    this.endsMs = startedMs + this.plan.seconds * 1000;
    const timer = setTimeout(() => this.headStart.open(), this.plan.seconds * 1000);
    const pushers = Array.from({ length: producers }, (_, i) => this.produce(i));
    const poppers = this.checks.flatMap((check, group) =>
      Array.from({ length: consumers }, () => this.consume(check, `${this.plan.group}${group}`)),
    );
    await Promise.all(pushers);
    clearTimeout(timer);
    this.pushing = false;
    this.pushStoppedMs = performance.now();
    const pushSeconds = (this.pushStoppedMs - startedMs) / 1000;
    await Promise.all(poppers);
    const consumeSeconds = (this.lastAckMs - startedMs) / 1000;
    const sum = (key) => this.checks.reduce((total, check) => total + check[key], 0);
    const endToEnd = new Histogram();
    for (const check of this.checks) endToEnd.add(check.endToEnd);
    return {
      pushedPerSecond: producers > 0 ? Math.round(this.pushed / pushSeconds) : 0,
      ackedPerSecond: this.acked > 0 ? Math.round(this.acked / consumeSeconds) : 0,
      pushed: this.pushed,
      delivered: sum('delivered'),
      acked: this.acked,
      ...this.missing(untilSeconds ? 0 : this.expected() * this.checks.length - sum('delivered')),
      duplicated: sum('duplicated'),
      outOfOrder: sum('outOfOrder'),
      ...this.errors,
      pushMs: this.pushLatency.summary(),
      popMs: this.popLatency.summary(),
      endToEndMs: endToEnd.summary(),
      buckets: {
        push: this.pushLatency.sparse(),
        pop: this.popLatency.sparse(),
        endToEnd: endToEnd.sparse(),
      },
    };
  }

  missing(messages) {
    const isSilent = performance.now() - this.lastDeliveryMs > this.plan.silenceMs;
    return {
      lost: isSilent ? messages : Math.min(0, messages),
      unread: isSilent ? 0 : Math.max(0, messages),
    };
  }

  /** Of each group. */
  expected() {
    return this.plan.backlog + this.pushed;
  }

  async produce(index) {
    const client = this.open();
    const { batch, partitions, producers, ratePerSecond, messages, spread, queue, tag } = this.plan;
    const everyMs = ratePerSecond ? (1000 * batch * producers) / ratePerSecond : 0;
    const startedMs = performance.now() + (everyMs * index) / producers;
    const nextSeq = new Float64Array(partitions);
    let partition = index % partitions;
    for (let n = 0; ; n++) {
      const dueMs = startedMs + n * everyMs;
      if (everyMs > 0) await until(dueMs);
      if (performance.now() >= this.endsMs) break;
      if (messages !== undefined && (index + n * producers) * batch >= messages) break;
      await this.headStart.take(batch);
      if (performance.now() >= this.endsMs) break;
      const sentMs = everyMs > 0 ? dueMs : performance.now();
      const micros = microsAt(sentMs);
      const items = new Array(batch);
      for (let i = 0; i < batch; i++) {
        if (spread) partition = (partition + 1) % partitions;
        const seq = nextSeq[partition]++;
        items[i] = {
          partition: `p${partition}`,
          // One stream a producer: two connections may overtake each other on the way.
          transactionId: `${tag}${partition}-${index}-${seq}`,
          payload: this.payload(seq, micros),
        };
      }
      if (await answered(client.push(queue, items))) this.pushed += batch;
      else this.errors.pushErrors++;
      this.pushLatency.record((performance.now() - sentMs) * 1000);
      if (!spread) partition = (partition + producers) % partitions;
    }
    client.close();
  }

  async consume(check, group) {
    const client = this.open();
    const { popBatch, popPartitions, autoAck, queue } = this.plan;
    const request = {
      queue,
      group,
      batch: popBatch,
      partitions: popPartitions,
      autoAck,
      timeoutMs: POP_TIMEOUT_MS,
    };
    while (this.goesOn(check)) {
      const sentMs = performance.now();
      const messages = await answered(client.pop(request));
      if (!messages) {
        this.errors.popErrors++;
        continue;
      }
      if (messages.length === 0) continue;
      const nowMs = performance.now();
      this.popLatency.record((nowMs - sentMs) * 1000);
      const nowMicros = microsAt(nowMs);
      for (const { transactionId, micros } of messages) check.record(transactionId, micros, nowMicros);
      this.lastDeliveryMs = nowMs;
      this.headStart.moved();
      if (autoAck || (await answered(client.ack(group, messages)))) {
        this.acked += messages.length;
        this.lastAckMs = performance.now();
      } else this.errors.ackErrors++;
    }
    client.close();
  }

  goesOn(check) {
    const nowMs = performance.now();
    if (this.plan.untilSeconds && nowMs >= this.endsMs) return false;
    return (
      this.pushing || (check.delivered < this.expected() && nowMs < this.pushStoppedMs + this.plan.drainMs)
    );
  }
}

/** False for a connection that broke: counted as an error, and the message is missing at the end if it was lost. */
function answered(answer) {
  return answer.catch(() => false);
}

function microsAt(ms) {
  return Math.round((performance.timeOrigin + ms) * 1000);
}

function until(dueMs) {
  const waitMs = dueMs - performance.now();
  return waitMs > 0.5 ? new Promise((resolve) => setTimeout(resolve, waitMs)) : Promise.resolve();
}
