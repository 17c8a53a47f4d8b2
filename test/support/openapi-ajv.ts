import ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { OpenApiDocument } from '../../src/openapi/document.js';
import type { Schema } from '../../src/openapi/schema.js';
import { closed } from './openapi-document.js';

/** Null, or what is wrong with the value. */
export type Check = (value: unknown) => string | null;

/** Checks values against schemas of a document, strictly: a keyword that nobody knows is a fault of the document. */
export class SchemaChecks {
  private readonly ajv: InstanceType<typeof ajv2020.default>;

  /** @param isClosed members that a schema does not list are refused */
  constructor(
    document: OpenApiDocument,
    private readonly isClosed: boolean,
  ) {
    this.ajv = new ajv2020.default({ strict: true, allowUnionTypes: true, allErrors: false });
    addFormats.default(this.ajv);
    for (const [name, schema] of Object.entries(document.components.schemas)) {
      this.ajv.addSchema(this.variant(schema), `#/components/schemas/${name}`);
    }
  }

  of(schema: Schema): Check {
    const validate = this.ajv.compile(this.variant(schema));
    return (value) => (validate(value) ? null : this.ajv.errorsText(validate.errors));
  }

  private variant(schema: Schema): Schema {
    return this.isClosed ? closed(schema) : schema;
  }
}
