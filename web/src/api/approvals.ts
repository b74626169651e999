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
  /** Of approvers, where several must agree. */
  votes?: { by: string; answer: Answer; at: Timestamp }[];
  votes_missing?: number;
  /** Others may answer, too, since nobody did for long. */
  escalated?: boolean;
  you?: 'may_answer' | 'voted' | 'own_request' | 'not_approver';
};

/** What waits in the user's own runs, and what the user may decide in those of others. */
export async function listPendingApprovals(): Promise<Approval[]> {
  const [own, inbox] = await Promise.all([listApprovals('pending'), listApprovals('inbox')]);
  const known = new Set(own.map((approval) => approval.approval));
  return [...own, ...inbox.filter((approval) => !known.has(approval.approval))];
}

async function listApprovals(state: 'pending' | 'inbox'): Promise<Approval[]> {
  const { approvals } = await request<{ approvals: Approval[] }>('GET', `/api/approvals?state=${state}&limit=200`);
  return approvals;
}

export function getApproval(id: ApprovalId): Promise<Approval> {
  return request('GET', `/api/approvals/${encodeURIComponent(id)}`);
}

export function answerApproval(id: ApprovalId, answer: Answer): Promise<Approval> {
  return request('POST', `/api/approvals/${encodeURIComponent(id)}`, { body: answer });
}
