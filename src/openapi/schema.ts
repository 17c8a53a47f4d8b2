/** A JSON Schema (2020-12), as OpenAPI 3.1 takes it. */
export interface Schema {
  readonly [keyword: string]: unknown;
}

/** Where a named schema stands in the document. */
export function ref(name: string): Schema {
  return { $ref: `#/components/schemas/${name}` };
}

/**
 * An object with these members; a `?` behind a name says that it may be missing.
 * Members that are not listed are allowed: clients ignore what they do not know, and an answer may learn new keys.
 */
export function object(members: Readonly<Record<string, Schema>>, about?: string): Schema {
  const names = Object.keys(members);
  const required = names.filter((name) => !name.endsWith('?'));
  return {
    type: 'object',
    ...describe(about),
    ...(required.length > 0 ? { required } : {}),
    properties: Object.fromEntries(names.map((name) => [name.replace(/\?$/, ''), members[name]])),
  };
}

/** An object whose keys are names of the user's. */
export function mapOf(values: Schema, about?: string): Schema {
  return { type: 'object', ...describe(about), additionalProperties: values };
}

export function list(items: Schema, about?: string, limits: Schema = {}): Schema {
  return { type: 'array', ...describe(about), items, ...limits };
}

export function text(about?: string, limits: Schema = {}): Schema {
  return { type: 'string', ...describe(about), ...limits };
}

export function integer(about?: string, limits: Schema = {}): Schema {
  return { type: 'integer', ...describe(about), ...limits };
}

/** A whole number that is never negative. */
export function count(about?: string): Schema {
  return integer(about, { minimum: 0 });
}

export function number(about?: string, limits: Schema = {}): Schema {
  return { type: 'number', ...describe(about), ...limits };
}

export function boolean(about?: string, limits: Schema = {}): Schema {
  return { type: 'boolean', ...describe(about), ...limits };
}

export function oneOfTexts(values: readonly string[], about?: string): Schema {
  return { type: 'string', enum: values, ...describe(about) };
}

/** Always this one value. */
export function always(value: string | number | boolean | null, about?: string): Schema {
  return { const: value, ...describe(about) };
}

/** Any JSON: what applications sent. */
export function anyJson(about?: string): Schema {
  return { ...describe(about) };
}

export function nullable(schema: Schema): Schema {
  const { type, ...rest } = schema;
  if (typeof type !== 'string') return { anyOf: [schema, { type: 'null' }] };
  const { enum: values } = rest;
  return { ...rest, type: [type, 'null'], ...(Array.isArray(values) ? { enum: [...values, null] } : {}) };
}

export function uuid(about?: string): Schema {
  return text(about, { format: 'uuid' });
}

/** ISO 8601, UTC. */
export function instant(about?: string): Schema {
  return text(about, { format: 'date-time' });
}

function describe(about: string | undefined): Schema {
  return about === undefined ? {} : { description: about };
}
