import type { Model, Price, Profile } from '@/api/catalog';
import { useI18n } from '@/lib/i18n/locale';
import { formatMoney } from '@/lib/money';
import styles from './ModelPicker.module.css';

/** What helps to choose a model: whether it can be used, how it calls tools, what it costs. */
export function ModelDetail({ model, currency }: { model: Model; currency: string }) {
  const { t, translate } = useI18n();
  const { ready, notice, mode, price, profile: found } = model;
  const profile = mode.startsWith('prompt:') ? mode.slice('prompt:'.length) : null;
  const why = notice && translate(notice);
  return (
    <span className={styles.facts}>
      <span className={ready ? styles.state : `${styles.state} ${styles.whole}`}>
        <i className={ready ? styles.ready : styles.problem} aria-hidden="true" />
        {ready ? t.chat.ready : why ? t.chat.notReadyBecause(why) : t.chat.notReady}
      </span>
      <span>{profile === null ? t.chat.native : t.chat.prompted(profile)}</span>
      {price && <PriceFact price={price} currency={currency} />}
      {found && <ProfileFact found={found} />}
    </span>
  );
}

function PriceFact({ price, currency }: { price: Price; currency: string }) {
  const { t, tag } = useI18n();
  const money = (amount: number) => formatMoney(amount, currency, tag);
  const from = price.source === 'shipped' ? t.cost.shipped(price.as_of ?? '') : t.cost.configured;
  const more = `${t.cost.cachedPrice(money(price.cached))} ${from}`;
  return <span title={more}>{t.cost.price(money(price.input), money(price.output))}</span>;
}

/** What it does, as a probe has shown. Its reasons quote the vendor, in English: `helve models` shows them. */
function ProfileFact({ found }: { found: Profile }) {
  const { t, tag } = useI18n();
  const names = ['native', 'parallel', 'required', 'reasons'] as const;
  const yes = names.filter((name) => found[name].is === 'yes').map((name) => t.chat.finding[name]);
  const answers = names.map((name) => `${t.chat.finding[name]}: ${t.chat.answered[found[name].is]}`);
  const what = yes.length > 0 ? new Intl.ListFormat(tag, { style: 'short' }).format(yes) : t.chat.noneOfIt;
  return <span title={answers.join('\n')}>{t.chat.probed(what)}</span>;
}
