import { describe, expect, it } from '@jest/globals';
import { errorTable } from '../../src/base/errors/error-table.js';
import { literals, sources, withoutComments } from './sources.js';

/** A client programs against the codes: each is in the table, and each in the table can happen. */

const codes = Object.keys(errorTable);
const users = sources().filter(({ path }) => path !== 'base/errors/error-table.ts');

describe('error codes', () => {
  it('of the table are used somewhere', () => {
    const reason = 'a code that cannot happen is a promise in docs/errors.md that nobody keeps';
    const used = new Set(users.flatMap(({ text }) => literals(text)));
    expect({ reason, unused: codes.filter((code) => !used.has(code)) }).toEqual({ reason, unused: [] });
  });

  it('that are thrown are in the table', () => {
    const reason = 'a code that no page explains leaves its reader alone';
    const thrown = users.flatMap(({ path, text }) =>
      [...withoutComments(text).matchAll(/new (?:BrokerError|SqlStatementError)\(\s*'([^']*)'/g)].map(
        ([, code]) => ({
          path,
          code,
        }),
      ),
    );
    expect(thrown.length).toBeGreaterThan(10);
    const unknown = thrown.filter(({ code }) => !codes.includes(code));
    expect({ reason, unknown }).toEqual({ reason, unknown: [] });
  });

  it('that stand beside a message in a reply are in the table too', () => {
    const reason = 'items of a push or an ack carry the same codes as whole answers';
    const written = users.flatMap(({ path, text }) =>
      [...withoutComments(text).matchAll(/\bcode: '([a-z_]+)'/g)].map(([, code]) => ({ path, code })),
    );
    const unknown = written.filter(({ code }) => !codes.includes(code));
    expect({ reason, unknown }).toEqual({ reason, unknown: [] });
  });

  it('say in a whole sentence what to do', () => {
    const vague = Object.entries(errorTable).filter(
      ([, { meaning }]) => !/^[A-Z].*\.$/s.test(meaning) || meaning.length < 30,
    );
    expect(vague).toEqual([]);
  });
});
