import { request } from './client';
import type { ApprovalId, ConversationId, RunId, Timestamp, Within } from './generated/events';

/** What a person said once for all calls like one that they were asked about. */
export interface Allowance {
  /** The question that it was said in answer to. */
  id: ApprovalId;
  user: string;
  agent: string;
  tool: string;
  version: string;
  within: Within;
  run: RunId;
  conversation?: ConversationId | null;
  /** What arguments must be like; nothing said means any. */
  arguments: Record<string, unknown>;
  by: string;
  created_at: Timestamp;
  expires_at: Timestamp;
  revoked_at?: Timestamp | null;
  state: 'in_force' | 'outdated' | 'expired' | 'revoked';
}

export async function listAllowances(): Promise<Allowance[]> {
  const { allowances } = await request<{ allowances: Allowance[] }>('GET', '/api/allowances?limit=200');
  return allowances;
}

export function revokeAllowance(id: ApprovalId): Promise<void> {
  return request('DELETE', `/api/allowances/${encodeURIComponent(id)}`);
}
