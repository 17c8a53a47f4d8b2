import { Global, Module } from '@nestjs/common';
import { environmentConfig, type Environment } from '../base/config/environment.js';
import { HINT_SINK } from '../hotlist/hint-sink.js';
import { HotlistModule } from '../hotlist/hotlist.module.js';
import { QueueConfigModule } from '../queue-config/queue-config.module.js';
import { DATABASE_OPTIONS, type DatabaseOptions } from '../raw-sql/database-options.js';
import { WakeGateModule } from '../wake-gate/wake-gate.module.js';
import { HINT_BUS, OWN_HINT_BUS, type HintBus } from './hint-bus.js';
import { HintOutlet } from './hint-outlet.js';
import { HintsService } from './hints.service.js';
import { NotifyBus } from './notify.bus.js';
import { SilentBus } from './silent.bus.js';

/** Where the hot-list's marks leave; global, because the hot-list knows only the token. */
@Global()
@Module({
  providers: [HintOutlet, { provide: HINT_SINK, useExisting: HintOutlet }],
  exports: [HintOutlet, HINT_SINK],
})
export class HintOutletModule {}

/** Hints between brokers on one database. A global module may bring another transport under OWN_HINT_BUS. */
@Module({
  imports: [HotlistModule, QueueConfigModule, WakeGateModule],
  providers: [
    {
      provide: HINT_BUS,
      inject: [environmentConfig.KEY, DATABASE_OPTIONS, { token: OWN_HINT_BUS, optional: true }],
      useFactory: (environment: Environment, database: DatabaseOptions, own?: HintBus) =>
        own ?? (environment.QUEEN_HINT_BUS === 'pg' ? new NotifyBus(database) : new SilentBus()),
    },
    HintsService,
  ],
  exports: [HintsService],
})
export class HintsModule {}
