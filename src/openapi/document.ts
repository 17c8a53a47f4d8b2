import { accessTo } from '../auth/route-access.js';
import { errorTable } from '../base/errors/error-table.js';
import { DEFAULT_TENANT } from '../base/names/names.js';
import { brokerVersion } from '../base/version.js';
import { TENANT_HEADER } from '../http/tenant.js';
import { areas } from './areas.js';
import { codeOf, commonErrors, errorSchema, errorText } from './errors.js';
import type { Answer, ErrorUse, Method, OperationSpec, Parameter } from './operation.js';
import { text, uuid, type Schema } from './schema.js';

const JSON_TYPE = 'application/json';

const ABOUT = [
  'A message broker over plain HTTP. Messages of a partition keep their order; each consumer group has its own cursor.',
  '',
  'Bodies are JSON whatever their content type says, plain or gzip. Every failure is JSON as well, with an `error` for people',
  'and a `code` for programs. 429 and 503 carry `Retry-After`; clients may repeat those and 5xx, other 4xx are final.',
  '',
  'What is on no operation: a path that is not here is 404 `no_such_route`, a method that is not here is 405',
  '`method_not_allowed` with `Allow`.',
  '',
  'Tokens and roles matter with JWT_ENABLED, tenants with QUEEN_TENANCY_HEADER; both are off by default.',
].join('\n');

const REQUEST_ID = text("The request's own, when it brought a sane one; else one of the broker's.");

const TENANT: Parameter = {
  name: TENANT_HEADER,
  in: 'header',
  about: 'Whose names are meant. Read with QUEEN_TENANCY_HEADER only.',
  schema: uuid(),
  example: DEFAULT_TENANT,
};

/** Any JSON object of the document; its shape is that of the OpenAPI 3.1 specification. */
export type Node = Record<string, unknown>;

export interface OpenApiDocument extends Node {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Record<string, Node>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Readonly<Record<string, Node>>;
  } & Node;
}

/** The whole API as OpenAPI 3.1. Put together when it is asked for: most brokers never are. */
export function openApiDocument(): OpenApiDocument {
  const failures = new Failures();
  return {
    openapi: '3.1.1',
    info: {
      title: 'queen-nest',
      version: brokerVersion,
      description: ABOUT,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/', description: 'This broker.' }],
    tags: areas.map(({ name, about }) => ({ name, description: about })),
    paths: paths(failures),
    components: {
      schemas: Object.assign({}, ...areas.map(({ schemas }) => schemas ?? {})) as Record<string, Schema>,
      responses: failures.responses,
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description:
            'With JWT_ENABLED. The role that each operation asks for stands beside it; see docs/security.md.',
        },
      },
    },
  };
}

/** Most routes fail in the same ways; each way is written once. */
class Failures {
  readonly responses: Record<string, Node> = {};
  private readonly names = new Map<string, string>();

  /** A reference to the same response. */
  shared(status: number, response: Node): Node {
    const text = JSON.stringify(response);
    let name = this.names.get(text);
    if (name === undefined) {
      name = `Error${status}-${[...this.names.values()].filter((one) => one.startsWith(`Error${status}-`)).length + 1}`;
      this.names.set(text, name);
      this.responses[name] = response;
    }
    return { $ref: `#/components/responses/${name}` };
  }
}

function paths(failures: Failures): Record<string, Record<string, Node>> {
  const found: Record<string, Record<string, Node>> = {};
  for (const { name, operations } of areas) {
    for (const [route, spec] of Object.entries(operations)) {
      const [method, path] = route.split(' ') as [Method, string];
      (found[path] ??= {})[method.toLowerCase()] = operation(failures, name, method, path, spec);
    }
  }
  return found;
}

function operation(
  failures: Failures,
  area: string,
  method: Method,
  path: string,
  spec: OperationSpec,
): Node {
  const access = accessTo(method, asRouted(path));
  const errors = [...commonErrors(method, path, access), ...(spec.errors ?? [])];
  const parameters = [...(spec.parameters ?? []), ...(path.startsWith('/api/') ? [TENANT] : [])];
  return {
    operationId: spec.id,
    tags: [area],
    summary: spec.summary,
    ...(spec.about === undefined ? {} : { description: spec.about }),
    security: access === 'public' ? [] : [{ bearer: [access] }],
    ...(parameters.length === 0 ? {} : { parameters: parameters.map(parameterNode) }),
    ...(spec.body === undefined
      ? {}
      : {
          requestBody: {
            required: spec.body.required,
            content: { [JSON_TYPE]: { schema: spec.body.schema, example: spec.body.example } },
          },
        }),
    responses: responses(failures, spec.answers, errors, method === 'HEAD'),
  };
}

/** The path as the router spells it. */
export function asRouted(path: string): string {
  return path.replace(/\{(\w+)\}/g, ':$1');
}

function parameterNode({ name, in: place, about, schema, example }: Parameter): Node {
  return {
    name,
    in: place,
    description: about,
    ...(place === 'path' ? { required: true } : {}),
    schema,
    example,
  };
}

function responses(
  failures: Failures,
  answers: Readonly<Record<number, Answer>>,
  errors: readonly ErrorUse[],
  isBare: boolean,
): Node {
  const byStatus = new Map<number, ErrorUse[]>();
  for (const use of errors) {
    const { status } = errorTable[codeOf(use)];
    byStatus.set(status, [...(byStatus.get(status) ?? []), use]);
  }
  const statuses = [...new Set([...Object.keys(answers).map(Number), ...byStatus.keys()])].sort(
    (a, b) => a - b,
  );
  return Object.fromEntries(
    statuses.map((status) => {
      const found = response(status, answers[status], byStatus.get(status) ?? [], isBare);
      return [String(status), status in answers ? found : failures.shared(status, found)];
    }),
  );
}

function response(
  status: number,
  answer: Answer | undefined,
  errors: readonly ErrorUse[],
  isBare: boolean,
): Node {
  const headers: Record<string, Schema> = {
    'X-Request-Id': REQUEST_ID,
    ...answer?.headers,
    ...(errors.length > 0 ? headersOfError(status) : {}),
  };
  const about = [answer?.about, errors.length > 0 ? errorText(errors) : undefined];
  return {
    description: about.filter((one) => one !== undefined).join('\n\n'),
    headers: Object.fromEntries(Object.entries(headers).map(([name, schema]) => [name, { schema }])),
    ...(isBare ? {} : content(answer, errors)),
  };
}

function content(answer: Answer | undefined, errors: readonly ErrorUse[]): Node {
  const media: Record<string, Node> = {};
  if (answer?.schema !== undefined) {
    media[answer.mediaType ?? JSON_TYPE] = { schema: answer.schema, example: answer.example };
  }
  if (errors.length > 0) {
    const shared = media[JSON_TYPE] as { schema: Schema; example: unknown } | undefined;
    const examples = Object.fromEntries(errors.map((use) => [codeOf(use), { value: errorExample(use) }]));
    const schema = errorSchema(errors);
    media[JSON_TYPE] = shared
      ? {
          schema: { anyOf: [shared.schema, schema] },
          examples: { answer: { value: shared.example }, ...examples },
        }
      : { schema, examples };
  }
  return Object.keys(media).length === 0 ? {} : { content: media };
}

function errorExample(use: ErrorUse): Node {
  const code = codeOf(use);
  return { error: errorTable[code].meaning, code };
}

function headersOfError(status: number): Record<string, Schema> {
  if (status === 401) return { 'WWW-Authenticate': text('`Bearer`.') };
  return status === 429 || status === 503 ? { 'Retry-After': text('Seconds.', { pattern: '^\\d+$' }) } : {};
}
