import { describe, expect, it } from '@jest/globals';
import { ConfigurationError, parseEnvironment, unknownSettings } from './environment.js';
import type { Setting } from './setting.js';
import { settings } from './settings.js';

type Source = Record<string, string | undefined>;

const table = Object.entries(settings) as [string, Setting<unknown>][];

/** The faults of a configuration, each a sentence that begins with the name it is about. */
function faultsOf(source: Source): readonly string[] {
  try {
    parseEnvironment(source);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.faults;
  }
}

describe('a configuration', () => {
  it('of nothing is that of the defaults, and cannot be changed', () => {
    const environment = parseEnvironment({});
    for (const [name, setting] of table)
      expect({ name, value: environment[name as keyof typeof environment] }).toEqual({
        name,
        value: setting.default,
      });
    expect(Object.isFrozen(environment)).toBe(true);
  });

  it.each([undefined, '', '  '])('takes %p for unset', (value) => {
    expect(parseEnvironment({ PORT: value, PG_HOST: value }).PORT).toBe(settings.PORT.default);
  });

  it('reads what surrounding blanks and other spellings mean', () => {
    const environment = parseEnvironment({
      PORT: ' 7000\n',
      QUEEN_HOTLIST: 'Off',
      LOG_LEVEL: 'WARN',
      QUEEN_TRACE_RATIO: '0.25',
    });
    expect(environment).toMatchObject({
      PORT: 7000,
      QUEEN_HOTLIST: false,
      LOG_LEVEL: 'warn',
      QUEEN_TRACE_RATIO: 0.25,
    });
  });

  it('reads an older name where the newer one is unset', () => {
    expect(parseEnvironment({ PG_DB: 'old' }).PG_DATABASE).toBe('old');
    expect(parseEnvironment({ PG_DB: 'old', PG_DATABASE: '' }).PG_DATABASE).toBe('old');
    expect(parseEnvironment({ PG_DB: 'old', PG_DATABASE: 'new' }).PG_DATABASE).toBe('new');
  });

  it('tells all its faults in one message, each by the name that was used', () => {
    const source = {
      PORT: 'http',
      DB_POOL_SIZE: '1',
      QUEEN_HOTLIST: 'maybe',
      LOG_LEVEL: 'loud',
      POP_DEFAULT_TIMEOUT_MS: '-1',
    };
    const faults = faultsOf(source);
    expect([...faults].sort()).toEqual([
      'DB_POOL_SIZE must be from 4 to 1000, not 1',
      expect.stringMatching(/^LOG_LEVEL must be one of fatal, .*, not "loud"$/),
      'POP_DEFAULT_TIMEOUT_MS must be from 0 to 3600000, not -1',
      'PORT must be a whole number, not "http"',
      'QUEEN_HOTLIST must be true or false, not "maybe"',
    ]);
    expect(() => parseEnvironment(source)).toThrow(`has 5 faults:\n  ${faults.join('\n  ')}`);
  });

  it.each([
    [{ QUEEN_SEG_POP_MIN: '20' }, /QUEEN_SEG_POP_MIN <= _INIT <= _MAX must hold, not 20 <= 12 <= 16/],
    [{ QUEEN_HOTLIST_CANDIDATES_MIN: '300' }, /QUEEN_HOTLIST_CANDIDATES_MIN must not exceed/],
    [{ QUEEN_VEGAS_ALPHA: '7' }, /QUEEN_VEGAS_ALPHA must not exceed QUEEN_VEGAS_BETA/],
    [
      { QUEEN_SHUTDOWN_LINGER_MS: '30000' },
      /QUEEN_SHUTDOWN_LINGER_MS must be less than QUEEN_SHUTDOWN_GRACE_MS/,
    ],
  ] as [Source, RegExp][])('that contradicts itself is refused: %p', (source, fault) => {
    expect(faultsOf(source)).toEqual([expect.stringMatching(fault)]);
  });

  const numbers = table.filter(([, { kind }]) => kind === 'integer' || kind === 'number');

  it.each(numbers)('keeps %s in its bounds', (name, { bounds }) => {
    const [min, max] = bounds.split('..').map(Number);
    expect(min).toBeLessThan(max);
    expect(faultsOf({ [name]: String(max + 1) })).toContain(
      `${name} must be from ${min} to ${max}, not ${max + 1}`,
    );
    expect(faultsOf({ [name]: String(min - 1) })).toContain(
      `${name} must be from ${min} to ${max}, not ${min - 1}`,
    );
    for (const odd of ['ten', '1e3', '0x10', '1_000', 'NaN', '--1']) {
      expect(faultsOf({ [name]: odd })).toContainEqual(
        expect.stringMatching(`^${name} must be a (whole )?number`),
      );
    }
  });

  it('names a unit for every number that is an amount of something', () => {
    const amounts = numbers.filter(([name]) => /_(MS|BYTES|MB|DAYS)$|TIMEOUT|INTERVAL(?!_MS)/.test(name));
    expect(amounts.length).toBeGreaterThan(15);
    const silent = amounts.filter(([, { unit }]) => unit === '').map(([name]) => name);
    expect(silent).toEqual([]);
  });

  const secrets = table.filter(([, { secret }]) => secret);

  it.each(secrets)('tells no value of %s, however wrong', (name) => {
    const value = 'opensesame = not, well-formed';
    expect(faultsOf({ [name]: value }).join('\n')).not.toContain('opensesame');
    expect(faultsOf({ [name]: value, PORT: 'http' }).join('\n')).not.toContain('opensesame');
  });
});

describe('a name that looks like ours', () => {
  it.each([
    ['QUEEN_HOTLST', 'QUEEN_HOTLIST'],
    ['QUEEN_STATEMENT_TIMEOUT_MS', 'QUEEN_STMT_TIMEOUT_MS'],
    ['QUEEN_ENCRYPTION_KEYS', 'QUEEN_ENCRYPTION_KEY'],
    ['JWT_SECRETS', 'JWT_SECRET'],
  ])('%s is warned about, with %s', (name, nearest) => {
    expect(unknownSettings({ [name]: 'a value' })).toEqual([
      `${name} is not a setting of this broker and has no effect; did you mean ${nearest}?`,
    ]);
  });

  it('is warned about without a guess where nothing is near', () => {
    expect(unknownSettings({ QUEEN_XYZZY_PLUGH_FROTZ: '1' })).toEqual([
      'QUEEN_XYZZY_PLUGH_FROTZ is not a setting of this broker and has no effect',
    ]);
  });

  it('is no concern when it is a setting, an older name of one, or of somebody else', () => {
    const source = Object.fromEntries(
      table.flatMap(([name, { aliases }]) => [name, ...aliases]).map((name) => [name, '1']),
    );
    expect(unknownSettings({ ...source, PATH: '/bin', KUBERNETES_PORT: 'tcp://x', QUEENS: '1' })).toEqual([]);
  });

  it('never has its value told', () => {
    expect(unknownSettings({ QUEEN_ENCRIPTION_KEY: 'opensesame' }).join('')).not.toContain('opensesame');
  });
});
