// What there is to choose from.

import { request } from './client';

export interface Model {
  name: string;
  /** Whether it is asked where nobody chooses. */
  default?: boolean;
  vendor?: string | null;
  /** What its vendor calls it. */
  model?: string | null;
  host?: string | null;
  /** `native`, or `prompt:` and a profile. */
  mode: string;
  ready: boolean;
  /** Why it is not ready. */
  problem?: string | null;
  price?: Price | null;
  /** Named sets of parameters to choose from. */
  variants?: string[];
}

/** For a million tokens. */
export interface Price {
  input: number;
  cached: number;
  output: number;
  source: 'configured' | 'shipped';
  /** The day on which a shipped price was known to hold. */
  as_of?: string | null;
}

export interface Agent {
  name: string;
  model?: string | null;
}

export interface Tool {
  name: string;
  title?: string | null;
}

export function listModels(): Promise<{ models: Model[]; default?: string | null; currency?: string | null }> {
  return request('GET', '/api/models');
}

export async function listAgents(): Promise<Agent[]> {
  return (await request<{ agents: Agent[] }>('GET', '/api/agents')).agents;
}

export async function listTools(): Promise<Tool[]> {
  return (await request<{ tools: Tool[] }>('GET', '/api/tools')).tools;
}
