import { afterEach, describe, expect, it } from '@jest/globals';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { pushBench } from '../../test/support/push.js';
import { parseEnvironment } from '../base/config/environment.js';
import { BrokerError } from '../base/errors/broker-error.js';
import { BrokerErrorFilter } from '../http/broker-error.filter.js';
import { createHttpAdapter } from '../http/http-adapter.js';
import { RouteTable } from '../http/route-table.js';
import { PushController } from './push.controller.js';
import { PushService } from './push.service.js';

describe('POST /api/v1/push', () => {
  let app: NestFastifyApplication;
  afterEach(() => app.close());

  async function started(bench = pushBench()) {
    const routes = new RouteTable();
    const module = await Test.createTestingModule({
      controllers: [PushController],
      providers: [{ provide: PushService, useValue: bench.service }],
    }).compile();
    const adapter: FastifyAdapter = createHttpAdapter(parseEnvironment({}), routes);
    app = module.createNestApplication<NestFastifyApplication>(adapter, { bodyParser: false, logger: false });
    app.useGlobalFilters(new BrokerErrorFilter(routes));
    await app.init();
    await app.getHttpAdapter().getInstance().ready();
    const post = (body: string) => app.inject({ method: 'POST', url: '/api/v1/push', payload: body });
    return { ...bench, post };
  }

  it('answers 201 with one result per item', async () => {
    const { post } = await started();
    const answer = await post(
      '{"items":[{"queue":"q","payload":null,"transactionId":"a"},{"queue":"q","payload":1,"transactionId":"a"},{"queue":"","payload":1}]}',
    );
    expect(answer.statusCode).toBe(201);
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(answer.json()).toMatchObject([
      { index: 0, transaction_id: 'a', queueName: 'q', status: 'queued' },
      { index: 1, transaction_id: 'a', queueName: 'q', status: 'duplicate' },
      { index: 2, queueName: '', status: 'failed', code: 'bad_name' },
    ]);
  });

  it('stores payloads byte for byte', async () => {
    const { post, log } = await started();
    await post(
      '{"items":[{"queue":"q","partition":"p","payload": {"a":1,"a":2, "n":12345678901234567890} }]}',
    );
    expect(log.payloads('q', 'p')).toEqual(['{"a":1,"a":2, "n":12345678901234567890}']);
  });

  it('answers an empty list with an empty list', async () => {
    const { post } = await started();
    const answer = await post('{"items":[]}');
    expect([answer.statusCode, answer.body]).toEqual([201, '[]']);
  });

  it.each([['not JSON'], ['{"items":[{"queue":"q"}]}'], ['{}']])(
    'answers %s with 400 and stores nothing',
    async (body) => {
      const { post, log } = await started();
      const answer = await post(body);
      expect([answer.statusCode, answer.json()]).toMatchObject([400, { code: 'bad_body' }]);
      expect(log.flushes).toEqual([]);
    },
  );

  it('answers 503 with Retry-After when the database cannot take it', async () => {
    const { post, log } = await started();
    log.failure = () => new BrokerError('database_unavailable');
    const answer = await post('{"items":[{"queue":"q","payload":1}]}');
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([503, '1']);
    expect(answer.json()).toMatchObject({ code: 'database_unavailable' });
  });
});
