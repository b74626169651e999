import '@/ui/theme.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from '@/app/App';
import { SpeechProvider, initialLocale, speak } from '@/lib/i18n/locale';
import { loadPartsInSpareTime } from '@/ui/lazy-part';

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no #root');

void speak(initialLocale()).then((first) => {
  createRoot(root).render(
    <StrictMode>
      <SpeechProvider first={first}>
        <App />
      </SpeechProvider>
    </StrictMode>,
  );
  loadPartsInSpareTime();
});
