import { Inject, Injectable, Optional } from '@nestjs/common';
import { environmentConfig, type Environment } from '../../base/config/environment.js';
import { HotlistService } from '../../hotlist/hotlist.service.js';
import type { PopRequest } from '../pop.request.js';
import type { CandidateSource } from './candidate-source.js';
import { DiscoverySource } from './discovery.source.js';
import { OWN_SOURCES, type OwnSources } from './own-sources.js';
import { PartitionSource } from './partition.source.js';
import { PausedSource } from './paused.source.js';
import { RingSource } from './ring.source.js';
import { ScanSource } from './scan.source.js';
import { SeedMarkers } from './seed-markers.js';

/** Request and hot-list state → the one way that finds its candidates. */
@Injectable()
export class ChooseSource {
  constructor(
    private readonly ring: RingSource,
    private readonly scan: ScanSource,
    private readonly partition: PartitionSource,
    private readonly discovery: DiscoverySource,
    private readonly paused: PausedSource,
    private readonly seedMarkers: SeedMarkers,
    private readonly hotlist: HotlistService,
    @Inject(environmentConfig.KEY) private readonly environment: Environment,
    @Optional() @Inject(OWN_SOURCES) private readonly own: OwnSources | null = null,
  ) {}

  async for(request: PopRequest): Promise<CandidateSource> {
    const own = this.own?.sourceFor(request);
    if (own) return own;
    if (request.scope === 'discovery') return this.discovery;
    if (this.paused.holds(request)) return this.paused;
    if (request.scope === 'partition') return this.partition;
    if (!this.environment.QUEEN_HOTLIST) return this.scan;
    // Only a group that exists in the database gets a ring: an invented name must leave no trace in memory (G7).
    if (!this.seedMarkers.isKnown(request) && !(await this.seedMarkers.isSeeded(request))) return this.scan;
    this.hotlist.registerRing(request.key, request.group);
    return this.ring;
  }
}
