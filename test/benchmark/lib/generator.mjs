import { Client } from 'undici';
import { Histogram } from './histogram.mjs';
import { messagesIn } from './messages-in.mjs';
import { payloadMaker } from './payloads.mjs';

/**
 * The load of one run over HTTP: `producers` connections push, `consumers` connections pop and ack. Every message is
 * checked: lost, duplicated, out of order are counted. With `ratePerSecond` pushes start on schedule and latency counts
 * from the scheduled time, so that a stall is not hidden by the generator's waiting.
 *
 * @param {string} base address of a broker
 * @param {{
 *   queue: string, seconds: number, batch: number, partitions: number, producers: number, consumers: number,
 *   popBatch?: number, popPartitions?: number, autoAck?: boolean, groups?: number, bytes?: number, kind?: string,
 *   ratePerSecond?: number, messages?: number, spread?: boolean, ownIds?: boolean, drainMs?: number,
 * }} plan `messages`: push so many and stop; `spread`: each batch goes over all partitions instead of one
 */
export async function generate(base, plan) {
  const run = new Run(base, plan);
  return run.go();
}

class Run {
  constructor(base, plan) {
    this.base = base;
    this.plan = {
      popBatch: plan.batch,
      popPartitions: 1,
      groups: 1,
      bytes: 256,
      kind: 'random',
      drainMs: 15_000,
      ...plan,
    };
    this.payload = payloadMaker(this.plan.bytes, this.plan.kind);
    this.nextSeq = new Float64Array(this.plan.partitions);
    this.pushed = 0;
    this.acked = 0;
    this.delivered = 0;
    this.out = { duplicated: 0, outOfOrder: 0, pushErrors: 0, popErrors: 0, ackErrors: 0 };
    this.pushLatency = new Histogram();
    this.popLatency = new Histogram();
    this.endToEnd = new Histogram();
    this.pushing = true;
    this.groups = Array.from({ length: this.plan.groups }, (_, i) => ({
      name: `g${i}`,
      last: new Map(),
      delivered: 0,
    }));
    this.pushStops = Infinity;
  }

  async go() {
    const { producers, consumers } = this.plan;
    const startedMs = performance.now();
    this.endsMs = startedMs + this.plan.seconds * 1000;
    const pushers = Array.from({ length: producers }, (_, i) => this.produce(i));
    const poppers = this.groups.flatMap((group) =>
      Array.from({ length: consumers }, (_, i) => this.consume(group, i)),
    );
    await Promise.all(pushers);
    this.pushing = false;
    const pushSeconds = (performance.now() - startedMs) / 1000;
    this.pushStops = performance.now();
    await Promise.all(poppers);
    const seconds = ((this.lastDelivery ?? performance.now()) - startedMs) / 1000;
    const lost =
      consumers > 0 ? this.groups.reduce((sum, group) => sum + this.expected() - group.delivered, 0) : 0;
    return {
      pushedPerSecond: Math.round(this.pushed / pushSeconds),
      ackedPerSecond: consumers > 0 ? Math.round(this.acked / seconds) : 0,
      pushed: this.pushed,
      delivered: this.delivered,
      acked: this.acked,
      lost,
      ...this.out,
      pushMs: this.pushLatency.summary(),
      popMs: this.popLatency.summary(),
      endToEndMs: this.endToEnd.summary(),
    };
  }

  expected() {
    return this.plan.backlog ?? this.pushed;
  }

  async produce(index) {
    const client = new Client(this.base, { pipelining: 1 });
    const { batch, partitions, producers, ratePerSecond, messages, spread, queue } = this.plan;
    const everyMs = ratePerSecond ? (1000 * batch * producers) / ratePerSecond : 0;
    const startedMs = performance.now() + (everyMs * index) / producers;
    let partition = index % partitions;
    for (let n = 0; ; n++) {
      const dueMs = startedMs + n * everyMs;
      if (everyMs > 0) await until(dueMs);
      if (performance.now() >= this.endsMs) break;
      if (messages !== undefined && (index + n * producers) * batch >= messages) break;
      const micros = Math.round((performance.timeOrigin + (everyMs > 0 ? dueMs : performance.now())) * 1000);
      const items = new Array(batch);
      for (let i = 0; i < batch; i++) {
        if (spread) partition = (partition + 1) % partitions;
        const seq = this.nextSeq[partition]++;
        items[i] =
          `{"queue":"${queue}","partition":"p${partition}","transactionId":"p${partition}-${seq}","payload":${this.payload(seq, micros)}}`;
      }
      const sentMs = everyMs > 0 ? dueMs : performance.now();
      const answer = await send(client, 'POST', '/api/v1/push', `{"items":[${items.join(',')}]}`);
      this.pushLatency.record((performance.now() - sentMs) * 1000);
      if (answer.status === 201) {
        this.pushed += batch;
        if (answer.text.includes('"status":"duplicate"') || answer.text.includes('"status":"failed"'))
          this.out.pushErrors++;
      } else this.out.pushErrors++;
      if (!spread) partition = (partition + producers) % partitions;
    }
    await client.close();
  }

  async consume(group, index) {
    const client = new Client(this.base, { pipelining: 1 });
    const { popBatch, popPartitions, autoAck, queue, drainMs } = this.plan;
    const path = `/api/v1/pop/queue/${queue}?consumerGroup=${group.name}&batch=${popBatch}&partitions=${popPartitions}&wait=true&timeout=500${autoAck ? '&autoAck=true' : ''}`;
    void index;
    while (
      this.pushing ||
      (group.delivered < this.expected() && performance.now() < this.pushStops + drainMs)
    ) {
      const sentMs = performance.now();
      const answer = await send(client, 'GET', path);
      if (answer.status === 204) continue;
      if (answer.status !== 200) {
        this.out.popErrors++;
        continue;
      }
      const nowMs = performance.now();
      this.popLatency.record((nowMs - sentMs) * 1000);
      const messages = messagesIn(answer.text);
      this.check(group, messages, Math.round((performance.timeOrigin + nowMs) * 1000));
      this.lastDelivery = nowMs;
      if (!autoAck) await this.ack(client, group, messages);
      else this.acked += messages.length;
    }
    await client.close();
  }

  check(group, messages, nowMicros) {
    for (const { partition, seq, micros } of messages) {
      const last = group.last.get(partition) ?? -1;
      if (seq === last + 1) {
        group.last.set(partition, seq);
        group.delivered++;
        this.delivered++;
      } else if (seq <= last) this.out.duplicated++;
      else {
        this.out.outOfOrder++;
        group.last.set(partition, seq);
        group.delivered++;
        this.delivered++;
      }
      this.endToEnd.record(nowMicros - micros);
    }
  }

  async ack(client, group, messages) {
    const acks = messages.map(
      ({ transactionId, partitionId, leaseId }) =>
        `{"transactionId":"${transactionId}","partitionId":"${partitionId}","leaseId":"${leaseId}","status":"completed"}`,
    );
    const answer = await send(
      client,
      'POST',
      '/api/v1/ack/batch',
      `{"consumerGroup":"${group.name}","acknowledgments":[${acks.join(',')}]}`,
    );
    if (answer.status !== 200 || answer.text.includes('"success":false')) this.out.ackErrors++;
    else this.acked += messages.length;
  }
}

async function send(client, method, path, body) {
  const { statusCode, body: stream } = await client.request({ method, path, body });
  return { status: statusCode, text: await stream.text() };
}

function until(dueMs) {
  const waitMs = dueMs - performance.now();
  return waitMs > 0.5 ? new Promise((resolve) => setTimeout(resolve, waitMs)) : Promise.resolve();
}
