import type { BrokerSettings } from './broker.js';

/**
 * The two ways a queue-wide pop finds partitions. What a client sees must not depend on it, so suites run for both:
 * `describe.each(candidatePaths)('pop across a queue, %s', (_, settings) => …)`.
 *
 * A test that ends a lease by SQL is seen by the ring at its next look; with these settings that is soon.
 */
export const candidatePaths: [name: string, settings: BrokerSettings][] = [
  [
    'candidates from the ring',
    { QUEEN_HOTLIST: true, QUEEN_HOTLIST_REVISIT_CAP_MS: 50, QUEEN_HOTLIST_PAD_MS: 10 },
  ],
  ['candidates from the SQL scan', { QUEEN_HOTLIST: false }],
];

/** Long enough for a re-poll on a busy machine; nothing that works takes this long. */
export const SOON = { wait: true, timeout: 10_000 } as const;
