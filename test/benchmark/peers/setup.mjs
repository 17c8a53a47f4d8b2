import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/*
 * npm run bench:peers:setup. The clients come from npm into a folder of their own; the servers from Debian's packages, where
 * this is a Debian and may install them. What cannot be had is said in a line, and the matrix skips it.
 */
const SERVERS = ['redis-server', 'rabbitmq-server', 'nats-server'];
const folder = fileURLToPath(new URL('.', import.meta.url));

const clients = run('npm', ['ci', '--prefix', folder], { cwd: folder });
if (clients !== 0) process.exitCode = 1;

const missing = SERVERS.filter((name) => run('dpkg', ['-s', name], { stdio: 'ignore' }) !== 0);
if (missing.length === 0) console.log(`servers: ${SERVERS.join(', ')} are installed`);
else if (process.getuid?.() !== 0) console.log(`as root: apt-get install ${missing.join(' ')}`);
else {
  // RUNLEVEL keeps the packages from starting their services: each run starts servers of its own.
  const env = { ...process.env, RUNLEVEL: '1', DEBIAN_FRONTEND: 'noninteractive' };
  run('apt-get', ['update'], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  for (const name of missing) {
    const failed = run('apt-get', ['install', '-y', '--no-install-recommends', name], {
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    console.log(failed ? `${name} cannot be had here: it will be skipped` : `${name} is installed`);
  }
}

function run(command, args, options = {}) {
  return spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'], ...options }).status ?? 1;
}
