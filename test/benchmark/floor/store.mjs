import { Acks } from './acks.mjs';
import { Flights } from './flights.mjs';
import { Groups } from './groups.mjs';
import { Pops } from './pops.mjs';
import { Pushes } from './pushes.mjs';

/** Push, pop and ack over the broker's procedures with coalescing, and nothing else. */
export async function openStore(databaseUrl) {
  const groups = new Groups();
  const pushes = new Pushes((queue, partition, messages) => groups.stored(queue, partition, messages));
  const pops = new Pops((queue, name) => groups.group(queue, name));
  const acks = new Acks(pops.leases);
  const popFlights = await Flights.open(databaseUrl, Pops.flights, (rows) => pops.fly(rows));
  // A push brings messages, and an ack frees a partition.
  const andThenPops = (lane) => (rows) => lane.fly(rows)?.finally(() => popFlights.kick()) ?? null;
  const pushFlights = await Flights.open(databaseUrl, Pushes.flights, andThenPops(pushes));
  const ackFlights = await Flights.open(databaseUrl, Acks.flights, andThenPops(acks));
  const kicked = (flights, answer) => {
    flights.kick();
    return answer;
  };
  return {
    /** @param {{ partition: string, transactionId: string, payload: string }[]} messages */
    push: (queue, messages) => kicked(pushFlights, pushes.add(queue, messages)),
    pop: (request) => kicked(popFlights, pops.add(request)),
    ack: (group, leaseId, partitionId) => kicked(ackFlights, acks.add(group, leaseId, partitionId)),
    /** Queues that others have filled: what they hold becomes known here. */
    async learn(queue) {
      const client = pushFlights.clients[0];
      const { rows } = await client.query({
        text: 'select p.name, p.last_offset + 1 from queen.log_partitions p join queen.queues q on q.id = p.queue_id where q.name = $1',
        values: [queue],
        rowMode: 'array',
        binary: true,
      });
      for (const [name, messages] of rows) groups.stored(queue, name, messages);
    },
    async close() {
      await Promise.all([pushFlights.close(), popFlights.close(), ackFlights.close()]);
    },
  };
}
