import { request } from './client';
import type { Answer, ApprovalId, Question, RunId, Timestamp } from './generated/events';

/** A question about a call, and not about the run. */
export type CallQuestion = Extract<Question, { kind: 'permission' | 'outcome' }>;

/** What the model wants to know. */
export type UserQuestion = Extract<Question, { kind: 'user' }>;

/** A question with what became of it. */
export type Approval = Question & {
  run: RunId;
  user: string;
  asked_at: Timestamp;
  state: 'pending' | 'answered' | 'withdrawn';
  answer?: Answer | null;
  by?: string | null;
  answered_at?: Timestamp | null;
};

export async function listPendingApprovals(): Promise<Approval[]> {
  const { approvals } = await request<{ approvals: Approval[] }>('GET', '/api/approvals?state=pending&limit=200');
  return approvals;
}

export function getApproval(id: ApprovalId): Promise<Approval> {
  return request('GET', `/api/approvals/${encodeURIComponent(id)}`);
}

export function answerApproval(id: ApprovalId, answer: Answer): Promise<void> {
  return request('POST', `/api/approvals/${encodeURIComponent(id)}`, { body: answer });
}
