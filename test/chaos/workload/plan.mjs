/*
 * What is pushed where and who reads it. The plan is the first step of every history, so that the checker knows the
 * promises it has to hold the broker to.
 *
 * Kinds of groups:
 *   leased   acks what it is given, sooner or later
 *   auto     commits on delivery: at most once
 *   mover    finishes messages only in transactions that push one message for each
 *   seek     as leased, and its cursors are set back now and then
 */

/** Of every leased pop, so that a stopped or slow consumer outlives its lease. */
export const LEASE_SECONDS = 4;

const OPTIONS = { leaseTime: 5, retryLimit: 2, dedupWindowSeconds: 3600 };

export const PLAN = {
  queues: [
    {
      name: 'chaos.main',
      options: OPTIONS,
      groups: [
        { name: 'full', kind: 'leased', habits: 'steady' },
        { name: 'mixed', kind: 'leased', habits: 'mixed' },
      ],
    },
    {
      name: 'chaos.auto',
      options: OPTIONS,
      groups: [
        { name: 'auto', kind: 'auto', habits: 'steady' },
        { name: 'steady', kind: 'leased', habits: 'steady' },
      ],
    },
    {
      name: 'chaos.done',
      options: { ...OPTIONS, retentionEnabled: true, completedRetentionSeconds: 1 },
      groups: [
        { name: 'early', kind: 'leased', habits: 'steady' },
        { name: 'late', kind: 'leased', habits: 'mixed' },
      ],
    },
    {
      name: 'chaos.fade',
      options: { ...OPTIONS, retentionEnabled: true, retentionSeconds: 5 },
      groups: [{ name: 'faded', kind: 'leased', habits: 'mixed' }],
    },
    {
      name: 'chaos.window',
      options: { ...OPTIONS, dedupWindowSeconds: 3 },
      groups: [{ name: 'windowed', kind: 'leased', habits: 'steady' }],
    },
    { name: 'chaos.in', options: OPTIONS, groups: [{ name: 'mover', kind: 'mover', habits: 'steady' }] },
    {
      name: 'chaos.out',
      options: OPTIONS,
      groups: [{ name: 'out', kind: 'leased', habits: 'mixed' }],
      /** Filled by transactions, except for the ids that a transaction must stumble over. */
      from: 'chaos.in',
    },
    { name: 'chaos.seek', options: OPTIONS, groups: [{ name: 'seeker', kind: 'seek', habits: 'steady' }] },
  ],
};

/** Few, so that they are fought for; a new one now and then. */
export const FIRST_PARTITIONS = 5;

/** Stored in the first partition of chaos.out before anything else: a transaction that pushes it again must leave nothing. */
export const STUMBLE = 'stumbling-stone';
