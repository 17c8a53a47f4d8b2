import { Module, type DynamicModule, type ModuleMetadata } from '@nestjs/common';
import { ConfigModule, registerAs } from '@nestjs/config';
import { AckModule } from './ack/ack.module.js';
import { AuthModule } from './auth/auth.module.js';
import { ClockModule } from './base/clock/clock.module.js';
import type { Environment } from './base/config/environment.js';
import { MaintenanceSwitchModule } from './base/maintenance/maintenance-switch.module.js';
import { QueueEventsModule } from './base/queue-events.module.js';
import type { WorkerGroup } from './base/worker-group/worker-group.js';
import { OptionsModule } from './boot/options.module.js';
import { GroupsModule } from './groups/groups.module.js';
import { DeadLettersModule } from './dead-letters/dead-letters.module.js';
import { MessagesModule } from './messages/messages.module.js';
import { TracesModule } from './traces/traces.module.js';
import { HealthModule } from './health/health.module.js';
import { HintOutletModule, HintsModule } from './hints/hints.module.js';
import { LeaseModule } from './lease/lease.module.js';
import { MetricsModule } from './metrics/metrics.module.js';
import { OpenApiModule } from './openapi/openapi.module.js';
import { PauseModule } from './pause/pause.module.js';
import { ResourcesModule } from './resources/resources.module.js';
import { StatusModule } from './status/status.module.js';
import { PopModule } from './pop/pop.module.js';
import { PushModule } from './push/push.module.js';
import { QueuesModule } from './queues/queues.module.js';
import type { DatabaseOptions } from './raw-sql/database-options.js';
import { RawSqlModule } from './raw-sql/raw-sql.module.js';
import { MaintenanceModule } from './maintenance/maintenance.module.js';
import { RetentionModule } from './retention/retention.module.js';
import { SpoolModule } from './spool/spool.module.js';
import { TransactionModule } from './transaction/transaction.module.js';

export type OwnModules = NonNullable<ModuleMetadata['imports']>;

/** The list of modules and nothing else. */
@Module({})
export class AppModule {
  /** @param own modules of a team's own, such as docs/extending.md shows */
  static with(
    environment: Environment,
    database: DatabaseOptions,
    group: WorkerGroup,
    own: OwnModules = [],
  ): DynamicModule {
    return {
      module: AppModule,
      imports: [
        ConfigModule.forRoot({
          isGlobal: true,
          ignoreEnvFile: true,
          load: [registerAs('environment', () => environment)],
        }),
        OptionsModule.with(environment, database, group),
        ClockModule,
        QueueEventsModule,
        MaintenanceSwitchModule,
        RawSqlModule,
        ...(environment.JWT_ENABLED ? [AuthModule] : []),
        HintOutletModule,
        PopModule,
        PushModule,
        AckModule,
        LeaseModule,
        QueuesModule,
        TransactionModule,
        GroupsModule,
        DeadLettersModule,
        MessagesModule,
        TracesModule,
        ResourcesModule,
        PauseModule,
        StatusModule,
        HealthModule,
        HintsModule,
        MetricsModule,
        MaintenanceModule,
        RetentionModule,
        SpoolModule,
        OpenApiModule,
        ...own,
      ],
    };
  }
}
