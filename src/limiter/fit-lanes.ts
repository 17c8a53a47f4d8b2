import { laneNames, type LaneLimits, type LaneName } from './limiter.options.js';

type Lanes = Record<LaneName, LaneLimits>;

export interface FittedLanes {
  lanes: Lanes;
  /** Sentences for the boot log; empty when everything fitted. */
  warnings: string[];
}

/**
 * The pool rule (L1): all lanes at their maxima plus the reserve fit into the pool, so whoever holds a permit
 * finds a connection. Where they do not fit the maxima are scaled down in proportion, never below one permit.
 * `reserve` connections are for work without permits: probes, marker and config reads, administration.
 */
export function fitLanesToPool(options: { lanes: Lanes }, poolSize: number, reserve: number): FittedLanes {
  const warnings: string[] = [];
  const least = laneNames.length;
  const available = Math.max(least, poolSize - reserve);
  if (poolSize - reserve < least) {
    warnings.push(
      `a pool of ${poolSize} connections leaves less than one for each of the ${least} lanes beside a reserve ` +
        `of ${reserve}; statements will wait for connections: set DB_POOL_SIZE to ${reserve + least} or more`,
    );
  }

  const wanted = laneNames.reduce((sum, name) => sum + options.lanes[name].max, 0);
  if (wanted <= available) return { lanes: mapLanes((name) => ({ ...options.lanes[name] })), warnings };

  const maxima = shareOut(options.lanes, wanted, available);
  warnings.push(
    `lanes want ${wanted} connections, a pool of ${poolSize} with a reserve of ${reserve} has ${available}: ` +
      laneNames.map((name) => `${name} ${options.lanes[name].max} → ${maxima[name]}`).join(', '),
  );
  return { lanes: mapLanes((name) => lowered(options.lanes[name], maxima[name])), warnings };
}

/** One for each lane, the rest in proportion; what rounding leaves over goes to the lanes that lost most. */
function shareOut(lanes: Lanes, wanted: number, available: number): Record<LaneName, number> {
  const spare = available - laneNames.length;
  const extra = wanted - laneNames.length;
  const share = mapLanes((name) => 1 + Math.floor(((lanes[name].max - 1) * spare) / extra));
  let left = available - laneNames.reduce((sum, name) => sum + share[name], 0);
  const byLoss = [...laneNames].sort((a, b) => lanes[b].max - share[b] - (lanes[a].max - share[a]));
  for (const name of byLoss) {
    if (left === 0) break;
    if (share[name] === lanes[name].max) continue;
    share[name] += 1;
    left -= 1;
  }
  return share;
}

function lowered(limits: LaneLimits, max: number): LaneLimits {
  return { init: Math.min(limits.init, max), min: Math.min(limits.min, max), max };
}

function mapLanes<T>(value: (name: LaneName) => T): Record<LaneName, T> {
  return { push: value('push'), pop: value('pop'), ack: value('ack'), maintenance: value('maintenance') };
}
