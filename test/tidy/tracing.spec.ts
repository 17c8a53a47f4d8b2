import { describe, expect, it } from '@jest/globals';
import { sources, withoutComments } from './sources.js';

/** Traces are off unless configured, and what is off costs nothing: neither memory nor a look on the way of a message. */

const files = sources();
const ENTRANCE = 'boot/traces-of.ts';

describe('OpenTelemetry', () => {
  it('is imported below src/tracing and nowhere else', () => {
    const reason =
      'a service that makes its own spans pays for them when tracing is off; wrap it from src/tracing';
    const importers = files
      .filter(({ module }) => module !== 'tracing')
      .filter(({ imports }) => imports.some(({ specifier }) => specifier.startsWith('@opentelemetry/')))
      .map(({ path }) => path);
    expect({ reason, importers }).toEqual({ reason, importers: [] });
  });

  it('is loaded by one dynamic import, behind the setting', () => {
    const reason = 'a static import loads the SDK into every broker';
    const importers = files
      .filter(({ module }) => module !== 'tracing')
      .filter(({ imports }) => imports.some(({ file }) => file?.startsWith('tracing/')))
      .map(({ path }) => path);
    expect({ reason, importers }).toEqual({ reason, importers: [ENTRANCE] });
    const text = withoutComments(files.find(({ path }) => path === ENTRANCE)!.text);
    expect(text).toMatch(
      /OTEL_EXPORTER_OTLP_ENDPOINT === ''\) return null;\s+[^]*await import\('\.\.\/tracing\//,
    );
    expect(text).not.toMatch(/^import [^;]*from '\.\.\/tracing\//m);
  });
});
