import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { accessTo } from '../../src/auth/route-access.js';
import { errorTable } from '../../src/base/errors/error-table.js';
import { areas } from '../../src/openapi/areas.js';
import { asRouted, openApiDocument, type OpenApiDocument } from '../../src/openapi/document.js';
import { startBroker, type TestBroker } from '../support/broker.js';
import { SchemaChecks } from '../support/openapi-ajv.js';
import { operationsOf, type DocumentedMedia } from '../support/openapi-document.js';

/** A document that says less, or more, than the broker does is worse than none: clients are made from it. */

const document = openApiDocument();
const operations = operationsOf(document);

/** What is on no operation, since it is what happens where there is none. */
const OF_NO_OPERATION = ['no_such_route', 'method_not_allowed'];

function codesIn(media: DocumentedMedia | undefined): string[] {
  const schemas = [media?.schema, ...((media?.schema.anyOf ?? []) as object[])];
  return schemas.flatMap((schema) => {
    const properties = (schema as { properties?: Record<string, { enum?: string[] }> } | undefined)
      ?.properties;
    return properties && 'error' in properties ? (properties.code?.enum ?? []) : [];
  });
}

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.1, as the official schema says', async () => {
    const validator = new Validator();
    const result = await validator.validate(structuredClone(document));
    expect(result.errors ?? []).toEqual([]);
    expect(result.valid).toBe(true);
    expect(validator.version).toBe('3.1');
  });

  it('has schemas that a strict validator can use, each of which is used', () => {
    const checks = new SchemaChecks(document, true);
    const text = JSON.stringify(document);
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      expect(() => checks.of(schema)).not.toThrow();
      expect([name, text.includes(`"#/components/schemas/${name}"`)]).toEqual([name, true]);
    }
  });

  it('names each schema, operation and heading once', () => {
    const names = areas.flatMap(({ schemas }) => Object.keys(schemas ?? {}));
    expect(names).toHaveLength(new Set(names).size);
    const ids = operations.map(({ id }) => id);
    expect(ids).toHaveLength(new Set(ids).size);
    const routes = areas.flatMap(({ operations }) => Object.keys(operations));
    expect(routes).toHaveLength(new Set(routes).size);
    expect(operations).toHaveLength(routes.length);
  });

  it('says each parameter of a path, and each parameter once', () => {
    for (const { route, path, parameters } of operations) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      const said = parameters.filter((one) => one.in === 'path').map(({ name }) => name);
      expect({ route, said }).toEqual({ route, said: inPath });
      const all = parameters.map((one) => `${one.in} ${one.name}`);
      expect({ route, all }).toEqual({ route, all: [...new Set(all)] });
    }
  });

  it('says every code of the error table, with its status, and no other', () => {
    const results = document.components.schemas.PushResult.properties as Record<string, { enum?: string[] }>;
    const said = new Set(results['code'].enum);
    for (const { route, method, responses } of operations) {
      for (const [status, { content, description }] of Object.entries(responses)) {
        const codes = codesIn(content?.['application/json']);
        for (const code of codes) {
          expect({ route, code, status: errorTable[code as keyof typeof errorTable]?.status }).toEqual({
            route,
            code,
            status: Number(status),
          });
          expect(description).toContain(`\`${code}\``);
          said.add(code);
        }
        if (method === 'HEAD') expect({ route, content }).toEqual({ route, content: undefined });
      }
    }
    const missing = Object.keys(errorTable).filter(
      (code) => !said.has(code) && !OF_NO_OPERATION.includes(code),
    );
    expect(missing).toEqual([]);
  });

  it('asks for the role that the broker asks for', () => {
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, { security }] of Object.entries(methods)) {
        const access = accessTo(method.toUpperCase(), asRouted(path));
        expect([method, path, security]).toEqual([
          method,
          path,
          access === 'public' ? [] : [{ bearer: [access] }],
        ]);
      }
    }
  });

  it('shows examples of everything, all of them valid against their own schema and nothing more in them', () => {
    const checks = new SchemaChecks(document, true);
    let examples = 0;
    const check = (where: string, media: DocumentedMedia) => {
      const isValid = checks.of(media.schema);
      const shown = media.examples
        ? Object.entries(media.examples).map(([name, { value }]) => [name, value] as const)
        : [['example', media.example] as const];
      for (const [name, value] of shown) {
        expect({ where, name, fault: value === undefined ? 'none' : isValid(value) }).toEqual({
          where,
          name,
          fault: null,
        });
        examples += 1;
      }
    };
    for (const { route, parameters, body, responses } of operations) {
      for (const { name, schema, example } of parameters) check(`${route} ${name}`, { schema, example });
      if (body) check(`${route} body`, body.media);
      for (const [status, { content }] of Object.entries(responses))
        for (const media of Object.values(content ?? {})) check(`${route} ${status}`, media);
    }
    expect(examples).toBeGreaterThan(500);
  });

  it('is put together in no time, and only when somebody asks', () => {
    const start = performance.now();
    const size = JSON.stringify(openApiDocument()).length;
    console.log(`the document: ${Math.round(performance.now() - start)} ms, ${size} bytes`);
    expect(size).toBeGreaterThan(50_000);
  });
});

describe('the running broker', () => {
  let broker: TestBroker;
  beforeAll(async () => {
    broker = await startBroker();
  });
  afterAll(() => broker.stop());

  it('has the routes of the document, and the document those of the broker', () => {
    const documented = operations.map(({ method, path }) => `${method} ${asRouted(path)}`).sort();
    expect(documented).toEqual(broker.broker.routes.list());
  });

  it('serves the document', async () => {
    const { status, headers, body } = await broker.get('/openapi.json');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(body as OpenApiDocument).toEqual(JSON.parse(JSON.stringify(document)));
  });
});
