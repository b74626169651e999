/** 128 random bits. `crypto.randomUUID` exists only on secure origins, and Helve may be served over plain HTTP in a home. */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
