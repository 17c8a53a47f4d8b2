import { describe, expect, it } from '@jest/globals';
import { serverAccount, type RunSync } from './account.js';

/** A system with these users, and with these commands that make the user `postgres`. */
function system(users: Record<string, number>, creators: string[] = []) {
  const commands: string[] = [];
  const run: RunSync = (command, args) => {
    commands.push([command, ...args].join(' '));
    if (command === 'id') {
      const uid = users[args[1] ?? ''];
      if (uid === undefined) throw new Error('no such user');
      return String(args[0] === '-u' ? uid : uid + 1000);
    }
    if (!creators.includes(command)) throw new Error('command not found');
    if (command !== 'addgroup') users.postgres = 70;
    return '';
  };
  return { run, commands };
}

const lines: string[] = [];
const log = (line: string) => void lines.push(line);

describe('serverAccount', () => {
  it('is nobody in particular for a broker that is not root', () => {
    expect(serverAccount(null, log, system({ postgres: 101 }).run, 1000)).toBeNull();
  });

  it('is the owner of an existing cluster, so that it stays his', () => {
    expect(serverAccount({ uid: 1000, gid: 100 }, log, system({ postgres: 101 }).run, 0)).toMatchObject({
      uid: 1000,
      gid: 100,
    });
  });

  it('is the system user postgres when root owns the directory or there is none', () => {
    const expected = { uid: 101, gid: 1101, name: 'postgres' };
    expect(serverAccount({ uid: 0, gid: 0 }, log, system({ postgres: 101 }).run, 0)).toEqual(expected);
    expect(serverAccount(null, log, system({ postgres: 101 }).run, 0)).toEqual(expected);
  });

  it.each([[['useradd']], [['addgroup', 'adduser']]])('makes that user with %s, and says so', (creators) => {
    lines.length = 0;
    expect(serverAccount(null, log, system({ nobody: 99 }, creators).run, 0)).toMatchObject({ uid: 70 });
    expect(lines).toEqual([expect.stringContaining('created the system user "postgres"')]);
  });

  it('falls back to nobody', () => {
    expect(serverAccount(null, log, system({ nobody: 65534 }).run, 0)).toMatchObject({ name: 'nobody' });
  });

  it('says what to do when there is no user to run as', () => {
    expect(() => serverAccount(null, log, system({}).run, 0)).toThrow(/DATABASE_URL/);
  });
});
