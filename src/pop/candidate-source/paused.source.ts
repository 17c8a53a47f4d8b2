import { Injectable } from '@nestjs/common';
import { QueueControls } from '../../queue-controls/queue-controls.service.js';
import type { ClaimedPartition } from '../claim.js';
import type { PopRequest } from '../pop.request.js';
import type { CandidateSource } from './candidate-source.js';
import { SeedMarkers } from './seed-markers.js';

/**
 * A queue that is paused for pops: nothing is there until it is resumed, and nobody is asked. The pop procedures hold
 * to the pause by themselves; this only saves asking them.
 */
@Injectable()
export class PausedSource implements CandidateSource {
  readonly path = 'paused';

  constructor(
    private readonly controls: QueueControls,
    private readonly seedMarkers: SeedMarkers,
  ) {}

  /** Not for a group's first contact: it is registered also now, or mode `new` would skip what comes during the pause. */
  holds(request: PopRequest): boolean {
    if (this.controls.areNone || !this.controls.popsArePaused(request.key)) return false;
    return request.scope === 'partition' || this.seedMarkers.isKnown(request);
  }

  mayHaveWork(): boolean {
    return false;
  }

  claim(): Promise<ClaimedPartition[]> {
    return Promise.resolve([]);
  }

  stillQuiet(request: PopRequest): boolean {
    return this.controls.popsArePaused(request.key);
  }

  estimate(): number {
    return 0;
  }
}
