import { request } from 'node:http';
import { connect } from 'node:net';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Long enough for an engine on this machine or beside it; a developer without Docker must not wait for nothing. */
const PATIENCE_MS = 2000;

/** Whether a Docker engine answers at DOCKER_HOST or at one of the usual sockets. Never rejects. */
export async function dockerAnswers(environment = process.env) {
  const host = environment.DOCKER_HOST;
  if (host) return answersAt(host, environment.DOCKER_TLS_VERIFY === '1');
  const sockets = [
    '/var/run/docker.sock',
    join(homedir(), '.docker/run/docker.sock'),
    ...(environment.XDG_RUNTIME_DIR ? [join(environment.XDG_RUNTIME_DIR, 'docker.sock')] : []),
  ];
  for (const socketPath of sockets) if (await ping({ socketPath })) return true;
  return false;
}

async function answersAt(host, overTls) {
  if (host.startsWith('unix://')) return ping({ socketPath: host.slice('unix://'.length) });
  if (!URL.canParse(host)) return false;
  const { hostname, port } = new URL(host);
  // Without the client certificates nothing can be asked over TLS; that somebody listens has to do.
  return overTls
    ? accepts(hostname, Number(port || 2376))
    : ping({ host: hostname, port: Number(port || 2375) });
}

function ping(where) {
  return new Promise((resolve) => {
    const call = request({ ...where, path: '/_ping', timeout: PATIENCE_MS, agent: false }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    call.once('timeout', () => call.destroy());
    call.once('error', () => resolve(false));
    call.once('close', () => resolve(false));
    call.end();
  });
}

function accepts(host, port) {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: PATIENCE_MS });
    const answer = (yes) => {
      socket.destroy();
      resolve(yes);
    };
    socket.once('connect', () => answer(true));
    socket.once('timeout', () => answer(false));
    socket.once('error', () => answer(false));
  });
}
