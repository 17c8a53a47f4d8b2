import { Module } from '@nestjs/common';
import { environmentConfig } from '../base/config/environment.js';
import { ACK_REGISTRY_OPTIONS, ackRegistryOptions } from './ack-registry.options.js';
import { AckRegistry } from './ack-registry.js';
import { PartitionMemo } from './partition-memo.js';

/** Pop writes it, ack and lease read it: neither feature needs the other. Needs CLOCK from a global module. */
@Module({
  providers: [
    AckRegistry,
    PartitionMemo,
    { provide: ACK_REGISTRY_OPTIONS, useFactory: ackRegistryOptions, inject: [environmentConfig.KEY] },
  ],
  exports: [AckRegistry, PartitionMemo],
})
export class AckRegistryModule {}
