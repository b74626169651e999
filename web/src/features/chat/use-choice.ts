import { useState } from 'react';
import { recall, remember } from '@/lib/storage';
import type { Choice } from './chat-session';
import type { Catalog } from './use-catalog';

/** Which model and agent are asked: what was chosen here last, as long as it exists. */
export interface Choosing {
  model: string | null;
  agent: string | null;
  /** What is sent with a message; what was never chosen is left to the server. */
  choice: Choice;
  chooseModel: (name: string) => void;
  chooseAgent: (name: string | null) => void;
}

export function useChoice({ models, defaultModel, agents }: Catalog): Choosing {
  const [wantedModel, setModel] = useState(() => recall('model'));
  const [wantedAgent, setAgent] = useState(() => recall('agent'));
  const model = models.some(({ name, ready }) => name === wantedModel && ready) ? wantedModel : null;
  const agent = agents.some(({ name }) => name === wantedAgent) ? wantedAgent : null;
  return {
    model: model ?? defaultModel,
    agent,
    choice: { ...(model !== null && { model }), ...(agent !== null && { agent }) },
    chooseModel: (name) => {
      remember('model', name);
      setModel(name);
    },
    chooseAgent: (name) => {
      remember('agent', name);
      setAgent(name);
    },
  };
}
