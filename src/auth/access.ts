/** What a role may be. What each may do: http-api 1.1. */
export type Role = 'admin' | 'read-write' | 'read-only' | 'write-only';

/** What a route asks for: one of the roles, or nothing at all. */
export type Access = Role | 'public';

/** `write-only` does not include reading, and both halves together are less than `read-write`. */
const INCLUDES: Readonly<Record<Role, readonly Role[]>> = {
  admin: ['admin', 'read-write', 'read-only', 'write-only'],
  'read-write': ['read-write', 'read-only', 'write-only'],
  'read-only': ['read-only'],
  'write-only': ['write-only'],
};

/** Everything that somebody with these roles may do. */
export function grantsOf(roles: readonly Role[]): ReadonlySet<Access> {
  return new Set<Access>(['public', ...roles.flatMap((role) => INCLUDES[role])]);
}
