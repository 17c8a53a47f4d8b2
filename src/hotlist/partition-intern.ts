import { NameIndex } from './name-index.js';
import { packId } from './pack-id.js';

/**
 * Names and ids of one queue's partitions, each as a small number that never changes while the queue is known here.
 * Shared by all groups of the queue, so a further group costs 44 bytes a partition and no strings.
 */
export class PartitionIntern {
  private readonly indexByName = new NameIndex();
  private readonly indexById = new NameIndex();
  private readonly names: string[] = [];
  private readonly ids: (string | undefined)[] = [];

  get size(): number {
    return this.names.length;
  }

  intern(name: string): number {
    const known = this.indexByName.get(name);
    if (known !== undefined) return known;
    const index = this.names.length;
    this.names.push(name);
    this.indexByName.set(name, index);
    return index;
  }

  /** Remembers the id of a partition. One made anew under its old name replaces the old id. */
  learn(index: number, id: string): void {
    const packed = packId(id);
    const before = this.ids[index];
    if (before === packed) return;
    if (before !== undefined) this.indexById.delete(before);
    // Filled up to here: an array with holes would turn into a dictionary.
    while (this.ids.length <= index) this.ids.push(undefined);
    this.ids[index] = packed;
    this.indexById.set(packed, index);
  }

  find(name: string): number | undefined {
    return this.indexByName.get(name);
  }

  findById(id: string): number | undefined {
    return this.indexById.get(packId(id));
  }

  name(index: number): string {
    return this.names[index]!;
  }
}
