/** Where messages go. One object per partition and request, shared by its messages. */
export interface PartitionTarget {
  readonly tenant: string;
  readonly queue: string;
  readonly partition: string;
  /** Equal for equal addresses, different for different ones. */
  readonly key: string;
}

const separator = '\u001f';

/**
 * Queue and partition names may hold any character, the separator too: the queue's length keeps `a` + `bc` and
 * `ab` + `c` apart. A tenant never holds the separator.
 */
export function partitionTarget(tenant: string, queue: string, partition: string): PartitionTarget {
  const key = tenant + separator + queue.length + separator + queue + partition;
  return { tenant, queue, partition, key };
}
