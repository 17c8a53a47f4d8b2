import { Global, Module, type DynamicModule } from '@nestjs/common';
import { OWN_HINT_BUS } from '../../src/hints/hint-bus.js';
import type { TcpHintBus } from './tcp-hint-bus.js';

/** Global, because the hints module asks for the token and knows nothing of this one. */
@Global()
@Module({})
export class TcpHintsModule {
  static with(bus: TcpHintBus): DynamicModule {
    return {
      module: TcpHintsModule,
      providers: [{ provide: OWN_HINT_BUS, useValue: bus }],
      exports: [OWN_HINT_BUS],
    };
  }
}
