import type { Node, OpenApiDocument } from '../../src/openapi/document.js';
import type { Schema } from '../../src/openapi/schema.js';

export interface DocumentedParameter {
  name: string;
  in: 'path' | 'query' | 'header';
  schema: Schema;
  example: unknown;
}

export interface DocumentedMedia {
  schema: Schema;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}

export interface DocumentedResponse {
  description: string;
  content?: Record<string, DocumentedMedia>;
}

export interface DocumentedOperation {
  /** `GET /api/v1/pop/queue/{queue}`. */
  route: string;
  method: string;
  path: string;
  id: string;
  parameters: DocumentedParameter[];
  body: { required: boolean; media: DocumentedMedia } | null;
  responses: Record<string, DocumentedResponse>;
}

/** The operations of a document, as tests want them. */
export function operationsOf(document: OpenApiDocument): DocumentedOperation[] {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]: [string, Node]) => {
      const body = operation.requestBody as
        { required: boolean; content: Record<string, DocumentedMedia> } | undefined;
      return {
        route: `${method.toUpperCase()} ${path}`,
        method: method.toUpperCase(),
        path,
        id: operation.operationId as string,
        parameters: (operation.parameters ?? []) as DocumentedParameter[],
        body: body ? { required: body.required, media: body.content['application/json'] } : null,
        responses: Object.fromEntries(
          Object.entries(operation.responses as Record<string, Node>).map(([status, response]) => [
            status,
            resolved(document, response) as unknown as DocumentedResponse,
          ]),
        ),
      };
    }),
  );
}

function resolved({ components }: OpenApiDocument, response: Node): Node {
  const { $ref: pointer } = response;
  return typeof pointer === 'string' ? components.responses[pointer.split('/').at(-1)!] : response;
}

/**
 * The same schema, with members that it does not list refused: the published one lets answers learn new keys, and a
 * test wants to hear of them.
 */
export function closed<T>(schema: T): T {
  if (Array.isArray(schema)) return schema.map(closed) as T;
  if (typeof schema !== 'object' || schema === null) return schema;
  const copy = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      ['const', 'enum', 'default', 'examples'].includes(key) ? value : closed(value as unknown),
    ]),
  );
  if (copy.type === 'object' && 'properties' in copy && !('additionalProperties' in copy)) {
    return { ...copy, additionalProperties: false } as T;
  }
  return copy as T;
}
