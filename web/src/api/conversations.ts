import { request } from './client';
import type { ConversationId, Message, RunId, Timestamp } from './generated/events';

export interface Conversation {
  id: ConversationId;
  title: string;
  messages: number;
  created_at: Timestamp;
  updated_at: Timestamp;
  active_run?: RunId | null;
}

export async function listConversations(offset: number, limit: number): Promise<Conversation[]> {
  const query = new URLSearchParams({ limit: String(limit), offset: String(offset) });
  const { conversations } = await request<{ conversations: Conversation[] }>('GET', `/api/conversations?${query}`);
  return conversations;
}

export function getConversation(id: ConversationId): Promise<Conversation> {
  return request('GET', `/api/conversations/${encodeURIComponent(id)}`);
}

export async function getMessages(id: ConversationId): Promise<Message[]> {
  const path = `/api/conversations/${encodeURIComponent(id)}/messages`;
  const { messages } = await request<{ messages: Message[] }>('GET', path);
  return messages;
}

export function renameConversation(id: ConversationId, title: string): Promise<void> {
  return request('PATCH', `/api/conversations/${encodeURIComponent(id)}`, { body: { title } });
}

export function deleteConversation(id: ConversationId): Promise<void> {
  return request('DELETE', `/api/conversations/${encodeURIComponent(id)}`);
}
