import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from './wait-for.js';

const PLACES = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/usr/local/bin/pgbouncer'];

/** Where PgBouncer is installed; null where it is not (Debian and Ubuntu: package `pgbouncer`). */
export const pgbouncerBinary: string | null = PLACES.find((path) => existsSync(path)) ?? null;

/** A PgBouncer of the test's own in transaction mode, before one database. */
export class PgBouncer {
  private constructor(
    private readonly child: ChildProcess,
    private readonly directory: string,
    readonly url: string,
    private readonly output: { text: string },
  ) {}

  static async start(
    binary: string,
    databaseUrl: string,
    settings: Record<string, string> = {},
  ): Promise<PgBouncer> {
    const directory = await mkdtemp(join(tmpdir(), 'queen-nest-pgbouncer-'));
    const target = new URL(databaseUrl);
    const name = target.pathname.slice(1);
    const port = await freePort();
    const password = decodeURIComponent(target.password);
    const user = decodeURIComponent(target.username);
    const all: Record<string, string> = {
      listen_addr: '127.0.0.1',
      listen_port: String(port),
      unix_socket_dir: '',
      auth_type: 'any',
      pool_mode: 'transaction',
      default_pool_size: '20',
      max_client_conn: '500',
      ...settings,
    };
    const ini = [
      '[databases]',
      `${name} = host=${target.hostname} port=${target.port} dbname=${name} user=${user} password=${password}`,
      '[pgbouncer]',
      ...Object.entries(all).map(([key, value]) => `${key} = ${value}`),
      '',
    ];
    const path = join(directory, 'pgbouncer.ini');
    await writeFile(path, ini.join('\n'), { mode: 0o600 });
    await chmod(directory, 0o755);
    const isRoot = process.getuid?.() === 0;
    if (isRoot) await chmod(path, 0o644); // it refuses to run as root, so another user must read it
    const account = isRoot ? { uid: 65_534, gid: 65_534 } : {};
    const child = spawn(binary, [path], { stdio: ['ignore', 'pipe', 'pipe'], ...account });
    const output = { text: '' };
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (bytes: Buffer) => (output.text += bytes.toString()));
    }
    const url = new URL(databaseUrl);
    url.host = `127.0.0.1:${port}`;
    const bouncer = new PgBouncer(child, directory, url.href, output);
    await waitFor(() => bouncer.accepts(port), { within: 10_000, what: 'PgBouncer to listen' });
    return bouncer;
  }

  async stop(): Promise<void> {
    if (this.child.exitCode === null) {
      const exited = once(this.child, 'exit');
      this.child.kill('SIGQUIT');
      await exited;
    }
    await rm(this.directory, { recursive: true, force: true });
  }

  private async accepts(port: number): Promise<boolean> {
    if (this.child.exitCode !== null) throw new Error(`PgBouncer has left: ${this.output.text}`);
    const socket = connect({ port, host: '127.0.0.1' });
    await once(socket, 'connect').finally(() => socket.destroy());
    return true;
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
