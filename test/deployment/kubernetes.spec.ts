import { describe, expect, it } from '@jest/globals';
import { parseEnvironment } from '../../src/base/config/environment.js';
import { settings } from '../../src/base/config/settings.js';
import { schemaFaults } from './kubernetes-schema.js';
import { dockerFile, manifestOf, manifests, workloads, yamlOf, type Manifest } from './manifests.js';

/** What only a cluster would say otherwise, and then during a rollout. */

const all = manifests();
const deployment = manifestOf('Deployment');
const pod = deployment.spec.template!.spec;
const [broker] = pod.containers;
const NAME = 'app.kubernetes.io/name';

/** Settings of a container as the broker reads them, with something for what comes out of a secret. */
function environmentOf(env: readonly { name: string; value?: string }[] = []) {
  const values = env.map(({ name, value }) => [name, value ?? 'postgres://keeper:word@db/queen']);
  return parseEnvironment(Object.fromEntries(values) as Record<string, string>);
}

describe('a manifest of Kubernetes', () => {
  it.each(all.map(({ path, manifest }) => [path, manifest] as const))(
    '%s follows its schema',
    (_, manifest) => {
      expect(schemaFaults(manifest)).toEqual([]);
    },
  );

  it.each([
    ['a value of the wrong type', (copy: Manifest) => void (copy.spec.replicas = 'three'), /replicas/],
    ['a missing part', (copy: Manifest) => void delete copy.spec.selector, /selector/],
    [
      'a misspelt field',
      (copy: Manifest) => void Object.assign(copy.spec.template!.spec.containers[0], { livenesProbe: {} }),
      /containers\/0\/livenesProbe: there is no such field/,
    ],
    ['a kind nobody knows', (copy: Manifest) => void (copy.kind = 'Deploiment'), /nobody knows/],
  ])('would not pass with %s', (_, spoil, fault) => {
    const copy = structuredClone(deployment);
    spoil(copy);
    expect(schemaFaults(copy).join('\n')).toMatch(fault);
  });

  it('is applied by the kustomization, except the schema job, which goes first', () => {
    const [{ resources }] = yamlOf<{ resources: string[] }>('k8s/kustomization.yaml');
    expect([...resources, 'schema-job.yaml'].sort()).toEqual(all.map(({ path }) => path));
  });

  it('of every kind that an operator expects is there', () => {
    expect(all.map(({ manifest }) => manifest.kind).sort()).toEqual([
      'Deployment',
      'HorizontalPodAutoscaler',
      'Job',
      'NetworkPolicy',
      'PodDisruptionBudget',
      'Service',
      'ServiceMonitor',
    ]);
  });
});

describe('the settings in manifests', () => {
  it.each(workloads().map((manifest) => [manifest.metadata.name, manifest] as const))(
    'of %s exist, are in their bounds and hold no secret in the clear',
    (_, manifest) => {
      const known: Record<string, { secret: boolean } | undefined> = settings;
      for (const { env = [] } of manifest.spec.template!.spec.containers) {
        expect(env.filter(({ name }) => !known[name]).map(({ name }) => name)).toEqual([]);
        expect(env.filter(({ name, value }) => known[name]?.secret && value !== undefined)).toEqual([]);
        expect(() => environmentOf(env)).not.toThrow();
      }
    },
  );

  it('leave the schema to the job', () => {
    expect(environmentOf(broker.env).QUEEN_APPLY_SCHEMA).toBe(false);
    expect(manifestOf('Job').spec.template!.spec.containers[0].command).toEqual([
      'node',
      'dist/schema/apply.js',
    ]);
  });

  it('give the drain its time, and the kill comes after it', () => {
    const { QUEEN_SHUTDOWN_GRACE_MS: graceMs } = environmentOf(broker.env);
    expect(pod.terminationGracePeriodSeconds! * 1000).toBeGreaterThanOrEqual(graceMs + 5000);
  });

  it('keep no message on a disk that goes with its pod', () => {
    const isOnEmptyDir = pod.volumes?.some((volume) => volume.name === 'buffers' && 'emptyDir' in volume);
    expect({ isOnEmptyDir, spool: environmentOf(broker.env).QUEEN_SPOOL }).not.toEqual({
      isOnEmptyDir: true,
      spool: true,
    });
  });
});

describe('the pods', () => {
  it('run as nobody in particular, on a root file system they cannot write, with no privilege', () => {
    for (const { spec } of workloads()) {
      const { securityContext, containers } = spec.template!.spec;
      expect(securityContext).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(spec.template!.spec).toMatchObject({ automountServiceAccountToken: false });
      for (const container of containers) {
        expect(container.securityContext).toEqual({
          readOnlyRootFilesystem: true,
          allowPrivilegeEscalation: false,
          capabilities: { drop: ['ALL'] },
        });
        expect(container.resources).toMatchObject({
          requests: { cpu: expect.any(String), memory: expect.any(String) },
          limits: { memory: expect.any(String) },
        });
      }
    }
  });

  it('can write where the broker writes', () => {
    expect(broker.volumeMounts?.map(({ mountPath }) => mountPath).sort()).toEqual([
      '/tmp',
      '/var/lib/queen/buffers',
    ]);
    const volumes = pod.volumes?.map(({ name }) => name).sort();
    expect(broker.volumeMounts?.map(({ name }) => name).sort()).toEqual(volumes);
  });

  it('are probed for what each probe means', () => {
    expect(broker.startupProbe?.httpGet).toEqual({ path: '/health/startup', port: 'http' });
    expect(broker.livenessProbe?.httpGet).toEqual({ path: '/health/live', port: 'http' });
    expect(broker.readinessProbe?.httpGet).toEqual({ path: '/health/ready', port: 'http' });
  });

  it('run the version of this package', () => {
    const { version } = JSON.parse(dockerFile('../package.json')) as { version: string };
    const images = workloads().flatMap(({ spec }) =>
      spec.template!.spec.containers.map(({ image }) => image),
    );
    expect(new Set(images)).toEqual(new Set([`queen-nest:${version}`]));
  });
});

describe('what selects the brokers', () => {
  const labels = { [NAME]: 'queen-nest' };

  it('selects them all, and not the schema job', () => {
    expect(deployment.spec.template!.metadata.labels).toEqual(labels);
    expect(manifestOf('Job').spec.template!.metadata.labels).not.toMatchObject(labels);
    expect(deployment.spec.selector).toEqual({ matchLabels: labels });
    expect(manifestOf('Service').spec.selector).toEqual(labels);
    expect(manifestOf('PodDisruptionBudget').spec.selector).toEqual({ matchLabels: labels });
    expect(manifestOf('NetworkPolicy').spec.podSelector).toEqual({ matchLabels: labels });
    expect(manifestOf('ServiceMonitor').spec.selector).toEqual({
      matchLabels: manifestOf('Service').metadata.labels,
    });
    expect(manifestOf('HorizontalPodAutoscaler').spec.scaleTargetRef).toEqual({
      apiVersion: deployment.apiVersion,
      kind: deployment.kind,
      name: deployment.metadata.name,
    });
  });

  it('meets them at their port', () => {
    const port = broker.ports?.[0];
    expect(port).toEqual({ name: 'http', containerPort: settings.PORT.default });
    expect(manifestOf('Service').spec.ports).toEqual([
      { name: 'http', port: settings.PORT.default, targetPort: port?.name },
    ]);
    expect(manifestOf('ServiceMonitor').spec.endpoints).toMatchObject([
      { port: 'http', path: '/metrics/prometheus' },
    ]);
    expect(manifestOf('NetworkPolicy').spec.ingress).toMatchObject([
      { ports: [{ protocol: 'TCP', port: settings.PORT.default }] },
    ]);
  });

  it('keeps three of them, and lets a node drain', () => {
    expect(deployment.spec).toMatchObject({
      replicas: 3,
      strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    });
    expect(manifestOf('HorizontalPodAutoscaler').spec.minReplicas).toBe(3);
    expect(manifestOf('PodDisruptionBudget').spec.maxUnavailable).toBe(1);
  });
});
