/**
 * The messages of a pop answer without JSON.parse of every payload: the generator must not be what limits the run.
 * Yields transactionId, partition, seq and time of each; leaseId and partitionId come from the message too.
 */
const TXN = '"transactionId":"';
const SEQ = '"data":{"s":';
const TIME = ',"t":';
const PARTITION_ID = '"partitionId":"';
const PARTITION = '"partition":"';
const LEASE = '"leaseId":"';

export function messagesIn(text) {
  const messages = [];
  let at = text.indexOf('"messages":[');
  for (;;) {
    at = text.indexOf(TXN, at);
    if (at < 0) return messages;
    const txnEnd = text.indexOf('"', at + TXN.length);
    const transactionId = text.slice(at + TXN.length, txnEnd);
    const seqAt = text.indexOf(SEQ, txnEnd) + SEQ.length;
    const seqEnd = text.indexOf(TIME, seqAt);
    const timeEnd = text.indexOf(',', seqEnd + TIME.length);
    const pidAt = text.indexOf(PARTITION_ID, timeEnd) + PARTITION_ID.length;
    const nameAt = text.indexOf(PARTITION, pidAt + 36) + PARTITION.length;
    const nameEnd = text.indexOf('"', nameAt);
    const leaseAt = text.indexOf(LEASE, nameEnd) + LEASE.length;
    messages.push({
      transactionId,
      seq: Number(text.slice(seqAt, seqEnd)),
      micros: Number(text.slice(seqEnd + TIME.length, timeEnd)),
      partitionId: text.slice(pidAt, pidAt + 36),
      partition: text.slice(nameAt, nameEnd),
      leaseId: text.slice(leaseAt, text.indexOf('"', leaseAt)),
    });
    at = leaseAt;
  }
}
