import { Injectable } from '@nestjs/common';
import type { HintSink } from '../hotlist/hint-sink.js';

/** What the hot-list tells about dirty marks; the hints service, which needs the hot-list itself, hooks in later. */
@Injectable()
export class HintOutlet implements HintSink {
  private listener: (() => void) | null = null;

  onDirty(): void {
    this.listener?.();
  }

  connect(listener: () => void): void {
    this.listener = listener;
  }
}
