import { Inject, Injectable, Optional } from '@nestjs/common';
import { BUFFER_REPORT, type BufferReport, type BufferStats } from '../base/buffer-stats.js';
import { QueueControls } from '../queue-controls/queue-controls.service.js';

/** Readings of the queue controls, one a second, that may fail before the database counts as away. */
const HEALTHY_AGE_MS = 5000;

/** What waits on disk for the database; nothing, where nobody keeps such a buffer. */
@Injectable()
export class Buffers {
  constructor(
    private readonly controls: QueueControls,
    @Optional() @Inject(BUFFER_REPORT) private readonly report?: BufferReport,
  ) {}

  stats(): BufferStats {
    return this.report?.stats() ?? { pending: 0, failed: 0, dbHealthy: this.controls.ageMs < HEALTHY_AGE_MS };
  }
}
