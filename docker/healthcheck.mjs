// The health check of the image: is the broker in this container alive? Over TLS where it listens with TLS; the
// certificate is made for another name than this, and who is asked is known.
import { get as getPlain } from 'node:http';
import { get as getSecure } from 'node:https';

const { PORT = '6632', QUEEN_TLS_CERT_FILE = '', QUEEN_TLS_CLIENT_CA_FILE = '' } = process.env;
const isSecure = QUEEN_TLS_CERT_FILE !== '';
const get = isSecure ? getSecure : getPlain;
const address = `${isSecure ? 'https' : 'http'}://127.0.0.1:${PORT}/health/live`;

get(address, { timeout: 2000, rejectUnauthorized: false }, (response) => {
  process.exit(response.statusCode === 200 ? 0 : 1);
})
  .on('timeout', () => process.exit(1))
  // A broker that asks for certificates of clients turns this one away, and is alive to do so.
  .on('error', ({ code = '' }) =>
    process.exit(QUEEN_TLS_CLIENT_CA_FILE !== '' && code.startsWith('ERR_SSL') ? 0 : 1),
  );
