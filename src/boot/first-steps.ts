import type { Environment } from '../base/config/environment.js';

/** For a person at a terminal who has just started a broker that brought its own database along. */
export function printFirstSteps(port: number, { JWT_ENABLED, QUEEN_TLS_CERT_FILE }: Environment): void {
  if (JWT_ENABLED || QUEEN_TLS_CERT_FILE !== '') return; // they would need a token, or a certificate to trust
  const base = `http://localhost:${port}`;
  process.stdout.write(
    [
      '',
      `queen-nest is ready on ${base}. Push a message and pop it:`,
      '',
      `  curl -s ${base}/api/v1/push -d '{"items":[{"queue":"orders","partition":"customer-1","payload":{"hello":"world"}}]}'`,
      `  curl -s '${base}/api/v1/pop/queue/orders?consumerGroup=billing&autoAck=true'`,
      '',
      'Ctrl-C stops it; the data stays.',
      '',
    ].join('\n'),
  );
}
