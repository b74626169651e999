import type { Model } from '@/api/catalog';

/** Whether a model is meant by what is typed: every word is somewhere in its names. */
export function fits({ name, vendor, model, variants = [] }: Model, text: string): boolean {
  const names = [name, vendor, model, ...variants].join(' ').toLowerCase();
  const words = text.toLowerCase().split(/\s+/);
  return words.every((word) => names.includes(word));
}
