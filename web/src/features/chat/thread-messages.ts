// Our entries as assistant-ui wants to see them. Its primitives draw the thread; the truth stays with us.

import type { ThreadMessageLike } from '@assistant-ui/react';
import type { RunId } from '@/api/generated/events';
import type { Entry } from './chat-state';
import { keptItems } from './kept-items';
import { type Call, type Item, type UserInterjection, isOver, itemsOf } from './run-state';

/** What a tool card needs to know beside its call. */
export interface CallPlace {
  call: Call;
  run: RunId | null;
  /** Whether the run is over, so that nothing about the call will change any more. */
  isOver: boolean;
}

/** What a bubble inside of an answer needs to know. */
export interface InterjectionPlace {
  interjection: UserInterjection;
  isOver: boolean;
}

type Part = Exclude<ThreadMessageLike['content'], string>[number];

export function toThreadMessage(entry: Entry): ThreadMessageLike {
  switch (entry.kind) {
    case 'asked':
      return {
        role: 'user',
        id: entry.id,
        createdAt: new Date(entry.at),
        content: [{ type: 'text', text: entry.text }],
      };
    case 'kept': {
      const { message } = entry;
      const place = { run: message.run ?? null, isOver: true };
      const content = keptItems(message).map((item) => toPart(item, place));
      return {
        role: 'assistant',
        id: entry.id,
        createdAt: new Date(message.at),
        content,
        status: { type: 'complete', reason: 'stop' },
      };
    }
    case 'run': {
      const { run } = entry;
      const place = { run: run.run, isOver: isOver(run) };
      const content = itemsOf(run).map((item) => toPart(item, place));
      const status = place.isOver ? ({ type: 'complete', reason: 'stop' } as const) : ({ type: 'running' } as const);
      return { role: 'assistant', id: entry.id, createdAt: new Date(run.asked?.at ?? 0), content, status };
    }
  }
}

function toPart(item: Item, place: Omit<CallPlace, 'call'>): Part {
  if (item.kind === 'interjection') {
    const data: InterjectionPlace = { interjection: item, isOver: place.isOver };
    return { type: 'data-interjection', data };
  }
  if (item.kind === 'shortened') return { type: 'data-shortened', data: item };
  if (item.kind === 'broken') return { type: 'data-broken', data: item };
  if (item.kind !== 'call') return { type: item.kind, text: item.text };
  const artifact: CallPlace = { call: item, ...place };
  // The arguments are shown from the call itself; read here they would be read again for every character.
  return { type: 'tool-call', toolCallId: item.key, toolName: item.tool, args: {}, argsText: item.input, artifact };
}
