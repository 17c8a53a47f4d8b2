import { describe, expect, it } from '@jest/globals';
import { settings } from '../../src/base/config/settings.js';
import { sources, withoutComments } from './sources.js';

/** A setting that is read and then ignored is worse than none: its user believes it acts. */

const TABLE = 'base/config/settings.ts';
/** Reads all of them and checks some against each other, which is not a use. */
const READER = 'base/config/environment.ts';

const files = sources().map(({ path, text }) => ({ path, code: withoutComments(text) }));

describe('settings', () => {
  it('of the table act somewhere', () => {
    const reason = 'take the setting out of src/base/config/settings.ts, or make it act';
    const users = files.filter(({ path }) => path !== TABLE && path !== READER && !path.startsWith('docs/'));
    const unused = Object.keys(settings).filter((name) => {
      const use = new RegExp(`\\b${name}\\b`);
      return !users.some(({ code }) => use.test(code));
    });
    expect({ reason, unused }).toEqual({ reason, unused: [] });
  });

  it('are read in one place', () => {
    const reason = 'a variable read elsewhere has no default, no bounds and no line in docs/configuration.md';
    const readers = files
      .filter(({ path }) => !path.startsWith('base/config/'))
      .filter(({ code }) => /\bprocess\.env\b/.test(code))
      .map(({ path }) => path);
    expect({ reason, readers }).toEqual({ reason, readers: [] });
  });

  it('have a text, bounds and a default inside them', () => {
    for (const [name, setting] of Object.entries(settings)) {
      expect({ name, about: setting.about }).toEqual({ name, about: expect.stringMatching(/^[A-Z].*\.$/s) });
      if (setting.default === '') continue;
      const read = () => setting.read(String(setting.default));
      expect({ name, value: read() }).toEqual({ name, value: setting.default });
    }
  });

  it('that hold a secret say so', () => {
    const secret = Object.entries(settings)
      .filter(([name]) => /PASSWORD|SECRET|KEY|TOKEN|DATABASE_URL/.test(name) && !name.endsWith('_FILE'))
      .filter(([, { kind, secret: marked }]) => kind === 'text' && !marked)
      .map(([name]) => name);
    expect(secret).toEqual([]);
  });
});
