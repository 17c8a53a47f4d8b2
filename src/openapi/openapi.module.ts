import { Module } from '@nestjs/common';
import { DocsController } from './docs.controller.js';
import { OpenApiController } from './openapi.controller.js';

/** The API as a document for programs and as a page for people. */
@Module({ controllers: [OpenApiController, DocsController] })
export class OpenApiModule {}
