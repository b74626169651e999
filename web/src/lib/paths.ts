/** What the address bar can say. */
export type Route = { page: 'new' } | { page: 'conversation'; id: string };

export function pathOf(route: Route): string {
  return route.page === 'new' ? '/' : `/c/${encodeURIComponent(route.id)}`;
}

export function routeOf(path: string): Route {
  const id = /^\/c\/([^/]+)\/?$/.exec(path)?.[1];
  if (id === undefined) return { page: 'new' };
  try {
    return { page: 'conversation', id: decodeURIComponent(id) };
  } catch {
    return { page: 'new' };
  }
}
