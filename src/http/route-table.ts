import type { FastifyInstance } from 'fastify';

interface KnownRoute {
  method: string;
  segments: string[];
}

/** What is routed, collected as routes are added: tells "no such path" from "wrong method", and lists the methods. */
export class RouteTable {
  private readonly routes: KnownRoute[] = [];

  collectFrom(fastify: FastifyInstance): void {
    fastify.addHook('onRoute', (route) => {
      const methods = Array.isArray(route.method) ? route.method : [route.method];
      for (const method of methods) this.routes.push({ method, segments: route.url.split('/') });
    });
  }

  /** Methods under which `path` (without query) is known. */
  methodsFor(path: string): string[] {
    const segments = path.split('/');
    const methods = this.routes
      .filter((route) => matches(route.segments, segments))
      .map((route) => route.method);
    return [...new Set(methods)].sort();
  }

  /** Every route as `METHOD /path/:parameter`, sorted; for documents and their checks. */
  list(): string[] {
    return [...new Set(this.routes.map((route) => `${route.method} ${route.segments.join('/')}`))].sort();
  }
}

function matches(pattern: string[], segments: string[]): boolean {
  if (pattern.at(-1) === '*') return segments.length >= pattern.length - 1;
  return (
    pattern.length === segments.length &&
    pattern.every((part, i) => (part.startsWith(':') ? segments[i] !== '' || i > 0 : part === segments[i]))
  );
}
