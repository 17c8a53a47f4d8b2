import { ackArea } from './areas/ack.js';
import { deadLettersArea } from './areas/dead-letters.js';
import { documentsArea } from './areas/documents.js';
import { groupsArea } from './areas/groups.js';
import { maintenanceArea } from './areas/maintenance.js';
import { messagesArea } from './areas/messages.js';
import { popArea } from './areas/pop.js';
import { probesArea } from './areas/probes.js';
import { pushArea } from './areas/push.js';
import { queuesArea } from './areas/queues.js';
import { resourcesArea } from './areas/resources.js';
import { statusArea } from './areas/status.js';
import { tracesArea } from './areas/traces.js';
import { transactionArea } from './areas/transaction.js';
import type { Area } from './operation.js';

/** The headings of the page, in the order in which somebody new meets them. */
export const areas: readonly Area[] = [
  pushArea,
  popArea,
  ackArea,
  transactionArea,
  queuesArea,
  resourcesArea,
  groupsArea,
  messagesArea,
  deadLettersArea,
  tracesArea,
  statusArea,
  maintenanceArea,
  probesArea,
  documentsArea,
];
