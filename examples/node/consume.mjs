/* Consumes a queue with nothing but Node: batches over several partitions, one ack request a batch. */
const url = process.env.QUEEN_URL ?? 'http://localhost:6632';
const { QUEUE: queue, GROUP: group = 'node' } = process.env;
let left = Number(process.env.COUNT ?? Infinity);

while (left > 0) {
  const query = new URLSearchParams({
    consumerGroup: group,
    batch: '100',
    partitions: '10',
    wait: 'true',
    timeout: '10000',
  });
  const answer = await fetch(`${url}/api/v1/pop/queue/${encodeURIComponent(queue)}?${query}`);
  if (answer.status === 204) continue; // nothing came within the timeout
  if (!answer.ok) {
    console.error(`pop answered ${answer.status}: ${await answer.text()}`);
    await new Promise((resolve) =>
      setTimeout(resolve, 1000 * Number(answer.headers.get('retry-after') ?? 1)),
    );
    continue;
  }
  const { messages } = await answer.json();
  const acknowledgments = [];
  const stopped = new Set();
  for (const message of messages) {
    const { transactionId, partitionId, leaseId } = message;
    // What follows a failed message in its partition comes again after it: handling it now would be out of order.
    if (stopped.has(partitionId)) continue;
    try {
      handle(message);
      acknowledgments.push({ transactionId, partitionId, leaseId, status: 'completed' });
    } catch (error) {
      // It comes again, and goes to the dead letters when it keeps failing.
      stopped.add(partitionId);
      acknowledgments.push({ transactionId, partitionId, leaseId, status: 'failed', error: String(error) });
    }
  }
  const acked = await fetch(`${url}/api/v1/ack/batch`, {
    method: 'POST',
    body: JSON.stringify({ consumerGroup: group, acknowledgments }),
  });
  for (const { success, error } of await acked.json()) if (!success) console.error(`not acked: ${error}`);
  left -= acknowledgments.length;
}

function handle({ data }) {
  console.log(`got ${JSON.stringify(data)}`);
}
