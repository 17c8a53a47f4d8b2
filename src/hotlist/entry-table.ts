/** An entry index or a heap position that stands for "none". */
export const NONE = 0xffff_ffff;

const pageBits = 13;
const pageSize = 1 << pageBits;
const firstCapacity = 16;
const bytesPerEntry = 44;

/** `index & SLOT_MASK` is an entry's slot in its page. */
export const SLOT_MASK = pageSize - 1;

/** The columns of neighbouring entries, as views of one buffer. */
export class EntryPage {
  /** When the entry last joined the ready list. */
  readonly readySinceMs: Float64Array;
  /** When a mark or a reseed row last asserted work; 0 after the entry was cleared. */
  readonly pendingSinceMs: Float64Array;
  /** Neighbours in the ready list. */
  readonly next: Uint32Array;
  readonly prev: Uint32Array;
  /** +1 on every mark: a check-in sees whether one came while the entry was out. */
  readonly epoch: Uint32Array;
  /** Number of the check-out that holds the entry. */
  readonly owner: Uint32Array;
  /** Messages marked since the last reset; an estimate, saturating. */
  readonly count: Uint32Array;
  readonly heapPosition: Uint32Array;
  /** +1 on every lease release seen while the entry was out. */
  readonly releases: Uint16Array;
  readonly state: Uint8Array;
  /** 1 when the last claim of this ring emptied the partition. */
  readonly drained: Uint8Array;

  constructor(readonly capacity: number) {
    const buffer = new ArrayBuffer(capacity * bytesPerEntry);
    this.readySinceMs = new Float64Array(buffer, 0, capacity);
    this.pendingSinceMs = new Float64Array(buffer, capacity * 8, capacity);
    this.next = new Uint32Array(buffer, capacity * 16, capacity);
    this.prev = new Uint32Array(buffer, capacity * 20, capacity);
    this.epoch = new Uint32Array(buffer, capacity * 24, capacity);
    this.owner = new Uint32Array(buffer, capacity * 28, capacity);
    this.count = new Uint32Array(buffer, capacity * 32, capacity);
    this.heapPosition = new Uint32Array(buffer, capacity * 36, capacity);
    this.releases = new Uint16Array(buffer, capacity * 40, capacity);
    this.state = new Uint8Array(buffer, capacity * 42, capacity);
    this.drained = new Uint8Array(buffer, capacity * 43, capacity);
  }

  grownTo(capacity: number): EntryPage {
    const grown = new EntryPage(capacity);
    grown.readySinceMs.set(this.readySinceMs);
    grown.pendingSinceMs.set(this.pendingSinceMs);
    grown.next.set(this.next);
    grown.prev.set(this.prev);
    grown.epoch.set(this.epoch);
    grown.owner.set(this.owner);
    grown.count.set(this.count);
    grown.heapPosition.set(this.heapPosition);
    grown.releases.set(this.releases);
    grown.state.set(this.state);
    grown.drained.set(this.drained);
    return grown;
  }
}

/**
 * Entries of one ring in columns, so that a million partitions are a few hundred buffers instead of a million
 * objects. Only the first page is ever copied (a queue with one partition must not pay for 8,192); after that,
 * growing allocates and moves nothing. A page found before `ensure` may be stale after it.
 */
export class EntryTable {
  private readonly pages: EntryPage[] = [];
  private capacity = 0;

  /** Makes room for the entry; new entries are all zero. */
  ensure(index: number): void {
    while (index >= this.capacity) {
      if (this.capacity < pageSize) {
        const capacity = Math.max(firstCapacity, this.capacity * 2);
        this.pages[0] = this.pages[0]?.grownTo(capacity) ?? new EntryPage(capacity);
        this.capacity = capacity;
      } else {
        this.pages.push(new EntryPage(pageSize));
        this.capacity += pageSize;
      }
    }
  }

  has(index: number): boolean {
    return index < this.capacity;
  }

  page(index: number): EntryPage {
    return this.pages[index >>> pageBits]!;
  }
}
