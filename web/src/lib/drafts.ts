// What was written and not sent, for each conversation, so that it is still there after going elsewhere or a reload.

import { loadSetting, saveSetting } from './storage';

/** A new conversation has no id yet. */
const NEW = 'new';

/** Older ones are forgotten. */
const KEPT_MAX = 50;

type Drafts = Record<string, string>;

export function loadDraft(conversation: string | null): string {
  return readDrafts()[conversation ?? NEW] ?? '';
}

export function saveDraft(conversation: string | null, text: string): void {
  const { [conversation ?? NEW]: known, ...others } = readDrafts();
  if ((known ?? '') === text) return;
  const kept = Object.entries(others);
  if (text !== '') kept.push([conversation ?? NEW, text]);
  saveSetting('drafts', kept.length === 0 ? null : JSON.stringify(Object.fromEntries(kept.slice(-KEPT_MAX))));
}

/** Another person may sign in at this browser. */
export function deleteDrafts(): void {
  saveSetting('drafts', null);
}

function readDrafts(): Drafts {
  try {
    const read: unknown = JSON.parse(loadSetting('drafts') ?? '{}');
    if (typeof read !== 'object' || read === null) return {};
    return Object.fromEntries(
      Object.entries(read).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
    );
  } catch {
    return {};
  }
}
