import { describe, expect, it } from '@jest/globals';
import { firstClosedDirectory } from './traversal.js';

const account = { uid: 101, gid: 104, name: 'postgres' };

function tree(directories: Record<string, { mode: number; uid?: number; gid?: number }>) {
  return (path: string) => {
    const { mode, uid = 0, gid = 0 } = directories[path] ?? { mode: 0o755 };
    return { mode: 0o040000 | mode, uid, gid };
  };
}

describe('firstClosedDirectory', () => {
  it('finds no obstacle where everybody may pass', () => {
    expect(firstClosedDirectory('/srv/broker/data', account, tree({}))).toBeNull();
  });

  it('needs passage only, not a view of what is inside', () => {
    expect(firstClosedDirectory('/srv/data', account, tree({ '/srv': { mode: 0o711 } }))).toBeNull();
  });

  it('names the outermost obstacle', () => {
    const stat = tree({ '/root': { mode: 0o700 }, '/root/clone/.queen-data': { mode: 0o700 } });
    expect(firstClosedDirectory('/root/clone/.queen-data', account, stat)).toBe('/root');
  });

  it('counts the directory itself', () => {
    expect(firstClosedDirectory('/tmp/x', account, tree({ '/tmp/x': { mode: 0o700 } }))).toBe('/tmp/x');
  });

  it('judges the owner by the owner bits and a member by the group bits', () => {
    const own = { mode: 0o700, uid: 101 };
    const group = { mode: 0o710, gid: 104 };
    expect(firstClosedDirectory('/a/b', account, tree({ '/a': own, '/a/b': group }))).toBeNull();
    expect(firstClosedDirectory('/a', account, tree({ '/a': { mode: 0o077, uid: 101 } }))).toBe('/a');
    expect(firstClosedDirectory('/a', account, tree({ '/a': { mode: 0o707, gid: 104 } }))).toBe('/a');
  });
});
