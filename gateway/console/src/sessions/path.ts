// Addresses of the sessions page. Pure.

export function sessionsAt(pathname: string): { id: string | undefined } | undefined {
  const match = /^\/sessions(?:\/([^/]+))?\/?$/.exec(pathname);
  return match ? { id: match[1] === undefined ? undefined : decoded(match[1]) } : undefined;
}

export function sessionUrl(id: string | undefined): string {
  return id === undefined ? "/sessions" : `/sessions/${encodeURIComponent(id)}`;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
