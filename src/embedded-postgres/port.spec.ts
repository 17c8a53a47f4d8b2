import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { choosePort, isPortFree } from './port.js';

async function listening() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const close = () => new Promise((resolve) => server.close(resolve));
  return { port: (server.address() as AddressInfo).port, close };
}

describe('choosePort', () => {
  it('takes the wished port when nobody has it, and another when somebody has', async () => {
    const taken = await listening();
    expect(await isPortFree(taken.port)).toBe(false);
    const other = await choosePort(taken.port);
    expect(other).not.toBe(taken.port);
    expect(await isPortFree(other)).toBe(true);
    await taken.close();
    expect(await choosePort(taken.port)).toBe(taken.port);
  });

  it('finds one without a wish', async () => {
    expect(await choosePort(null)).toBeGreaterThan(0);
  });
});
