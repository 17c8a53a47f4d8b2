import { expect } from '@jest/globals';
import type { SegmentRow } from './rows.js';

/** The live segments of a partition: contiguous, and never younger than the next one (I1, I2, I5). */
export function expectSoundLog(segments: SegmentRow[]): void {
  segments.slice(1).forEach((segment, k) => {
    expect(segment.base).toBe(segments[k].end + 1);
    expect(segment.createdAt >= segments[k].createdAt).toBe(true);
  });
}
