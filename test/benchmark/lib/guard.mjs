import { spawn } from 'node:child_process';

/*
 * Runs a foreign server that would outlive its parent: node guard.mjs <command> <arguments…>. When standard input closes
 * (whoever started this is done, or was killed) the server gets SIGTERM, and SIGKILL if it has not left after a while.
 */
const PATIENCE_MS = 15_000;
const [command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { detached: true, stdio: ['ignore', 'inherit', 'inherit'] });
child.once('error', (error) => {
  console.error(`${command}: ${error.message}`);
  process.exit(127);
});
child.once('exit', (code) => process.exit(code ?? 0));
process.on('SIGTERM', stop);
process.on('SIGINT', () => undefined); // a Ctrl-C in the terminal reaches the parent as well, and it asks
process.stdin.resume().once('end', stop);

function stop() {
  signalGroup('SIGTERM');
  setTimeout(() => signalGroup('SIGKILL'), PATIENCE_MS).unref();
}

/** The server with what it has started: some are shell scripts around the real one. */
function signalGroup(signal) {
  try {
    process.kill(-child.pid, signal);
  } catch {
    // all of them are gone already
  }
}
