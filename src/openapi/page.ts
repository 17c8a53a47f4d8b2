import { createRequire } from 'node:module';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** What is sent as a page, or as a part of it. */
export interface PageFile {
  readonly mediaType: string;
  readonly bytes: Buffer;
}

/** Relative, so that the page works behind a proxy that puts a prefix before all paths. */
export const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>queen-nest API</title>
    <link rel="icon" type="image/png" href="docs/favicon-32x32.png">
    <link rel="stylesheet" href="docs/swagger-ui.css">
    <link rel="stylesheet" href="docs/page.css">
  </head>
  <body>
    <div id="page"></div>
    <noscript>This page needs JavaScript. The document itself: <a href="openapi.json">openapi.json</a>.</noscript>
    <script src="docs/swagger-ui-bundle.js"></script>
    <script src="docs/start.js"></script>
  </body>
</html>
`;

/** A token typed into the page is forgotten with it, and nobody else is asked whether the document is valid. */
const START = `SwaggerUIBundle({
  url: 'openapi.json',
  dom_id: '#page',
  deepLinking: true,
  docExpansion: 'none',
  defaultModelsExpandDepth: 0,
  displayOperationId: false,
  displayRequestDuration: true,
  persistAuthorization: false,
  validatorUrl: null,
});
`;

const STYLE = 'body { margin: 0; background: #fafafa; }\n';

const OWN: Readonly<Record<string, string>> = { 'start.js': START, 'page.css': STYLE };
/** Of the package; nothing else of its folder is served. */
const FROM_PACKAGE = ['swagger-ui-bundle.js', 'swagger-ui.css', 'favicon-32x32.png'];

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  png: 'image/png',
};

/** The file that the page knows by this name, or null. */
export async function pageFile(name: string): Promise<PageFile | null> {
  const mediaType = MEDIA_TYPES[name.split('.').at(-1)!];
  if (Object.hasOwn(OWN, name)) return { mediaType, bytes: Buffer.from(OWN[name]) };
  if (!FROM_PACKAGE.includes(name)) return null;
  const folder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  return { mediaType, bytes: await readFile(join(folder, name)) };
}
