import { int4Array, int8Array, textArray } from '../../../dist/raw-sql/binary-array.js';

const FLIGHTS = 1;
const ROWS_MAX = 1000;
const TEXT =
  'select * from queen.log_ack_multi_v1($1::text[], $2::text[], $3::bigint[], $4::text[], $5::int[])';

/** Acks of whole batches: one cursor move each, many cursors a commit. */
export class Acks {
  static flights = FLIGHTS;
  ready = [];

  /** @param leases what the pops have handed out */
  constructor(leases) {
    this.leases = leases;
  }

  /** @returns whether the lease was there and the cursor has moved */
  add(group, leaseId, partitionId) {
    const key = `${leaseId}${partitionId}`;
    const lease = this.leases.get(key);
    if (!lease) return Promise.resolve(false);
    this.leases.delete(key);
    return new Promise((resolve, reject) => {
      this.ready.push({ name: group, leaseId, lease, resolve, reject });
    });
  }

  fly(rows) {
    const moves = this.ready.splice(0, ROWS_MAX);
    return moves.length === 0 ? null : this.send(rows, moves);
  }

  async send(rows, moves) {
    try {
      const [[{ results }]] = await rows('ack', TEXT, [
        textArray(moves.map(({ lease }) => lease.partitionId)),
        textArray(moves.map(({ name }) => name)),
        int8Array(moves.map(({ lease }) => lease.end)),
        textArray(moves.map(({ leaseId }) => leaseId)),
        int4Array(moves.map(({ lease }) => lease.count)),
      ]);
      moves.forEach(({ lease, resolve }, k) => {
        lease.group.giveBack([lease.one]);
        resolve(results[k].ok);
      });
    } catch (error) {
      for (const { reject } of moves) reject(error);
    }
  }
}
