import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { Injectable } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  QueueConsumerModule,
  type MessageHandler,
  type QueueMessage,
} from '../../examples/nestjs/queue-consumer.module.js';
import { queuePath, startBroker, type TestBroker } from '../support/broker.js';
import { waitFor } from '../support/wait-for.js';

const example = (path: string) => fileURLToPath(new URL(`../../examples/${path}`, import.meta.url));
const has = (command: string) => spawnSync(command, ['--version']).status === 0;

describe('the examples', () => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker();
  });
  afterAll(() => broker.stop());

  async function pushThree(queue: string): Promise<void> {
    await broker.push([1, 2, 3].map((n) => ({ queue, partition: 'p', payload: { n } })));
  }

  async function expectNothingLeft(queue: string, group: string): Promise<void> {
    const left = await broker.pop(queuePath(queue), { consumerGroup: group });
    expect(left.status).toBe(204);
  }

  it.each([
    ['bash', 'curl/consume.sh'],
    ['node', 'node/consume.mjs'],
    ['python3', 'python/consume.py'],
  ])('%s runs %s: three messages in order, all acked', async (command, path) => {
    if (!has(command)) return console.log(`${command} is not on this machine: examples/${path} was not run`);
    const queue = `examples.${command}`;
    await pushThree(queue);
    const child = spawn(command, [example(path)], {
      env: { ...process.env, QUEEN_URL: broker.base, QUEUE: queue, GROUP: 'g', COUNT: '3' },
    });
    let output = '';
    child.stdout.on('data', (bytes) => (output += String(bytes)));
    child.stderr.on('data', (bytes) => (output += String(bytes)));
    const code = await waitFor(new Promise((resolve) => child.once('exit', resolve)), {
      within: 30_000,
      what: `${path} to end`,
    });
    expect([code, output.replaceAll(' ', '')]).toEqual([0, 'got{"n":1}\ngot{"n":2}\ngot{"n":3}\n']);
    await expectNothingLeft(queue, 'g');
  });

  it('a NestJS application consumes with the module, and failed messages come again', async () => {
    const handled: unknown[] = [];
    let failures = 1;

    @Injectable()
    class Handler implements MessageHandler {
      handle({ data }: QueueMessage): Promise<void> {
        if (failures-- > 0) return Promise.reject(new Error('not yet'));
        handled.push(data);
        return Promise.resolve();
      }
    }

    const queue = 'examples.nestjs';
    await pushThree(queue);
    const module = QueueConsumerModule.forQueue({ url: broker.base, queue, consumerGroup: 'g' }, Handler);
    const app = await NestFactory.createApplicationContext(module, { logger: false });
    await waitFor(() => handled.length >= 3, { within: 30_000, what: 'three messages' });
    await app.close();
    expect(handled).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
    await expectNothingLeft(queue, 'g');
  });
});
