import { scalarProcedure } from '../raw-sql/procedure.js';
import type { ActivityCounts } from './activity.js';

export const statsNoteBrokerV1 = scalarProcedure<{ broker: string; counts: ActivityCounts }, void>({
  name: 'stats_note_broker_v1',
  parameterTypes: ['text', ...new Array<string>(9).fill('bigint')],
  values: ({ broker, counts }) => [
    broker,
    counts.pushRequests,
    counts.pushMessages,
    counts.popRequests,
    counts.popMessages,
    counts.ackRequests,
    counts.ackMessages,
    counts.ackFailures,
    counts.deadLetters,
    counts.databaseErrors,
  ],
});
