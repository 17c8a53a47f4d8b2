import { randomUUID } from 'node:crypto';
import { int4Array, textArray, uuidArray } from '../../../dist/raw-sql/binary-array.js';

const FLIGHTS = 2;
const JOBS_MAX = 64;
const LEASE_SECONDS = 60;
const TENANT = '00000000-0000-0000-0000-000000000001';
const TEXT = `select r_part, r_partition_id, r_base, r_start_idx, r_take, r_created_at, r_blob from queen.log_pop_multi_v1(
  $1::uuid[], $2::text[], $3::text[], $4::int[], $5::int[], $6::text[], $7::boolean[], $8::int[], $9::text[], $10::text[],
  $11::boolean[], $12::text[], $13::int[])`;

/**
 * Pops of concurrent requests in one statement. Which partitions have messages is known from the pushes that came
 * through this process: a set of names a group, and nothing more.
 */
export class Pops {
  static flights = FLIGHTS;
  waiting = [];
  leases = new Map();

  /** @param groups finds the group of (queue, name) */
  constructor(groups) {
    this.groups = groups;
  }

  /** @returns claimed parts `{ name, partitionId, createdAtMicros, blob, start, take }`, none at the deadline */
  add({ queue, group, batch, partitions, autoAck, timeoutMs }) {
    return new Promise((resolve, reject) => {
      const pop = { queue, group, batch, partitions, autoAck, resolve, reject, over: false };
      pop.timer = setTimeout(() => {
        pop.over = true;
        resolve({ leaseId: '', parts: [] });
      }, timeoutMs);
      this.waiting.push(pop);
    });
  }

  fly(rows) {
    const jobs = [];
    const still = [];
    for (const pop of this.waiting) {
      if (pop.over) continue;
      const taken = jobs.length < JOBS_MAX ? this.groups(pop.queue, pop.group).take(pop) : [];
      if (taken.length === 0) {
        still.push(pop);
        continue;
      }
      clearTimeout(pop.timer);
      jobs.push({ pop, taken, leaseId: randomUUID() });
    }
    this.waiting = still;
    return jobs.length === 0 ? null : this.send(rows, jobs);
  }

  async send(rows, jobs) {
    const answers = jobs.map(() => []);
    const names = jobs.flatMap(({ taken }, k) => taken.map(({ name }) => ({ name, k })));
    const texts = (pick) => textArray(jobs.map(pick));
    const booleans = (pick) => `{${jobs.map(pick).join()}}`;
    try {
      const found = await rows('pop', TEXT, [
        uuidArray(jobs.map(() => TENANT)),
        texts(({ pop }) => pop.queue),
        texts(({ pop }) => pop.group),
        int4Array(jobs.map(({ pop }) => pop.batch)),
        int4Array(jobs.map(() => LEASE_SECONDS)),
        texts(({ leaseId }) => leaseId),
        booleans(({ pop }) => pop.autoAck),
        int4Array(jobs.map(({ pop }) => pop.partitions)),
        texts(() => 'all'),
        texts(() => ''),
        booleans(() => false),
        textArray(names.map(({ name }) => name)),
        int4Array(names.map(({ k }) => k + 1)),
      ]);
      for (const [part, partitionId, base, start, take, createdAtMicros, blob] of found) {
        if (take === null) continue;
        const { name, k } = names[part - 1];
        answers[k].push({ name, partitionId, base, start, take, createdAtMicros, blob });
      }
      jobs.forEach((job, k) => this.handOut(job, answers[k]));
    } catch (error) {
      for (const { pop, taken } of jobs) {
        this.groups(pop.queue, pop.group).giveBack(taken);
        pop.reject(error);
      }
    }
  }

  handOut({ pop, taken, leaseId }, parts) {
    const group = this.groups(pop.queue, pop.group);
    const byName = new Map();
    for (const part of parts) {
      const end = part.base + part.start + part.take - 1;
      const batch = byName.get(part.name);
      byName.set(part.name, {
        partitionId: part.partitionId,
        end: Math.max(end, batch?.end ?? -1),
        count: part.take + (batch?.count ?? 0),
      });
    }
    for (const one of taken) {
      const batch = byName.get(one.name);
      if (batch) group.taken(one, batch.count);
      if (batch && !pop.autoAck) this.leases.set(`${leaseId}${batch.partitionId}`, { one, group, ...batch });
      else group.giveBack([one]);
    }
    if (parts.length === 0) this.waitAgain(pop);
    else pop.resolve({ leaseId, parts });
  }

  /** Its partitions were with somebody else after all. */
  waitAgain(pop) {
    this.add({ ...pop, timeoutMs: 100 }).then(pop.resolve, pop.reject);
  }
}
