// What there is to choose from.

import { request } from './client';

export interface Model {
  name: string;
  mode: string;
  ready: boolean;
  /** Why it is not ready. */
  problem?: string | null;
}

export interface Agent {
  name: string;
  model?: string | null;
}

export interface Tool {
  name: string;
  title?: string | null;
}

export function listModels(): Promise<{ models: Model[]; default?: string | null }> {
  return request('GET', '/api/models');
}

export async function listAgents(): Promise<Agent[]> {
  return (await request<{ agents: Agent[] }>('GET', '/api/agents')).agents;
}

export async function listTools(): Promise<Tool[]> {
  return (await request<{ tools: Tool[] }>('GET', '/api/tools')).tools;
}
