/** The token of an `Authorization` header: `Bearer <token>` in any case, or the bare token; null for none. */
export function bearerToken(header: string | undefined): string | null {
  if (header === undefined) return null;
  const token = /^bearer(?: |$)/i.test(header) ? header.slice(6) : header;
  return token.trim() || null;
}
