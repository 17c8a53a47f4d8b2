import { describe, expect, it } from '@jest/globals';
import { MigrationEditedError, SchemaFileError, SchemaTooNewError } from './schema-errors.js';
import { isDone, planSchema } from './schema-plan.js';
import type { SqlFile } from './sql-files.js';

const file = (name: string, checksum = `sum of ${name}`): SqlFile => ({ name, checksum, text: 'select 1' });
const applied = (...files: SqlFile[]) => new Map(files.map(({ name, checksum }) => [name, checksum]));

const first = file('0001_tables.sql');
const second = file('0002_groups.sql');
const pop = file('004_log_pop/log_pop_v1.sql');
const ack = file('005_log_ack/log_ack_v1.sql');

describe('planSchema', () => {
  it('applies everything to a database that has nothing', () => {
    const plan = planSchema(
      { migrations: [first, second], procedures: [pop, ack] },
      { migrations: new Map(), procedures: new Map() },
    );
    expect(plan).toEqual({ migrations: [first, second], procedures: [pop, ack] });
    expect(isDone(plan)).toBe(false);
  });

  it('finds nothing to do when every name and checksum is there', () => {
    const plan = planSchema(
      { migrations: [first], procedures: [pop] },
      { migrations: applied(first), procedures: applied(pop) },
    );
    expect(isDone(plan)).toBe(true);
  });

  it('takes the migrations that are missing and the procedures whose text changed', () => {
    const plan = planSchema(
      { migrations: [first, second], procedures: [pop, ack] },
      { migrations: applied(first), procedures: applied(pop, file(ack.name, 'older')) },
    );
    expect(plan).toEqual({ migrations: [second], procedures: [ack] });
  });

  it('leaves a procedure alone that an older build brought', () => {
    const plan = planSchema(
      { migrations: [first], procedures: [pop] },
      { migrations: applied(first), procedures: applied(pop, ack) },
    );
    expect(isDone(plan)).toBe(true);
  });

  it('refuses a database with a migration it does not know, and names it', () => {
    const plan = () =>
      planSchema(
        { migrations: [first], procedures: [] },
        { migrations: applied(first, file('0099_later.sql')), procedures: new Map() },
      );
    expect(plan).toThrow(SchemaTooNewError);
    expect(plan).toThrow(/0099_later\.sql.*newer/);
  });

  it('refuses an applied migration whose text is another one now, and names it', () => {
    const plan = () =>
      planSchema(
        { migrations: [file(first.name, 'edited')], procedures: [] },
        { migrations: applied(first), procedures: new Map() },
      );
    expect(plan).toThrow(MigrationEditedError);
    expect(plan).toThrow(/0001_tables\.sql.*never edited/);
  });
});

describe('SchemaFileError', () => {
  it('names the line that PostgreSQL complained about', () => {
    const cause = Object.assign(new Error('syntax error'), { position: '20' });
    const error = new SchemaFileError('0001_tables.sql', 'select 1;\nselect\n  form x', cause);
    expect(error.message).toBe('0001_tables.sql, line 3 could not be applied: syntax error');
  });
});
