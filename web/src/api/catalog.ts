// What there is to choose from.

import { request } from './client';
import type { Notice } from './generated/events';

export interface Model {
  name: string;
  /** Whether it is the default. */
  default?: boolean;
  vendor?: string | null;
  /** What its vendor calls it. */
  model?: string | null;
  host?: string | null;
  /** `native`, or `prompt:` and a profile. */
  mode: string;
  ready: boolean;
  /** Why it is not ready, in English. */
  problem?: string | null;
  /** The same as a code, for the sentence in the reader's language. */
  notice?: Notice | null;
  price?: Price | null;
  /** What it was found to do when it was asked. */
  profile?: Profile | null;
  /** Named sets of parameters to choose from. */
  variants?: string[];
}

export interface Profile {
  native: Finding;
  parallel: Finding;
  required: Finding;
  reasons: Finding;
}

export interface Finding {
  is: 'yes' | 'no' | 'unknown';
  because: string;
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

/** What people read of an agent, in one language. */
export interface AgentTexts {
  display_name?: string | null;
  description?: string;
  example_questions?: string[];
}

export interface Agent extends AgentTexts {
  name: string;
  model?: string | null;
  enabled: boolean;
  /** Why it cannot be used. */
  problem?: string | null;
  /** By language, such as `zh-CN`. */
  translations?: Record<string, AgentTexts>;
}

export interface Tool {
  name: string;
  display_name?: string | null;
  description?: string;
  /** A JSON Schema. */
  parameters?: unknown;
}

export function listModels(): Promise<{ models: Model[]; default?: string | null; currency?: string | null }> {
  return request('GET', '/api/models');
}

/** Asks the model a few questions and keeps what they show; takes seconds, and costs what the model costs. */
export function probeModel(name: string): Promise<Profile> {
  return request('POST', `/api/models/${encodeURIComponent(name)}/probe`);
}

export async function listAgents(): Promise<Agent[]> {
  return (await request<{ agents: Agent[] }>('GET', '/api/agents')).agents;
}

export async function listTools(): Promise<Tool[]> {
  return (await request<{ tools: Tool[] }>('GET', '/api/tools')).tools;
}
