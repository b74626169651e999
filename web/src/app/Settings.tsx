import { useState } from 'react';
import { LOCALES, useI18n } from '@/lib/i18n/locale';
import { IconButton } from '@/ui/Button';
import { Menu, MenuHeading, MenuItem } from '@/ui/Menu';
import { lazyPart } from '@/ui/lazy-part';
import { THEMES, useTheme } from './use-theme';

const AllowanceList = lazyPart(async () => (await import('@/features/approvals/AllowanceList')).AllowanceList);

/** Language, appearance, what is allowed without asking, and the way out. */
export function Settings({ who, onSignOut }: { who: string | null; onSignOut: (() => void) | null }) {
  const { t, locale, choose } = useI18n();
  const [theme, setTheme] = useTheme();
  const [isListing, setListing] = useState(false);
  return (
    <>
      <Menu
        label={t.app.settings}
        trigger={(props) => <IconButton {...props} icon="settings" label={t.app.settings} />}
      >
        <MenuHeading>{t.app.language}</MenuHeading>
        {LOCALES.map((known) => (
          <MenuItem key={known.locale} checked={known.locale === locale} onSelect={() => choose(known.locale)}>
            <span lang={known.locale}>{known.name}</span>
          </MenuItem>
        ))}
        <MenuHeading>{t.app.theme}</MenuHeading>
        {THEMES.map((known) => (
          <MenuItem key={known} checked={known === theme} onSelect={() => setTheme(known)}>
            {t.app.themes[known]}
          </MenuItem>
        ))}
        <MenuHeading>{t.approvals.always.heading}</MenuHeading>
        <MenuItem onSelect={() => setListing(true)}>{t.approvals.always.list}</MenuItem>
        {who !== null && <MenuHeading>{t.app.signedInAs(who)}</MenuHeading>}
        {onSignOut && <MenuItem onSelect={onSignOut}>{t.app.signOut}</MenuItem>}
      </Menu>
      {isListing && <AllowanceList onClose={() => setListing(false)} />}
    </>
  );
}
