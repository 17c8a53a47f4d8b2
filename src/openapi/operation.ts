import type { ErrorCode } from '../base/errors/error-table.js';
import type { Schema } from './schema.js';

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly about: string;
  readonly schema: Schema;
  readonly example: string | number | boolean;
}

export interface Body {
  readonly schema: Schema;
  readonly example: unknown;
  /** False: the route works without a body as well. */
  readonly required: boolean;
}

export interface Answer {
  readonly about: string;
  /** None: an answer without a body. */
  readonly schema?: Schema;
  readonly example?: unknown;
  /** JSON, unless it is something else. */
  readonly mediaType?: string;
  readonly headers?: Readonly<Record<string, Schema>>;
}

/** A code that a route can answer; `keys` stand in the body beside `error` and `code`. */
export type ErrorUse =
  ErrorCode | { readonly code: ErrorCode; readonly keys: Readonly<Record<string, Schema>> };

export interface OperationSpec {
  readonly id: string;
  /** One line. */
  readonly summary: string;
  readonly about?: string;
  readonly parameters?: readonly Parameter[];
  readonly body?: Body;
  readonly answers: Readonly<Record<number, Answer>>;
  /** Besides those that every route of its kind can answer (errors.ts). */
  readonly errors?: readonly ErrorUse[];
}

export type Method = 'DELETE' | 'GET' | 'HEAD' | 'POST';

/** One part of the API: a heading of the page, its operations and the schemas they share. */
export interface Area {
  readonly name: string;
  readonly about: string;
  readonly schemas?: Readonly<Record<string, Schema>>;
  /** By method and path, such as `GET /api/v1/pop/queue/{queue}`. */
  readonly operations: Readonly<Record<`${Method} /${string}`, OperationSpec>>;
}
