import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { DockerfileParser, type Copy, type Healthcheck, type Instruction } from 'dockerfile-ast';
import { settings } from '../../src/base/config/settings.js';
import { dockerFile, yamlOf } from './manifests.js';

const instructions = DockerfileParser.parse(dockerFile('Dockerfile')).getInstructions();
const starts = instructions.flatMap((instruction, i) => (instruction.getKeyword() === 'FROM' ? [i] : []));
/** The instructions of the stage that becomes the image. */
const last = instructions.slice(starts.at(-1));
const build = instructions.slice(0, starts.at(-1));

const argumentsOf = (of: readonly Instruction[], keyword: string) =>
  of.filter((one) => one.getKeyword() === keyword).map((one) => one.getArgumentsContent() ?? '');

const exists = (path: string) => existsSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)));

describe('the image', () => {
  it('is built in one stage and run in another, both of a version that is written down', () => {
    expect(starts).toHaveLength(2);
    for (const from of argumentsOf(instructions, 'FROM'))
      expect(from).toMatch(/^node:\d+\.\d+\.\d+-bookworm(-slim)?( AS build)?$/);
    expect(argumentsOf(last, 'FROM')[0]).toMatch(/-slim$/);
  });

  it('has no compiler and no package manager at work in it', () => {
    expect(argumentsOf(last, 'RUN').filter((run) => /apt|apk|npm|yarn|gcc|make|python/.test(run))).toEqual(
      [],
    );
    expect(argumentsOf(build, 'RUN').join('\n')).toMatch(/npm ci\n[^]*npm prune --omit=dev/);
  });

  it('runs as a user that is not root, from the first process on', () => {
    expect(argumentsOf(last, 'USER')).toEqual(['node']);
    const user = last.findIndex((one) => one.getKeyword() === 'USER');
    expect(last.slice(user).filter((one) => ['RUN', 'COPY', 'ADD'].includes(one.getKeyword()))).toEqual([]);
  });

  it('is told to stop by the signal that the broker drains on, and starts it without a shell in between', () => {
    expect(argumentsOf(last, 'STOPSIGNAL')).toEqual(['SIGTERM']);
    expect(JSON.parse(argumentsOf(last, 'CMD')[0])).toEqual(['node', '--enable-source-maps', 'dist/main.js']);
  });

  it('says by itself whether the broker is alive', () => {
    const check = last.find((one) => one.getKeyword() === 'HEALTHCHECK') as Healthcheck;
    expect(check.getSubcommand()?.getValue()).toBe('CMD');
    expect(check.getArgumentsContent()).toContain('["node", "healthcheck.mjs"]');
  });

  it('listens on the port it exposes', () => {
    expect(argumentsOf(last, 'EXPOSE')).toEqual([String(settings.PORT.default)]);
    expect(argumentsOf(last, 'ENV')).toContain(`PORT=${settings.PORT.default}`);
  });

  it('is made of files that exist and that the context holds', () => {
    const ignored = dockerFile('../.dockerignore').split('\n');
    expect(ignored[0]).toBe('*');
    const sources = instructions
      .filter((one) => one.getKeyword() === 'COPY' && (one as Copy).getFromFlag() === null)
      .flatMap((one) =>
        one
          .getArguments()
          .slice(0, -1)
          .map((argument) => argument.getValue()),
      );
    expect(sources.length).toBeGreaterThan(8);
    expect(sources.filter((source) => !exists(source))).toEqual([]);
    expect(sources.filter((source) => !ignored.includes(`!${source.replace(/^\.\//, '')}`))).toEqual([]);
  });
});

interface Compose {
  services: Record<
    string,
    {
      image?: string;
      environment?: Record<string, string>;
      depends_on?: Record<string, { condition: string }>;
      read_only?: boolean;
      tmpfs?: string[];
      stop_grace_period?: string;
      ports?: string[];
      volumes?: string[];
      [key: string]: unknown;
    }
  >;
  volumes: Record<string, unknown>;
}

describe('compose.yaml', () => {
  const [{ services, volumes }] = yamlOf<Compose>('compose.yaml');
  const { broker, postgres } = services;

  it('sets only what the broker reads', () => {
    const unknown = Object.keys(broker.environment ?? {}).filter((name) => !(name in settings));
    expect(unknown).toEqual([]);
  });

  it('runs the broker on a root file system it cannot write, without privileges, when PostgreSQL answers', () => {
    expect(broker).toMatchObject({
      read_only: true,
      tmpfs: ['/tmp'],
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
      depends_on: { postgres: { condition: 'service_healthy' } },
    });
    expect(postgres.healthcheck).toBeDefined();
  });

  it('gives the drain its time', () => {
    const seconds = Number(/^(\d+)s$/.exec(broker.stop_grace_period ?? '')?.[1]);
    expect(seconds * 1000).toBeGreaterThan(settings.QUEEN_SHUTDOWN_GRACE_MS.default);
  });

  it('names volumes that are declared', () => {
    const used = Object.values(services)
      .flatMap((service) => service.volumes ?? [])
      .map((volume) => volume.split(':')[0]);
    expect(used.sort()).toEqual(Object.keys(volumes).sort());
  });
});
