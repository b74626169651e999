import '@/ui/theme.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from '@/app/App';
import { I18nProvider, initialLocale, loadTranslation } from '@/lib/i18n/locale';
import { loadPartsInSpareTime } from '@/ui/lazy-part';

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no #root');

void loadTranslation(initialLocale()).then((first) => {
  createRoot(root).render(
    <StrictMode>
      <I18nProvider first={first}>
        <App />
      </I18nProvider>
    </StrictMode>,
  );
  loadPartsInSpareTime();
});
