import { procedure, scalarProcedure } from '../raw-sql/procedure.js';

export interface MaintenanceFlags {
  readonly push: boolean;
  readonly pop: boolean;
}

export const maintenanceFlagsV1 = procedure<void, MaintenanceFlags>({
  name: 'maintenance_flags_v1',
  parameterTypes: [],
  values: () => [],
  row: ([push, pop]) => ({ push: push as boolean, pop: pop as boolean }),
});

export type MaintenanceKey = 'maintenance_mode' | 'pop_maintenance_mode';

export const setMaintenanceFlagV1 = scalarProcedure<{ key: MaintenanceKey; enabled: boolean }, boolean>({
  name: 'set_maintenance_flag_v1',
  parameterTypes: ['text', 'boolean'],
  values: ({ key, enabled }) => [key, enabled],
});
