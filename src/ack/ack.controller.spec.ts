import { describe, expect, it } from '@jest/globals';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AckController } from './ack.controller.js';
import { DONE } from './ack-result.js';
import type { AckRequest } from './ack.request.js';
import type { AckService } from './ack.service.js';

const P1 = '00000000-0000-7000-8000-000000000001';

function setUp() {
  const requests: AckRequest[] = [];
  const owners: (string | null)[] = [];
  const service = {
    acknowledge: (request: AckRequest, owner: string | null) => {
      requests.push(request);
      owners.push(owner);
      return Promise.resolve(request.items.map(() => DONE));
    },
  } as unknown as AckService;
  const sent: unknown[] = [];
  const reply = {
    code: (status: number) => (sent.push(status), reply),
    type: () => reply,
    send: (bytes: Buffer) => (sent.push(JSON.parse(bytes.toString())), reply),
  };
  const body = (text: unknown) =>
    ({ body: Buffer.from(JSON.stringify(text)), owner: 'tenant' }) as FastifyRequest;
  const controller = new AckController(service);
  return { controller, requests, owners, sent, body, reply: reply as unknown as FastifyReply };
}

describe('AckController', () => {
  it('answers one ack with an array of one', async () => {
    const { controller, requests, owners, sent, body, reply } = setUp();
    await controller.ackOne(body({ transactionId: 'a', partitionId: P1, consumerGroup: 'g' }), reply);
    expect(requests).toMatchObject([{ group: 'g', items: [{ transactionId: 'a', partitionId: P1 }] }]);
    expect(owners).toEqual(['tenant']);
    expect(sent).toMatchObject([200, [{ index: 0, transactionId: 'a', success: true }]]);
  });

  it('answers a batch in its order, and an empty one with an empty array', async () => {
    const { controller, sent, body, reply } = setUp();
    const acknowledgments = ['b', 'a'].map((transactionId) => ({ transactionId, partitionId: P1 }));
    await controller.ackBatch(body({ acknowledgments }), reply);
    await controller.ackBatch(body({ acknowledgments: null }), reply);
    expect(sent).toMatchObject([200, [{ transactionId: 'b' }, { transactionId: 'a' }], 200, []]);
  });

  it.each(['x'.repeat(256), '..'])('refuses the group %j before anything is acked', async (consumerGroup) => {
    const { controller, requests, body, reply } = setUp();
    const request = body({ transactionId: 'a', partitionId: P1, consumerGroup });
    await expect(controller.ackOne(request, reply)).rejects.toMatchObject({ code: 'bad_name', status: 400 });
    expect(requests).toEqual([]);
  });
});
