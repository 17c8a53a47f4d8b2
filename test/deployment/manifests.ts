import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';

export interface EnvironmentVariable {
  name: string;
  value?: string;
}

export interface Probe {
  httpGet: { path: string; port: string };
}

export interface Container {
  name: string;
  image: string;
  command?: string[];
  env?: EnvironmentVariable[];
  ports?: { name: string; containerPort: number }[];
  livenessProbe?: Probe;
  readinessProbe?: Probe;
  startupProbe?: Probe;
  resources?: { requests?: Record<string, string>; limits?: Record<string, string> };
  securityContext?: Record<string, unknown>;
  volumeMounts?: { name: string; mountPath: string }[];
}

export interface PodSpec {
  terminationGracePeriodSeconds?: number;
  securityContext?: Record<string, unknown>;
  containers: Container[];
  volumes?: { name: string }[];
}

export interface Manifest {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Record<string, string> };
  spec: Record<string, unknown> & {
    template?: { metadata: { labels: Record<string, string> }; spec: PodSpec };
  };
}

const DOCKER = fileURLToPath(new URL('../../docker/', import.meta.url));

export function dockerFile(path: string): string {
  return readFileSync(DOCKER + path, 'utf8');
}

/** The documents of one file; fails on YAML that is only nearly YAML. */
export function yamlOf<T>(path: string): T[] {
  return parseAllDocuments(dockerFile(path), { strict: true, uniqueKeys: true }).map((document) => {
    const [fault] = [...document.errors, ...document.warnings];
    if (fault) throw new Error(`${path}: ${fault.message}`);
    return document.toJS() as T;
  });
}

/** Every manifest of docker/k8s with its file; the kustomization is for kubectl alone. */
export function manifests(): { path: string; manifest: Manifest }[] {
  return readdirSync(`${DOCKER}k8s`)
    .filter((name) => name.endsWith('.yaml') && name !== 'kustomization.yaml')
    .sort()
    .flatMap((name) => yamlOf<Manifest>(`k8s/${name}`).map((manifest) => ({ path: name, manifest })));
}

export function manifestOf(kind: string): Manifest {
  const found = manifests().filter(({ manifest }) => manifest.kind === kind);
  if (found.length !== 1) throw new Error(`${found.length} manifests of kind ${kind}`);
  return found[0].manifest;
}

/** Those that start containers. */
export function workloads(): Manifest[] {
  return manifests().flatMap(({ manifest }) => (manifest.spec.template ? [manifest] : []));
}
