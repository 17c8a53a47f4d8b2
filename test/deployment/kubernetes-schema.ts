import { ServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor';
import { Deployment } from 'kubernetes-models/apps/v1/Deployment';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler';
import { Job } from 'kubernetes-models/batch/v1/Job';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { Service } from 'kubernetes-models/v1/Service';
import { TrackedReads } from './tracked-reads.js';

interface Model {
  readonly apiVersion: string;
  readonly kind: string;
  readonly prototype: { validate(): void };
}

const MODELS: readonly Model[] = [
  ...[Deployment, Job, Service, PodDisruptionBudget, HorizontalPodAutoscaler, NetworkPolicy],
  ServiceMonitor,
];

/**
 * What the API server would refuse in a manifest, as sentences. The schemas of Kubernetes let unknown fields pass, and
 * the server drops them without a word; a validator reads every field that its schema knows, so what it has not read is
 * a misspelling.
 */
export function schemaFaults(manifest: { apiVersion: string; kind: string }): string[] {
  const model = MODELS.find(
    ({ apiVersion, kind }) => apiVersion === manifest.apiVersion && kind === manifest.kind,
  );
  if (!model) return [`nobody knows the schema of ${manifest.apiVersion} ${manifest.kind}`];
  const reads = new TrackedReads();
  try {
    // On the manifest itself: an instance would be a copy, and nobody would see what is read of it.
    model.prototype.validate.call(reads.watch(manifest));
  } catch (error) {
    return [(error as Error).message];
  }
  return reads.unread().map((path) => `${path}: there is no such field`);
}
