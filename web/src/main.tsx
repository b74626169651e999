import '@/ui/theme.css';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App } from '@/app/App';
import { SpeechProvider } from '@/lib/i18n/locale';

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no #root');

createRoot(root).render(
  <StrictMode>
    <SpeechProvider>
      <App />
    </SpeechProvider>
  </StrictMode>,
);
