/** What a table says under a name that others chose: `constructor` is no entry of every table. */
export function own<T>(table: Record<string, T>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
