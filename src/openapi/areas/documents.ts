import type { Area } from '../operation.js';
import { path } from '../parameters.js';
import { anyJson, mapOf, text } from '../schema.js';

const POLICY = {
  'Content-Security-Policy': text(),
  'X-Content-Type-Options': text(),
  'X-Frame-Options': text(),
  'Referrer-Policy': text(),
};

export const documentsArea: Area = {
  name: 'Documents',
  about: 'This document.',
  operations: {
    'GET /openapi.json': {
      id: 'openapi',
      summary: 'This document',
      answers: {
        200: {
          about: 'OpenAPI 3.1.',
          schema: mapOf(anyJson()),
          example: { openapi: '3.1.1' },
        },
      },
    },
    'GET /docs': {
      id: 'docs',
      summary: 'A page to read this document and to try it',
      answers: {
        200: {
          about: 'The page.',
          mediaType: 'text/html',
          schema: text(),
          example: '<!doctype html>',
          headers: POLICY,
        },
      },
    },
    'GET /docs/{asset}': {
      id: 'docsAsset',
      summary: 'What the page is made of',
      parameters: [path('asset', 'A file that the page names.', text(), 'swagger-ui.css')],
      answers: {
        200: {
          about: 'The file.',
          mediaType: '*/*',
          schema: text(),
          example: '/* … */',
          headers: POLICY,
        },
      },
      errors: ['not_found'],
    },
  },
};
