/** Licences that may go into what we give away under Apache-2.0, without a duty beyond naming them. */
const LICENCES = new Set([
  'MIT',
  'ISC',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'BlueOak-1.0.0',
]);

const GROUPS = ['dependencies', 'devDependencies', 'optionalDependencies'];

/**
 * Everything that is wrong, as sentences for the person who added a package.
 * `installed` is the lockfile that npm keeps inside node_modules, or null where nothing is installed.
 */
export function supplyFaults({ manifest, lock, installed }) {
  return [
    ...rangeFaults(manifest),
    ...lockFaults(manifest, lock),
    ...installedFaults(lock, installed),
    ...scriptFaults(manifest, lock),
    ...licenceFaults(lock),
  ];
}

/** A range installs tomorrow what nobody has tried today. */
export function rangeFaults(manifest) {
  return GROUPS.flatMap((group) =>
    Object.entries(manifest[group] ?? {})
      .filter(([, version]) => !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version))
      .map(([name, version]) => `${group}: ${name} must have one exact version, not "${version}"`),
  );
}

/** `npm ci` refuses a lockfile that is out of step, and its message does not name the package. */
export function lockFaults(manifest, lock) {
  const faults = [];
  const root = lock.packages[''] ?? {};
  for (const group of GROUPS) {
    const [wanted, locked] = [manifest[group] ?? {}, root[group] ?? {}];
    for (const name of new Set([...Object.keys(wanted), ...Object.keys(locked)])) {
      if (wanted[name] === locked[name]) continue;
      faults.push(
        `lockfile: ${name} is ${locked[name] ?? 'missing'}, package.json says ${wanted[name] ?? 'nothing'}`,
      );
    }
  }
  for (const [path, entry] of packagesIn(lock)) {
    if (!entry.integrity)
      faults.push(`lockfile: ${path} has no integrity, so anything could be installed in its place`);
    if (entry.resolved)
      faults.push(`lockfile: ${path} names a registry; .npmrc leaves that to whoever installs`);
  }
  return faults;
}

/** What runs here is what is written there. Packages of other platforms are in the lockfile only. */
export function installedFaults(lock, installed) {
  if (installed === null) return [];
  const locked = new Map(packagesIn(lock));
  return packagesIn(installed)
    .filter(([path, entry]) => locked.get(path)?.version !== entry.version)
    .map(
      ([path, entry]) =>
        `node_modules: ${path} is ${entry.version}, locked is ${locked.get(path)?.version ?? 'none'}`,
    );
}

/**
 * A script at install time may do anything. `allowScripts` of package.json names each package that has one and says
 * whether it may; a permitted one is native and optional, so that an install without scripts still works.
 */
export function scriptFaults(manifest, lock) {
  const decisions = manifest.allowScripts ?? {};
  const scripted = packagesIn(lock).filter(([, entry]) => entry.hasInstallScript);
  const names = new Set(scripted.map(([path]) => nameOf(path)));
  const scopes = new Set(
    Object.keys(decisions).flatMap((name) => (name.includes('/') ? [name.split('/')[0]] : [])),
  );
  const faults = [];
  for (const [path, entry] of scripted) {
    const name = nameOf(path);
    // The same package for a platform that is not ours: never installed here, and refused where it is.
    const isSibling = (entry.os || entry.cpu) && entry.optional && scopes.has(name.split('/')[0]);
    if (!(name in decisions) && !isSibling)
      faults.push(
        `allowScripts: ${name} has an install script; read it, and say true or false in package.json`,
      );
    if (decisions[name] === true && !entry.optional)
      faults.push(
        `allowScripts: ${name} may run its script but is not optional; without scripts nothing would work`,
      );
  }
  for (const name of Object.keys(decisions)) {
    if (!names.has(name)) faults.push(`allowScripts: ${name} is not installed or has no script; take it out`);
  }
  return faults;
}

/** Of what is shipped; tools of the developer stay with the developer. */
export function licenceFaults(lock) {
  return packagesIn(lock)
    .filter(([, entry]) => !entry.dev && !fits(entry.license))
    .map(
      ([path, entry]) => `licence: ${nameOf(path)} is under ${entry.license ?? 'no licence that it names'}`,
    );
}

/** SPDX: one of several is enough with OR, all of them are needed with AND. */
function fits(expression) {
  if (typeof expression !== 'string') return false;
  const plain = expression.replace(/[()]/g, ' ').trim();
  if (/ AND /.test(plain)) return plain.split(/ AND /).every(fits);
  return plain.split(/ OR /).some((one) => LICENCES.has(one.trim()));
}

function packagesIn(lock) {
  return Object.entries(lock.packages).filter(([path, entry]) => path !== '' && !entry.link);
}

function nameOf(path) {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}
