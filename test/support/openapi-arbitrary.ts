import * as fc from 'fast-check';
import type { OpenApiDocument } from '../../src/openapi/document.js';
import type { Schema } from '../../src/openapi/schema.js';

/** Long lists and texts have tests of their own; here they would only cost time. */
const ITEMS_MAX = 4;
const TEXT_MAX = 40;

/** Values that programs stumble over, whatever a schema says. */
const HOSTILE: readonly unknown[] = [
  ...[
    '',
    ' ',
    '.',
    '..',
    '/',
    '%',
    '%00',
    '\u0000',
    '\ud800',
    '\ufeff',
    '🐘',
    "'; drop table queen.queues; --",
  ],
  ...['__proto__', 'constructor', 'null', 'true', 'NaN', '-0', '1e400', '0x10', '2026-02-30T00:00:00Z'],
  ...['00000000-0000-0000-0000-000000000000', 'a'.repeat(300), 'é'.repeat(200), '{', '[]', '\r\nX-Evil: 1'],
  ...[0, -1, 1.5, 2 ** 31, -(2 ** 31) - 1, 2 ** 53, 1e300, null, true, false, [], {}, [[]], { a: { b: [] } }],
];

export const hostileValue: fc.Arbitrary<unknown> = fc.constantFrom(...HOSTILE);
export const hostileText: fc.Arbitrary<string> = hostileValue.map((value) =>
  typeof value === 'string' ? value : JSON.stringify(value),
);

/** Values of a schema; with `isHostile`, here and there one that is none of them. */
export class Arbitraries {
  constructor(
    private readonly document: OpenApiDocument,
    private readonly isHostile: boolean,
  ) {}

  of(schema: Schema): fc.Arbitrary<unknown> {
    const good = this.good(schema);
    return this.isHostile
      ? fc.oneof({ weight: 12, arbitrary: good }, { weight: 1, arbitrary: hostileValue })
      : good;
  }

  private good(schema: Schema): fc.Arbitrary<unknown> {
    if (typeof schema.$ref === 'string') return this.of(this.resolve(schema.$ref));
    if ('const' in schema) return fc.constant(schema.const);
    if (Array.isArray(schema.enum)) return fc.constantFrom(...(schema.enum as unknown[]));
    const branches = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined;
    if (branches) return fc.oneof(...branches.map((branch) => this.of(branch)));
    const types = [schema.type].flat() as (string | undefined)[];
    return fc.oneof(...types.map((type) => this.ofType(type, schema)));
  }

  private ofType(type: string | undefined, schema: Schema): fc.Arbitrary<unknown> {
    switch (type) {
      case 'null':
        return fc.constant(null);
      case 'boolean':
        return fc.boolean();
      case 'integer':
        return integers(schema);
      case 'number':
        return fc.double({ noNaN: true, noDefaultInfinity: true });
      case 'string':
        return texts(schema);
      case 'array':
        return fc.array(this.of((schema.items ?? {}) as Schema), {
          minLength: (schema.minItems ?? 0) as number,
          maxLength: Math.min((schema.maxItems ?? ITEMS_MAX) as number, ITEMS_MAX),
        });
      case 'object':
        return this.objects(schema);
      default:
        return fc.jsonValue({ maxDepth: 2 });
    }
  }

  private objects(schema: Schema): fc.Arbitrary<unknown> {
    if (typeof schema.additionalProperties === 'object') {
      const values = this.of(schema.additionalProperties as Schema);
      return fc.dictionary(fc.string({ maxLength: 10 }), values, { maxKeys: 3, noNullPrototype: true });
    }
    const required = (schema.required ?? []) as string[];
    const members = Object.entries((schema.properties ?? {}) as Record<string, Schema>);
    return fc.record(Object.fromEntries(members.map(([name, member]) => [name, this.of(member)])), {
      requiredKeys: this.isHostile ? [] : required,
      noNullPrototype: true,
    });
  }

  private resolve(pointer: string): Schema {
    return this.document.components.schemas[pointer.split('/').at(-1)!];
  }
}

function integers({ minimum, maximum }: Schema): fc.Arbitrary<number> {
  const min = (minimum ?? -(2 ** 31)) as number;
  const max = (maximum ?? 2 ** 31 - 1) as number;
  return fc.oneof(fc.integer({ min, max }), fc.constantFrom(min, max));
}

function texts({ format, examples, minLength = 0, maxLength = TEXT_MAX }: Schema): fc.Arbitrary<string> {
  if (format === 'uuid') return fc.uuid();
  if (format === 'date-time') {
    return fc
      .date({
        min: new Date('2000-01-01T00:00:00Z'),
        max: new Date('2100-01-01T00:00:00Z'),
        noInvalidDate: true,
      })
      .map((date) => date.toISOString());
  }
  const any = fc.string({
    minLength: minLength as number,
    maxLength: Math.min(maxLength as number, TEXT_MAX),
    unit: 'grapheme',
  });
  const known = (examples ?? []) as string[];
  return known.length === 0 ? any : fc.oneof(any, fc.constantFrom(...known));
}
