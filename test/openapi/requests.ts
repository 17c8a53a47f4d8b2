import * as fc from 'fast-check';
import { Arbitraries, hostileText } from '../support/openapi-arbitrary.js';
import type { DocumentedOperation, DocumentedParameter } from '../support/openapi-document.js';
import type { OpenApiDocument } from '../../src/openapi/document.js';
import type { Sent } from '../support/http-exchange.js';

/** Values that mean something to the broker under test, by the name of a parameter or of a member of a body. */
export type Known = Readonly<Record<string, readonly string[]>>;

/** A long-poll of these tests; what it waits for is none of their business. */
const TIMEOUT_MS = 20;

const junk: fc.Arbitrary<Buffer | null> = fc.oneof(
  fc.constant(null),
  fc
    .constantFrom('', '{', 'null', '[]', '"text"', '1e400', '{"a":1}{', '\ufeff{}', '[['.repeat(600))
    .map((text) => Buffer.from(text)),
  fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
);

/** Requests of one operation, made from what the document says of it; with `isHostile`, also from what it does not. */
export function requestsOf(
  document: OpenApiDocument,
  operation: DocumentedOperation,
  known: Known,
  isHostile: boolean,
): fc.Arbitrary<Sent> {
  const values = new Arbitraries(document, isHostile);
  const { method, path, parameters, body } = operation;

  const parameter = ({ name, schema }: DocumentedParameter): fc.Arbitrary<string> => {
    const good = values
      .of(schema)
      .map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
    const texts = known[name] ? fc.oneof(fc.constantFrom(...known[name]), good) : good;
    return isHostile
      ? fc.oneof({ weight: 6, arbitrary: texts }, { weight: 1, arbitrary: hostileText })
      : texts;
  };
  const named = (place: DocumentedParameter['in'], areRequired: boolean) => {
    const those = parameters.filter((one) => one.in === place);
    return fc.record(Object.fromEntries(those.map((one) => [one.name, parameter(one)])), {
      requiredKeys: areRequired ? those.map(({ name }) => name) : [],
      noNullPrototype: true,
    });
  };
  const bodies: fc.Arbitrary<Buffer | null> = !body
    ? fc.constant(null)
    : values.of(body.media.schema).map((value) => Buffer.from(JSON.stringify(withKnown(value, known)) ?? ''));
  const anyBody = isHostile
    ? fc.oneof({ weight: 8, arbitrary: bodies }, { weight: 1, arbitrary: junk })
    : body && !body.required
      ? fc.oneof(bodies, fc.constant(null))
      : bodies;

  return fc
    .record({
      inPath: named('path', true),
      query: named('query', false),
      extra: isHostile ? fc.option(fc.tuple(hostileText, hostileText), { freq: 8 }) : fc.constant(null),
      repeat: isHostile ? fc.integer({ min: 0, max: 20 }) : fc.constant(1),
      broken: isHostile ? fc.integer({ min: 0, max: 30 }) : fc.constant(1),
      body: anyBody,
    })
    .map(({ inPath, query, extra, repeat, broken, body }) => {
      const search = Object.entries(query).filter(([name]) => name !== 'timeout' || query.wait !== 'true');
      if (query.wait === 'true') search.push(['timeout', String(TIMEOUT_MS)]);
      if (extra && extra[0] !== 'timeout') search.push(extra);
      if (repeat === 0 && search.length > 0) search.push(search[0]);
      const route = path.replace(/\{(\w+)\}/g, (_, name: string) =>
        broken === 0 ? '%E0%A4%A' : escaped(inPath[name]),
      );
      const text = search.map(([name, value]) => `${escaped(name)}=${escaped(value)}`).join('&');
      return { method, path: text === '' ? route : `${route}?${text}`, body };
    });
}

/** Half of the members whose names are known get a known value: a request that finds nothing tests little. */
function withKnown(value: unknown, known: Known): unknown {
  if (Array.isArray(value)) return value.map((item) => withKnown(item, known));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member], i) => {
      const texts = known[name];
      const isTaken = texts && typeof member === 'string' && member.length % 2 === i % 2;
      return [name, isTaken ? texts[member.length % texts.length] : withKnown(member, known)];
    }),
  );
}

/** As encodeURIComponent, and half a surrogate pair as the bytes that a careless client sends for it. */
function escaped(text: string): string {
  return text.isWellFormed() ? encodeURIComponent(text) : '%ED%A0%80';
}
