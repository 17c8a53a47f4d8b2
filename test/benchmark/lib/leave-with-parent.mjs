/*
 * Loaded into a child (node --import): its end is that of whoever started it, even of one that was killed. A pipe on
 * standard input closes with its other end; the child then drains as on any SIGTERM.
 */
process.stdin.resume().once('end', () => process.kill(process.pid, 'SIGTERM'));
process.stdin.unref?.();
