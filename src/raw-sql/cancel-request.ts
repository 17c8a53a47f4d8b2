import pg from 'pg';
import { clientConfig, type DatabaseOptions } from './database-options.js';

interface CancelConnection {
  once(event: string, listener: () => void): void;
  on(event: string, listener: (error: Error) => void): void;
  connect(port: number, host: string): void;
  requestSsl(): void;
  cancel(processId: number, secretKey: number): void;
  end(): void;
  stream: { destroy(): void };
}

const GIVE_UP_MS = 5000;

/**
 * Asks the server to cancel what `client` is running, on a socket of its own with the same TLS mode. Best effort
 * and never awaited: the connection is destroyed whatever becomes of it (serve-path 4.6).
 */
export function sendCancelRequest(
  options: DatabaseOptions,
  client: { processID: number; secretKey: number; host: string; port: number },
  onFailure: (error: Error) => void,
): void {
  const { ssl } = clientConfig(options);
  const connection = new (pg.Connection as unknown as new (config: object) => CancelConnection)({ ssl });
  const timer = setTimeout(() => connection.stream.destroy(), GIVE_UP_MS);
  timer.unref();
  connection.on('error', (error) => {
    clearTimeout(timer);
    onFailure(error);
  });
  connection.once('end', () => clearTimeout(timer));
  const cancel = () => connection.cancel(client.processID, client.secretKey);
  connection.once('connect', () => (ssl ? connection.requestSsl() : cancel()));
  connection.once('sslconnect', cancel);
  connection.connect(client.port, client.host);
}
