/** A partition that was written here and that other brokers do not know of yet. */
export interface DirtyMark {
  key: string;
  partition: string;
  /** Set when only this group's ring may have work (a seek), unset when any group may. */
  group?: string;
}

/**
 * Whoever carries hints to other brokers. Told once when marks begin to collect, it fetches them with
 * `HotlistService.drainDirty` at its own pace. Without a sink nothing is collected.
 */
export interface HintSink {
  onDirty(): void;
}

export const HINT_SINK = Symbol('HintSink');
