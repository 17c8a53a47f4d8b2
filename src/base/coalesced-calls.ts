/**
 * Shares one running call per key between callers who came before it started. A caller who arrives while a call is
 * running does not join it (its answer may be older than the caller's question) but shares the next one: ten thousand
 * parked pops that look at once cost two probes, and none of them sees a stale answer.
 */
export class CoalescedCalls<T> {
  private readonly running = new Map<string, Promise<T>>();
  private readonly next = new Map<string, Promise<T>>();

  call(key: string, start: () => Promise<T>): Promise<T> {
    const waiting = this.next.get(key);
    if (waiting) return waiting;
    const running = this.running.get(key);
    if (!running) return this.begin(key, start);
    const queued = running.then(
      () => this.begin(key, start),
      () => this.begin(key, start),
    );
    this.next.set(key, queued);
    return queued;
  }

  private begin(key: string, start: () => Promise<T>): Promise<T> {
    this.next.delete(key);
    const call = start().finally(() => {
      if (this.running.get(key) === call) this.running.delete(key);
    });
    this.running.set(key, call);
    return call;
  }
}
