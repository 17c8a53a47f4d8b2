import fc from 'fast-check';
import type { QueueName } from './broker.model.js';
import { QUEUE_MODE } from './broker.model.js';
import { TENANTS, type Target } from './step.js';

/** Few names, so that steps meet; the same queue name in two tenants, so that nothing leaks between them. */
const orders: QueueName = { tenant: TENANTS[0], name: 'orders.eu' };
const audit: QueueName = { tenant: TENANTS[0], name: 'audit' };
const foreignOrders: QueueName = { tenant: TENANTS[1], name: 'orders.eu' };

export const QUEUES = [orders, audit, foreignOrders];
export const PARTITIONS = ['p1', 'p2', 'p3'];

export const queueName = fc.oneof(
  { weight: 6, arbitrary: fc.constant(orders) },
  { weight: 2, arbitrary: fc.constantFrom(audit, foreignOrders) },
);
export const partitionName = fc.constantFrom('p1', 'p1', 'p2', 'p3');
export const target: fc.Arbitrary<Target> = fc.record({ queue: queueName, partition: partitionName });
export const group = fc.constantFrom('g1', 'g1', 'g1', 'g2', QUEUE_MODE);
export const tenant = fc.constantFrom(TENANTS[0], TENANTS[0], TENANTS[1]);
