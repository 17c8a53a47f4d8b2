/** What one group has not read of one queue: how many messages a partition, and which partitions nobody is reading. */
class Group {
  partitions = new Map();
  ready = new Set();

  add(name, messages) {
    let one = this.partitions.get(name);
    if (!one) this.partitions.set(name, (one = { name, pending: 0, busy: false }));
    one.pending += messages;
    if (!one.busy) this.ready.add(one);
  }

  /** Partitions for one pop, until they hold its batch or are as many as it wants; nobody else gets them meanwhile. */
  take({ batch, partitions }) {
    const taken = [];
    let messages = 0;
    for (const one of this.ready) {
      if (taken.length === partitions || messages >= batch) break;
      this.ready.delete(one);
      one.busy = true;
      messages += one.pending;
      taken.push(one);
    }
    return taken;
  }

  taken(one, messages) {
    one.pending -= messages;
  }

  giveBack(partitions) {
    for (const one of partitions) {
      one.busy = false;
      if (one.pending > 0) this.ready.add(one);
    }
  }
}

/** All groups of all queues, fed by the pushes of this process. A group begins with everything that was pushed before. */
export class Groups {
  queues = new Map();

  stored(queue, partition, messages) {
    const { totals, groups } = this.queue(queue);
    totals.set(partition, (totals.get(partition) ?? 0) + messages);
    for (const group of groups.values()) group.add(partition, messages);
  }

  group(queue, name) {
    const { totals, groups } = this.queue(queue);
    let group = groups.get(name);
    if (!group) {
      groups.set(name, (group = new Group()));
      for (const [partition, messages] of totals) group.add(partition, messages);
    }
    return group;
  }

  queue(name) {
    let queue = this.queues.get(name);
    if (!queue) this.queues.set(name, (queue = { totals: new Map(), groups: new Map() }));
    return queue;
  }
}
