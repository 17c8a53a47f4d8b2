/*
 * The rows of the matrix. `plan`: see lib/generator.mjs; `goal`: least share of the floor and of messages a second, or most
 * milliseconds; `fill`: the backlog that is there before the run; `peers: false`: no other queue does this; `ours`: only
 * the broker runs it; `like` and `by`: what its CPU a message is compared with. Random JSON of 256 bytes unless said.
 */
const SECONDS = 4;
const DRAIN_SECONDS = 3;

const push = (plan) => ({ seconds: SECONDS, partitions: 100, producers: 64, consumers: 0, ...plan });
const flow = (plan) => ({
  seconds: SECONDS,
  partitions: 100,
  producers: 8,
  consumers: 8,
  aheadMax: 50 * plan.batch * (plan.producers ?? 8),
  ...plan,
});
const drain = (plan) => ({
  seconds: DRAIN_SECONDS,
  partitions: 100,
  producers: 0,
  consumers: 64,
  untilSeconds: true,
  ...plan,
});
/** The same number of messages a second in each, so that batching is the same and CPU a message can be compared. */
const growth = (plan) => ({
  seconds: SECONDS + 1,
  batch: 10,
  popBatch: 100,
  producers: 4,
  consumers: 8,
  ratePerSecond: 2000,
  ...plan,
});

export const MUST = [
  {
    id: 'push-1',
    title: 'push, batch 1, 100 partitions, 64 connections',
    plan: push({ batch: 1 }),
    goal: { floorShare: 0.7, perSecond: 20_000 },
  },
  {
    id: 'push-10',
    title: 'push, batch 10, 100 partitions, 64 connections',
    plan: push({ batch: 10 }),
    goal: { floorShare: 0.7, perSecond: 120_000 },
  },
  {
    id: 'push-100',
    title: 'push, batch 100, 100 partitions, 64 connections',
    plan: push({ batch: 100 }),
    goal: { floorShare: 0.7, perSecond: 300_000 },
  },
  {
    id: 'push-hot',
    title: 'push, batch 1, one hot partition, 64 connections',
    plan: push({ batch: 1, partitions: 1 }),
    goal: { floorShare: 0.7 },
  },
  {
    id: 'flow-100-spread',
    title: 'push and pop + ack, batch 100 spread over 100 partitions, 8 + 8',
    plan: flow({ batch: 100, spread: true, popPartitions: 100 }),
    goal: { floorShare: 0.6, perSecond: 90_000 },
  },
  {
    id: 'flow-100',
    title: 'push and pop + ack, batch 100, 8 + 8',
    plan: flow({ batch: 100 }),
    goal: { floorShare: 0.6 },
  },
  {
    id: 'flow-1',
    title: 'push and pop + ack, batch 1, 8 + 8',
    plan: flow({ batch: 1 }),
    goal: { perSecond: 8000, transactionsPerMessage: 2 },
  },
  {
    id: 'flow-1-64',
    title: 'push and pop + ack, batch 1, 64 + 64',
    plan: flow({ batch: 1, producers: 64, consumers: 64 }),
    goal: { aheadOfPeers: true },
  },
  {
    id: 'drain-1',
    title: 'pop + ack of a backlog, batch 1, 64 consumers',
    plan: drain({ batch: 10, popBatch: 1 }),
    fill: { messages: 100_000, seconds: 3 },
    goal: { floorShare: 0.6 },
  },
  {
    id: 'drain-10',
    title: 'pop + ack of a backlog, batch 10, 64 consumers',
    plan: drain({ batch: 10, popBatch: 10 }),
    fill: { messages: 200_000, seconds: 3 },
    goal: { floorShare: 0.6 },
  },
  {
    id: 'drain-100',
    title: 'pop + ack of a backlog, batch 100, 64 consumers',
    plan: drain({ batch: 100, popBatch: 100 }),
    fill: { messages: 500_000, seconds: 4 },
    goal: { floorShare: 0.6 },
  },
  {
    id: 'paced-50',
    title: 'paced 50 messages a second, parked consumers, 100 partitions',
    plan: {
      seconds: 6,
      batch: 1,
      partitions: 100,
      producers: 2,
      consumers: 8,
      ratePerSecond: 50,
      warmUp: true,
    },
    goal: { endToEndP50Ms: 2, endToEndP99Ms: 5 },
  },
  {
    id: 'growth-1',
    title: 'paced 2,000 messages a second, 1 partition',
    plan: growth({ partitions: 1 }),
    ours: true,
  },
  {
    id: 'growth-100',
    title: 'the same, 100 partitions',
    plan: growth({ partitions: 100 }),
    ours: true,
    like: 'growth-1',
    goal: { cpuRatio: 1.2 },
  },
  {
    id: 'growth-10000',
    title: 'the same, 10,000 partitions',
    plan: growth({ partitions: 10_000 }),
    every: true,
    ours: true,
    like: 'growth-1',
    goal: { cpuRatio: 1.2 },
  },
  {
    id: 'push-empty-log',
    title: 'push paced at 2,000 messages a second into an empty log',
    plan: growth({ partitions: 100, consumers: 0 }),
    ours: true,
  },
  {
    id: 'push-long-log',
    title: 'the same behind a long backlog',
    plan: growth({ partitions: 100, consumers: 0 }),
    fill: { backlog: true },
    ours: true,
    like: 'push-empty-log',
    goal: { cpuRatio: 1.2 },
  },
  {
    id: 'pop-short-log',
    title: 'pop + ack, batch 100, of a short backlog',
    plan: drain({ batch: 1000, popBatch: 100, consumers: 8 }),
    fill: { messages: 200_000, seconds: 20 },
    ours: true,
  },
  {
    id: 'pop-long-log',
    title: 'the same of a long backlog',
    plan: drain({ batch: 1000, popBatch: 100, consumers: 8 }),
    fill: { backlog: true },
    ours: true,
    like: 'pop-short-log',
    goal: { cpuRatio: 1.2 },
  },
];

export const EXTRA = [
  { id: 'push-1000', title: 'push, batch 1,000', plan: push({ batch: 1000, producers: 16 }) },
  { id: 'push-100-1k', title: 'push, batch 100, 1 KB', plan: push({ batch: 100, bytes: 1024 }) },
  {
    id: 'push-100-repetitive',
    title: 'push, batch 100, repetitive JSON',
    plan: push({ batch: 100, kind: 'repetitive' }),
  },
  {
    id: 'push-1-no-dedup',
    title: 'push, batch 1, dedup off',
    plan: push({ batch: 1, dedup: false }),
    peers: false,
  },
  {
    id: 'push-100-no-dedup',
    title: 'push, batch 100, dedup off',
    plan: push({ batch: 100, dedup: false }),
    peers: false,
  },
  {
    id: 'flow-1-1',
    title: 'push and pop + ack, batch 1, 1 + 1',
    plan: flow({ batch: 1, producers: 1, consumers: 1 }),
  },
  { id: 'flow-10', title: 'push and pop + ack, batch 10, 8 + 8', plan: flow({ batch: 10 }) },
  { id: 'flow-1000', title: 'push and pop + ack, batch 1,000, 8 + 8', plan: flow({ batch: 1000 }) },
  {
    id: 'flow-100-1k',
    title: 'push and pop + ack, batch 100, 1 KB, 8 + 8',
    plan: flow({ batch: 100, bytes: 1024 }),
  },
  {
    id: 'flow-100-3-groups',
    title: 'push and pop + ack, batch 100, three groups of 8',
    plan: flow({ batch: 100, groups: 3 }),
    peers: false,
  },
  {
    id: 'flow-100-auto-ack',
    title: 'push and auto-ack pop, batch 100, 8 + 8',
    plan: flow({ batch: 100, autoAck: true }),
    peers: false,
  },
  {
    id: 'flow-10-10000',
    title: 'push and pop + ack, batch 10, 10,000 partitions, 8 + 8',
    plan: flow({ batch: 10, partitions: 10_000 }),
    every: true,
    peers: false,
  },
];
