import { HeadStart } from '../lib/head-start.mjs';
import { Histogram } from '../lib/histogram.mjs';
import { payloadMaker } from '../lib/payloads.mjs';

/**
 * One plan (as in lib/generator.mjs) against another queue. Every message has a number: one that comes twice is counted,
 * one that never comes as well. Order is not looked at: none of the peers orders by key in these runs.
 *
 * @param lane what an adapter's open() gave: { push(texts), consume({ consumers, batch, delivered, acked }), close() }
 * @param cpuMs of the peer's servers so far
 */
export async function runPeer(lane, plan, cpuMs) {
  const run = new PeerRun(lane, {
    bytes: 256,
    kind: 'random',
    drainMs: 15_000,
    popBatch: plan.batch,
    ...plan,
  });
  if (plan.backlog) await run.fill(plan.backlog);
  const before = { server: cpuMs(), client: process.cpuUsage() };
  const result = await run.go();
  const { user, system } = process.cpuUsage(before.client);
  const messages = Math.max(1, result.pushed, result.delivered);
  return {
    ...result,
    serverCpuMicros: round(((cpuMs() - before.server) * 1000) / messages),
    clientCpuMicros: round((user + system) / messages),
  };
}

const SILENCE_MS = 3000;

class PeerRun {
  sent = 0;
  pushed = 0;
  delivered = 0;
  acked = 0;
  duplicated = 0;
  pushErrors = 0;
  lastAckMs = 0;
  pushLatency = new Histogram();
  endToEnd = new Histogram();
  seen = new Uint8Array(1 << 20);
  filled = 0;
  lastDeliveryMs = performance.now();

  constructor(lane, plan) {
    this.lane = lane;
    this.plan = plan;
    const aheadMax = plan.consumers > 0 ? (plan.aheadMax ?? Infinity) : Infinity;
    this.headStart = new HeadStart(aheadMax, () => this.delivered);
    this.payload = payloadMaker(plan.bytes, plan.kind);
  }

  /** Pushes a backlog as fast as it goes, for as long as a fill may take. */
  async fill({ messages, seconds }) {
    const endsMs = performance.now() + seconds * 1000;
    const more = () => performance.now() < endsMs && this.sent < messages;
    await Promise.all(Array.from({ length: 8 }, () => this.produce(100, 0, 0, more)));
    this.filled = this.pushed;
  }

  async go() {
    const { producers, consumers, batch, ratePerSecond, seconds } = this.plan;
    const startedMs = performance.now();
    const endsMs = startedMs + seconds * 1000;
    const timer = setTimeout(() => this.headStart.open(), seconds * 1000);
    const consumer =
      consumers > 0
        ? await this.lane.consume({
            consumers,
            batch: this.plan.popBatch,
            delivered: (heads) => this.record(heads),
            acked: (count) => this.ack(count),
          })
        : null;
    const everyMs = ratePerSecond ? (1000 * batch * producers) / ratePerSecond : 0;
    const more = () => performance.now() < endsMs;
    await Promise.all(
      Array.from({ length: producers }, (_, i) =>
        this.produce(batch, everyMs, (everyMs * i) / producers, more),
      ),
    );
    clearTimeout(timer);
    const pushSeconds = (performance.now() - startedMs) / 1000;
    if (consumer) {
      await this.drained(this.plan.untilSeconds ? endsMs : performance.now() + this.plan.drainMs);
      await consumer.stop();
    }
    return {
      pushedPerSecond: producers > 0 ? Math.round((this.pushed - this.filled) / pushSeconds) : 0,
      ackedPerSecond: this.acked > 0 ? Math.round(this.acked / ((this.lastAckMs - startedMs) / 1000)) : 0,
      pushed: this.pushed - this.filled,
      delivered: this.delivered,
      acked: this.acked,
      ...this.missing(consumer && !this.plan.untilSeconds ? this.pushed - this.delivered : 0),
      duplicated: this.duplicated,
      pushErrors: this.pushErrors,
      pushMs: this.pushLatency.summary(),
      endToEndMs: this.endToEnd.summary(),
    };
  }

  /** Slow is not lost: something came until the end. */
  missing(messages) {
    const isSilent = performance.now() - this.lastDeliveryMs > SILENCE_MS;
    return { lost: isSilent ? messages : 0, unread: isSilent ? 0 : messages };
  }

  async produce(batch, everyMs, offsetMs, more) {
    const startedMs = performance.now() + offsetMs;
    for (let n = 0; more(); n++) {
      const dueMs = startedMs + n * everyMs;
      if (everyMs > 0) await until(dueMs);
      await this.headStart.take(batch);
      if (!more()) break;
      const sentMs = everyMs > 0 ? dueMs : performance.now();
      const micros = Math.round((performance.timeOrigin + sentMs) * 1000);
      const texts = Array.from({ length: batch }, () => this.payload(this.sent++, micros));
      try {
        await this.lane.push(texts);
        this.pushed += batch;
      } catch (error) {
        if (this.pushErrors++ === 0) console.error(error);
      }
      this.pushLatency.record((performance.now() - sentMs) * 1000);
    }
  }

  /** @param heads `{ s, t }` of each message: its number, and when it was sent in microseconds */
  record(heads) {
    const nowMicros = (performance.timeOrigin + performance.now()) * 1000;
    for (const { s, t } of heads) {
      if (s >= this.seen.length) this.grow(s);
      if (this.seen[s]++ > 0) this.duplicated++;
      else this.delivered++;
      this.endToEnd.record(nowMicros - t);
    }
    this.lastDeliveryMs = performance.now();
    this.headStart.moved();
  }

  ack(count) {
    this.acked += count;
    this.lastAckMs = performance.now();
    if (this.acked >= this.pushed) this.allAcked?.();
  }

  /** Returns when everything was acked, or at the deadline. */
  async drained(deadlineMs) {
    if (this.acked >= this.pushed) return;
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, deadlineMs - performance.now());
      this.allAcked = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  grow(atLeast) {
    const seen = new Uint8Array(Math.max(this.seen.length * 2, atLeast + 1));
    seen.set(this.seen);
    this.seen = seen;
  }
}

/** Number and time of a message from its text, without parsing the rest. */
export function headOf(text) {
  const comma = text.indexOf(',');
  return { s: Number(text.slice(5, comma)), t: Number(text.slice(comma + 5, text.indexOf(',', comma + 5))) };
}

function until(dueMs) {
  const waitMs = dueMs - performance.now();
  return waitMs > 0.5 ? new Promise((resolve) => setTimeout(resolve, waitMs)) : Promise.resolve();
}

const round = (value) => Math.round(value * 100) / 100;
