import { Fragment, useState } from 'react';
import { type Model, probeModel } from '@/api/catalog';
import { messageOfError } from '@/api/errors';
import { useI18n } from '@/lib/i18n/locale';
import { Icon } from '@/ui/Icon';
import { Menu, MenuHeading, MenuItem } from '@/ui/Menu';
import { ModelDetail } from './ModelDetail';
import styles from './ModelPicker.module.css';
import { showAgent } from './agent-texts';
import { fits } from './model-search';
import type { Catalog } from './use-catalog';
import { type Choosing, isUsable } from './use-choice';

/** From this many on, looking for one by name is quicker than by eye. */
const MANY = 8;

/** Chooses who answers. What is not ready is shown with the reason, so that it can be fixed. */
export function ModelPicker({ catalog, choosing }: { catalog: Catalog; choosing: Choosing }) {
  const { t, tag } = useI18n();
  const { models, currency } = catalog;
  const agents = catalog.agents.map((agent) => ({ agent, shown: showAgent(agent, tag) }));
  const [text, setText] = useState('');
  const name = [choosing.model ?? t.chat.defaultModel, choosing.variant].filter(Boolean).join(' · ');
  const hasAgents = agents.length > 1;
  const chosen = agents.find(({ agent }) => agent.name === choosing.agent);
  const found = models.filter((model) => fits(model, text));
  const search = models.length >= MANY ? { label: t.chat.searchModels, text, onChange: setText } : undefined;
  return (
    <Menu
      label={t.chat.model}
      search={search}
      onOpen={() => setText('')}
      trigger={(props) => (
        <button type="button" {...props} className={styles.trigger} aria-label={`${t.chat.model}: ${name}`}>
          <span className={styles.name}>
            {name}
            {hasAgents && chosen && <span className={styles.agent}> · {chosen.shown.title}</span>}
          </span>
          <Icon name="down" size={16} />
        </button>
      )}
    >
      <MenuHeading>{t.chat.model}</MenuHeading>
      {found.length === 0 && (
        <MenuItem disabled onSelect={() => {}}>
          {models.length === 0 ? t.chat.noModels : t.chat.noModelFound}
        </MenuItem>
      )}
      {found.map((model) => (
        <ModelItems key={model.name} model={model} choosing={choosing} currency={currency} />
      ))}
      <ProbeItem model={choosing.model ?? catalog.defaultModel} onDone={catalog.reload} />
      {hasAgents && (
        <>
          <MenuHeading>{t.chat.agent}</MenuHeading>
          <MenuItem checked={choosing.agent === null} onSelect={() => choosing.chooseAgent(null)}>
            {t.chat.defaultAgent}
          </MenuItem>
          {agents.map(({ agent, shown }) => (
            <MenuItem
              key={agent.name}
              checked={agent.name === choosing.agent}
              disabled={!isUsable(agent)}
              detail={agent.problem ?? (agent.enabled ? shown.description : t.chat.agentOff)}
              onSelect={() => choosing.chooseAgent(agent.name)}
            >
              {shown.title}
            </MenuItem>
          ))}
        </>
      )}
    </Menu>
  );
}

/** Asks the chosen model what it can do; the answer then stands with the model. */
function ProbeItem({ model, onDone }: { model: string | null; onDone: () => void }) {
  const { t, translate } = useI18n();
  const [probing, setProbing] = useState<string | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  if (model === null) return null;
  const probe = () => {
    setProbing(model);
    setFailure(null);
    probeModel(model)
      .then(onDone, (error: unknown) =>
        setFailure((error instanceof Error && translate(messageOfError(error))) || t.app.wentWrong),
      )
      .finally(() => setProbing(null));
  };
  return (
    <MenuItem disabled={probing !== null} detail={failure ?? t.chat.probeHint} onSelect={probe}>
      {probing === null ? t.chat.probe(model) : t.chat.probing(probing)}
    </MenuItem>
  );
}

interface ItemsProps {
  model: Model;
  choosing: Choosing;
  currency: string;
}

/** A model, and below it its variants. */
function ModelItems({ model, choosing, currency }: ItemsProps) {
  const { t } = useI18n();
  const { name, ready, variants = [] } = model;
  const isChosen = (variant: string | null) => name === choosing.model && variant === choosing.variant;
  return (
    <Fragment>
      <MenuItem
        checked={isChosen(null)}
        disabled={!ready}
        detail={<ModelDetail model={model} currency={currency} />}
        onSelect={() => choosing.chooseModel(name, null)}
      >
        <span className={styles.model}>{name}</span>{' '}
        {model.default && <span className={styles.badge}>{t.chat.isDefault}</span>}
      </MenuItem>
      {variants.map((variant) => (
        <MenuItem
          key={variant}
          isPart
          checked={isChosen(variant)}
          disabled={!ready}
          onSelect={() => choosing.chooseModel(name, variant)}
        >
          <span className="visually-hidden">{name} </span>
          {variant}
        </MenuItem>
      ))}
    </Fragment>
  );
}
