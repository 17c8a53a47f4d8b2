import { describe, expect, it } from '@jest/globals';
import type { Environment } from '../base/config/environment.js';
import { PopMaintenance, PushMaintenance } from '../base/maintenance/maintenance-switch.js';
import { Reconcile } from '../base/reconcile.js';
import type { RawSqlService } from '../raw-sql/raw-sql.service.js';
import type { WakeGateService } from '../wake-gate/wake-gate.service.js';
import type { MaintenanceFlags } from './maintenance.procedures.js';
import { MaintenanceService } from './maintenance.service.js';

const endOfTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Readings of the switches wait until the spec answers them; setting one succeeds at once. */
function maintenance() {
  const readings: ((flags: MaintenanceFlags[]) => void)[] = [];
  const rawSql = {
    call: () => new Promise<MaintenanceFlags[]>((resolve) => readings.push(resolve)),
    callOne: async () => undefined,
  } as unknown as RawSqlService;
  const woken: string[] = [];
  const gates = { wakeAll: () => void woken.push('all') } as unknown as WakeGateService;
  const [push, pop] = [new PushMaintenance(), new PopMaintenance()];
  const environment = { QUEEN_CACHE_REFRESH_INTERVAL_MS: 60_000 } as Environment;
  const service = new MaintenanceService(rawSql, push, pop, gates, new Reconcile(), environment);
  return { service, readings, push, pop, woken };
}

describe('MaintenanceService', () => {
  it('believes the database', async () => {
    const { service, readings, push, pop, woken } = maintenance();
    const current = service.current();
    readings.shift()!([{ push: true, pop: true }]);
    expect(await current).toEqual({ push: true, pop: true });
    expect([push.isOn, pop.isOn, woken]).toEqual([true, true, ['all']]);
  });

  it('reads again what was being read while a switch was set here', async () => {
    const { service, readings, pop, woken } = maintenance();
    const current = service.current();
    await service.setPop(true);
    expect(pop.isOn).toBe(true);
    readings.shift()!([{ push: false, pop: false }]); // as it was before
    await endOfTurn();
    expect(pop.isOn).toBe(true);
    readings.shift()!([{ push: false, pop: true }]);
    expect(await current).toEqual({ push: false, pop: true });
    expect(woken).toEqual(['all']);
  });

  it('keeps the switches as they are when they cannot be read', async () => {
    const { service, readings, push } = maintenance();
    await service.setPush(true);
    const current = service.current();
    readings.shift()!(Promise.reject(new Error('away')) as never);
    expect(await current).toEqual({ push: true, pop: false });
    expect(push.isOn).toBe(true);
  });
});
