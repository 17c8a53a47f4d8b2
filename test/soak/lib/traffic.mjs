import { Pool } from 'undici';
import { Histogram } from '../../benchmark/lib/histogram.mjs';

const QUEUE = 'roll';
const GROUP = 'g';
const PARTITIONS = 100;
const LEASE_SECONDS = 10;

/**
 * Paced pushes and consumers with leases against one address, every message accounted for. Latency counts from the time a
 * push was due to the delivery of its message, so that a stall is not hidden by waiting. A push without an answer is
 * repeated under its transactionId; an ack without an answer is repeated once the way its sender would.
 *
 * A second delivery is what the lease contract allows as long as no ack of the message was confirmed before; one after a
 * confirmed ack is a fault.
 */
export class Traffic {
  constructor(base, { name, rate, consumers }) {
    this.name = name;
    this.pool = new Pool(base, { connections: 512, pipelining: 1, bodyTimeout: 0, headersTimeout: 0 });
    this.rate = rate;
    this.consumers = consumers;
    this.pushing = true;
    this.popping = true;
    /** By sequence: when due, deliveries, whether an ack was confirmed. */
    this.messages = [];
    this.latency = new Histogram();
    this.pushLatency = new Histogram();
    this.counts = {
      ...{ pushed: 0, pushRepeats: 0, delivered: 0, acked: 0, ackRepeats: 0, ackRefusals: 0 },
      ...{ popFailures: 0, redelivered: 0, afterAck: 0, strangers: 0 },
    };
    this.slowest = [];
  }

  start() {
    this.running = [this.push(), ...Array.from({ length: this.consumers }, () => this.consume())];
  }

  /** Ends the pushes, waits until everything is acked (at most `drainMs`), and returns the account. */
  async finish(drainMs) {
    this.pushing = false;
    await this.running[0];
    const untilMs = performance.now() + drainMs;
    while (this.open().length > 0 && performance.now() < untilMs) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    this.popping = false;
    await Promise.all(this.running);
    await this.pool.close();
    const lost = this.messages.filter(({ deliveries }) => deliveries === 0).length;
    return {
      ...this.counts,
      lost,
      unacked: this.open().length - lost,
      endToEndMs: this.latency.summary(),
      pushMs: this.pushLatency.summary(),
      slowest: this.slowest,
    };
  }

  open() {
    return this.messages.filter(({ acked }) => !acked);
  }

  async push() {
    const everyMs = 1000 / this.rate;
    const startMs = performance.now();
    const underWay = new Set();
    for (let n = 0; this.pushing; n++) {
      const dueMs = startMs + n * everyMs;
      const waitMs = dueMs - performance.now();
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
      const one = this.pushOne(n, dueMs).finally(() => underWay.delete(one));
      underWay.add(one);
    }
    await Promise.all(underWay);
  }

  async pushOne(seq, dueMs) {
    this.messages[seq] = { dueMs, deliveries: 0, acked: false };
    const item = {
      queue: QUEUE,
      partition: `p${seq % PARTITIONS}`,
      transactionId: `${this.name} ${seq}`,
      payload: seq,
    };
    for (;;) {
      const { status, body } = await this.send('POST', '/api/v1/push', { items: [item] });
      if (status === 201 && ['queued', 'duplicate'].includes(body[0]?.status)) break;
      this.counts.pushRepeats++;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    this.counts.pushed++;
    this.pushLatency.record((performance.now() - dueMs) * 1000);
  }

  async consume() {
    const path =
      `/api/v1/pop/queue/${QUEUE}?consumerGroup=${GROUP}&batch=50&partitions=10&wait=true&timeout=5000` +
      `&leaseSeconds=${LEASE_SECONDS}`;
    while (this.popping) {
      const { status, body } = await this.send('GET', path);
      if (status === 204) continue;
      if (status !== 200) {
        this.counts.popFailures++;
        await new Promise((resolve) => setTimeout(resolve, 20));
        continue;
      }
      const nowMs = performance.now();
      for (const message of body.messages) this.deliver(message, nowMs);
      await this.ack(body.messages);
    }
  }

  deliver({ data }, nowMs) {
    this.counts.delivered++;
    const message = this.messages[data];
    if (!message) return void this.counts.strangers++;
    if (message.acked) this.counts.afterAck++;
    if (message.deliveries++ > 0) return void this.counts.redelivered++;
    const ms = nowMs - message.dueMs;
    this.latency.record(ms * 1000);
    if (ms > 1000 && this.slowest.length < 20) this.slowest.push({ seq: data, ms: Math.round(ms) });
  }

  async ack(messages) {
    const body = {
      consumerGroup: GROUP,
      acknowledgments: messages.map(({ transactionId, partitionId, leaseId }) => ({
        ...{ transactionId, partitionId, leaseId, status: 'completed' },
      })),
    };
    for (let attempt = 1; ; attempt++) {
      const { status, body: results } = await this.send('POST', '/api/v1/ack/batch', body);
      if (status === 200) {
        results.forEach(({ success }, i) => {
          if (!success) return void this.counts.ackRefusals++;
          this.messages[messages[i].data].acked = true;
          this.counts.acked++;
        });
        return;
      }
      if (attempt === 50) return;
      this.counts.ackRepeats++;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Status 0: no answer came. */
  async send(method, path, body) {
    try {
      const answer = await this.pool.request({
        method,
        path,
        body: body === undefined ? null : JSON.stringify(body),
        headers: body === undefined ? {} : { 'content-type': 'application/json' },
      });
      const text = await answer.body.text();
      return { status: answer.statusCode, body: text === '' ? null : JSON.parse(text) };
    } catch {
      return { status: 0, body: null };
    }
  }
}
