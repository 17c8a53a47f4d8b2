import { createServer, type AddressInfo } from 'node:net';
import { SERVER_HOST } from './database-url.js';

/** Asked for first by a new cluster; below the range the system hands out to outgoing connections. */
export const FIRST_PORT = 16_632;

/**
 * The wished port when nobody listens on it, else any free one. "Free" may be over a moment later, so a server that
 * cannot bind is started again elsewhere.
 */
export async function choosePort(wished: number | null): Promise<number> {
  if (wished !== null && (await isPortFree(wished))) return wished;
  return (await listenOnce(0)) ?? Promise.reject(new Error(`There is no free port on ${SERVER_HOST}.`));
}

export async function isPortFree(port: number): Promise<boolean> {
  return (await listenOnce(port)) !== null;
}

/** The port that could be bound, already closed again; null when it could not. */
function listenOnce(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(null));
    server.listen({ host: SERVER_HOST, port, exclusive: true }, () => {
      const bound = (server.address() as AddressInfo).port;
      server.close(() => resolve(bound));
    });
  });
}
