import { useEffect, useState } from 'react';
import { type Agent, type Model, type Tool, listAgents, listModels, listTools } from '@/api/catalog';
import { getReach, subscribeReach } from '@/api/reachability';

/** What there is to choose from; empty until it is known. */
export interface Catalog {
  models: Model[];
  defaultModel: string | null;
  /** What prices and costs are in. */
  currency: string;
  agents: Agent[];
  tools: Tool[];
  reload: () => void;
}

const NOTHING: Catalog = { models: [], defaultModel: null, currency: 'USD', agents: [], tools: [], reload: () => {} };

/** Reads the catalog, and reads it again when the server was away: it may have come back with another. */
export function useCatalog(): Catalog {
  const [catalog, setCatalog] = useState(NOTHING);
  useEffect(() => {
    let isCurrent = true;
    const add = (part: Partial<Catalog>) => isCurrent && setCatalog((known) => ({ ...known, ...part }));
    const load = () => {
      // Each is of use without the others.
      listModels().then(({ models, default: chosen, currency }) => {
        add({ models, defaultModel: chosen ?? null, currency: currency ?? 'USD' });
      }, ignore);
      listAgents().then((agents) => add({ agents }), ignore);
      listTools().then((tools) => add({ tools }), ignore);
    };
    add({ reload: load });
    load();
    const unsubscribe = subscribeReach(() => {
      if (getReach() === 'up') load();
    });
    return () => {
      isCurrent = false;
      unsubscribe();
    };
  }, []);
  return catalog;
}

function ignore(): void {
  // Without a list the server's own choice is used.
}
