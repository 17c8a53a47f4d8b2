const splitSize = 8192;
const shardCount = 1024;

/**
 * Text → number, for a million texts. One Map of that size stands still for a hundred milliseconds whenever it
 * doubles, and everybody waits. Beyond a few thousand entries they are spread over many small Maps, each of which
 * doubles in a fraction of a millisecond.
 */
export class NameIndex {
  private whole: Map<string, number> | undefined = new Map();
  private shards: Map<string, number>[] = [];

  get(name: string): number | undefined {
    return this.mapOf(name).get(name);
  }

  set(name: string, value: number): void {
    this.mapOf(name).set(name, value);
    if (this.whole && this.whole.size > splitSize) this.split(this.whole);
  }

  delete(name: string): void {
    this.mapOf(name).delete(name);
  }

  private mapOf(name: string): Map<string, number> {
    return this.whole ?? this.shards[shardOf(name)]!;
  }

  private split(whole: Map<string, number>): void {
    this.shards = Array.from({ length: shardCount }, () => new Map<string, number>());
    for (const [name, value] of whole) this.shards[shardOf(name)]!.set(name, value);
    this.whole = undefined;
  }
}

/** From the last characters: numbered names and time-ordered ids differ there. */
function shardOf(name: string): number {
  const { length } = name;
  let hash = length;
  for (let at = length > 6 ? length - 6 : 0; at < length; at++) {
    hash = ((hash << 5) - hash + name.charCodeAt(at)) | 0;
  }
  return (hash ^ (hash >>> 10)) & (shardCount - 1);
}
