/**
 * A bounded Map that forgets what was not used lately. Two generations: the young one takes every entry used, and when
 * it holds half of the bound it becomes the old one, whose unused entries are gone.
 *
 * Not a Map whose first key is deleted when it is full: a Map keeps its deleted entries for a while and walks over them
 * to its first key, which costs more than everything else here once thousands have been deleted.
 */
export class Generations<V> {
  private young = new Map<string, V>();
  private old = new Map<string, V>();

  constructor(private readonly entriesMax: number) {}

  get size(): number {
    return this.young.size + this.old.size;
  }

  get(key: string): V | undefined {
    const young = this.young.get(key);
    if (young !== undefined) return young;
    const old = this.old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: string, value: V): void {
    this.old.delete(key);
    this.young.set(key, value);
    if (this.young.size <= this.entriesMax / 2) return;
    this.old = this.young;
    this.young = new Map();
  }

  delete(key: string): void {
    this.young.delete(key);
    this.old.delete(key);
  }
}
