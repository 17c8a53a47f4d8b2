import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startBroker, type TestBroker } from '../support/broker.js';
import { manifestOf } from './manifests.js';

const HEALTHCHECK = fileURLToPath(new URL('../../docker/healthcheck.mjs', import.meta.url));

let broker: TestBroker;
beforeAll(async () => {
  broker = await startBroker();
});
afterAll(() => broker.stop());

describe('a running broker', () => {
  const [container] = manifestOf('Deployment').spec.template!.spec.containers;
  const probes = [container.startupProbe, container.livenessProbe, container.readinessProbe];
  const [endpoint] = manifestOf('ServiceMonitor').spec.endpoints as { path: string }[];

  it.each([...probes.map((probe) => probe!.httpGet.path), endpoint.path])(
    'answers %s of the manifests',
    async (path) => {
      expect((await fetch(broker.base + path)).status).toBe(200);
    },
  );

  /** Exit code of the image's health check, run as Docker runs it. */
  const check = (port: number) =>
    new Promise<number>((resolve) => {
      execFile(process.execPath, [HEALTHCHECK], { env: { PORT: String(port) } }, (error) =>
        resolve(error ? Number(error.code) : 0),
      );
    });

  it('is alive to the health check of the image', async () => {
    expect(await check(broker.port)).toBe(0);
  });

  it('that is not there is not', async () => {
    expect(await check(1)).toBe(1);
  });
});
