import { useState } from 'react';
import type { Agent } from '@/api/catalog';
import { loadSetting, saveSetting } from '@/lib/storage';
import type { Choice } from './chat-session';
import type { Catalog } from './use-catalog';

/** Which model and agent are asked: what was chosen here last, as long as it exists. */
export interface Choosing {
  model: string | null;
  /** A variant of the model, if one was chosen. */
  variant: string | null;
  agent: string | null;
  /** What is sent with a message; what was never chosen is left to the server. */
  choice: Choice;
  chooseModel: (name: string, variant: string | null) => void;
  chooseAgent: (name: string | null) => void;
}

/** Whether new conversations can be had with an agent. */
export function isUsable(agent: Agent): boolean {
  return agent.enabled && !agent.problem;
}

export function useChoice({ models, defaultModel, agents }: Catalog): Choosing {
  const [wantedModel, setModel] = useState(() => loadSetting('model'));
  const [wantedVariant, setVariant] = useState(() => loadSetting('variant'));
  const [wantedAgent, setAgent] = useState(() => loadSetting('agent'));
  const found = models.find(({ name, ready }) => name === wantedModel && ready);
  const model = found?.name ?? null;
  const variant = wantedVariant !== null && found?.variants?.includes(wantedVariant) ? wantedVariant : null;
  const agent = agents.some((known) => known.name === wantedAgent && isUsable(known)) ? wantedAgent : null;
  return {
    model: model ?? defaultModel,
    variant,
    agent,
    choice: {
      ...(model !== null && { model }),
      ...(variant !== null && { variant }),
      ...(agent !== null && { agent }),
    },
    chooseModel: (name, chosen) => {
      saveSetting('model', name);
      saveSetting('variant', chosen);
      setModel(name);
      setVariant(chosen);
    },
    chooseAgent: (name) => {
      saveSetting('agent', name);
      setAgent(name);
    },
  };
}
