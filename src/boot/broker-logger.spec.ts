import { describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { BrokerLogger, type BrokerLoggerOptions } from './broker-logger.js';

function listening(options: Partial<BrokerLoggerOptions> = {}) {
  const lines: string[] = [];
  const logger = new BrokerLogger({
    level: 'info',
    format: 'json',
    secrets: [],
    destination: { write: (line) => void lines.push(line) },
    ...options,
  });
  return { logger, lines, records: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

describe('a line of the log', () => {
  it('is one JSON object with level, time, context and message', () => {
    const { logger, lines, records } = listening();
    logger.warn('hints are off', 'Hints');
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^[^\n]+\n$/);
    expect(records()).toEqual([
      { level: 'warn', time: expect.stringMatching(/^\d{4}-.*Z$/), context: 'Hints', msg: 'hints are off' },
    ]);
  });

  it('carries the fields of its message, the stack and the request it is about', () => {
    const { logger, records } = listening();
    logger.error(
      { msg: 'POST /x: broken', requestId: 'r-1', code: 'internal' },
      'Error: broken\n  at x',
      'Filter',
    );
    expect(records()).toMatchObject([
      {
        level: 'error',
        context: 'Filter',
        msg: 'POST /x: broken',
        requestId: 'r-1',
        code: 'internal',
        stack: 'Error: broken\n  at x',
      },
    ]);
  });

  it('stays one line whatever is in it', () => {
    const { logger, lines } = listening();
    logger.log('two\nlines', 'Broker');
    expect(lines.join('').match(/\n/g)).toHaveLength(1);
  });

  it('is written from its level on, and the chatter of the framework only at debug', () => {
    const { logger, records } = listening();
    logger.debug('detail', 'Broker');
    logger.verbose('more', 'Broker');
    logger.log('Mapped {/health, GET} route', 'RouterExplorer');
    logger.log('listening on 127.0.0.1:6632', 'Broker');
    logger.fatal('the end', 'Broker');
    expect(records().map(({ msg }) => msg)).toEqual(['listening on 127.0.0.1:6632', 'the end']);
    const chatty = listening({ level: 'trace' });
    chatty.logger.verbose('more', 'Broker');
    chatty.logger.log('Mapped {/health, GET} route', 'RouterExplorer');
    expect(chatty.records().map(({ level }) => level)).toEqual(['trace', 'debug']);
  });

  it('holds no secret, in the message, in a field or in a stack', () => {
    const secret = 'pass"word-1';
    const { logger, lines } = listening({ secrets: [secret] });
    logger.error(
      { msg: `cannot connect with ${secret}`, url: `postgres://u:${secret}@db` },
      `at ${secret}`,
      'Sql',
    );
    expect(lines.join('')).not.toContain(JSON.stringify(secret).slice(1, -1));
    expect(lines.join('').match(/\[redacted\]/g)).toHaveLength(3);
  });

  it('reads as text at a terminal, without the secret', () => {
    const { logger, lines } = listening({ format: 'text', secrets: ['opensesame'] });
    logger.error({ msg: 'cannot connect with opensesame', requestId: 'r-1' }, 'Error\n  at x', 'Sql');
    expect(lines.join('')).toMatch(
      /^\d\d:\d\d:\d\d error Sql cannot connect with \[redacted\] requestId=r-1\nError\n {2}at x\n$/,
    );
  });

  it('comes through the logger of Nest with its fields', () => {
    const { logger, records } = listening();
    Logger.overrideLogger(logger);
    new Logger('Broker').error({ msg: 'broken', requestId: 'r-2' }, 'Error\n at y');
    new Logger('Broker').error('without a stack');
    expect(records()).toMatchObject([
      { context: 'Broker', msg: 'broken', requestId: 'r-2', stack: 'Error\n at y' },
      { context: 'Broker', msg: 'without a stack' },
    ]);
  });
});
