export interface Package {
  version?: string;
  integrity?: string;
  resolved?: string;
  license?: string;
  dev?: boolean;
  optional?: boolean;
  link?: boolean;
  hasInstallScript?: boolean;
  os?: string[];
  cpu?: string[];
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

export interface Lock {
  packages: Record<string, Package>;
}

export interface Manifest {
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  allowScripts?: Record<string, boolean>;
}

export function supplyFaults(of: { manifest: Manifest; lock: Lock; installed: Lock | null }): string[];
export function rangeFaults(manifest: Manifest): string[];
export function lockFaults(manifest: Manifest, lock: Lock): string[];
export function installedFaults(lock: Lock, installed: Lock | null): string[];
export function scriptFaults(manifest: Manifest, lock: Lock): string[];
export function licenceFaults(lock: Lock): string[];
