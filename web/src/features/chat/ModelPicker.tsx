import { useSpeech } from '@/lib/i18n/locale';
import { Icon } from '@/ui/Icon';
import { Menu, MenuHeading, MenuItem } from '@/ui/Menu';
import styles from './ModelPicker.module.css';
import type { Catalog } from './use-catalog';
import type { Choosing } from './use-choice';

/** Chooses who answers. What is not ready is shown with the reason, so that somebody can mend it. */
export function ModelPicker({ catalog, choosing }: { catalog: Catalog; choosing: Choosing }) {
  const { t } = useSpeech();
  const { models, agents } = catalog;
  const name = choosing.model ?? t.chat.defaultModel;
  const hasAgents = agents.length > 1;
  return (
    <Menu
      label={t.chat.model}
      trigger={(props) => (
        <button type="button" {...props} className={styles.trigger} aria-label={`${t.chat.model}: ${name}`}>
          <span className={styles.name}>
            {name}
            {hasAgents && choosing.agent && <span className={styles.agent}> · {choosing.agent}</span>}
          </span>
          <Icon name="down" size={16} />
        </button>
      )}
    >
      <MenuHeading>{t.chat.model}</MenuHeading>
      {models.length === 0 && (
        <MenuItem disabled onSelect={() => {}}>
          {t.chat.noModels}
        </MenuItem>
      )}
      {models.map((model) => (
        <MenuItem
          key={model.name}
          checked={model.name === choosing.model}
          disabled={!model.ready}
          detail={model.ready ? undefined : `${t.chat.notReady}${model.problem ? `: ${model.problem}` : ''}`}
          onSelect={() => choosing.chooseModel(model.name)}
        >
          {model.name}
        </MenuItem>
      ))}
      {hasAgents && (
        <>
          <MenuHeading>{t.chat.agent}</MenuHeading>
          <MenuItem checked={choosing.agent === null} onSelect={() => choosing.chooseAgent(null)}>
            {t.chat.defaultAgent}
          </MenuItem>
          {agents.map((agent) => (
            <MenuItem
              key={agent.name}
              checked={agent.name === choosing.agent}
              onSelect={() => choosing.chooseAgent(agent.name)}
            >
              {agent.name}
            </MenuItem>
          ))}
        </>
      )}
    </Menu>
  );
}
