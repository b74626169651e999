const ALLOWED = new Set(['http:', 'https:', 'mailto:']);

/** The address as it may stand in a link, or null: a model's text must not make the browser do more than go somewhere. */
export function safeHref(address: string): string | null {
  // Browsers drop control characters inside an address, so `java\nscript:` must not pass as something else.
  if (/[\p{Cc}\p{Cf}\s]/u.test(address)) return null;
  let url: URL;
  try {
    url = new URL(address);
  } catch {
    return null;
  }
  return ALLOWED.has(url.protocol) ? url.href : null;
}

/** Where a link leads, for a person who looks before clicking. Letters that look like others are spelled in ASCII. */
export function destination(href: string): string {
  const url = new URL(href);
  return url.protocol === 'mailto:' ? url.pathname : url.host;
}

/** Whether the words of a link are nothing but its own address, so that its destination needs no second mention. */
export function namesDestination(words: string, href: string): boolean {
  const url = new URL(href);
  if (url.username !== '' || url.password !== '') return false;
  return [href, url.host, destination(href)].some((name) => words === name || `${words}/` === name);
}
