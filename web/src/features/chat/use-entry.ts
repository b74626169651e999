import { getExternalStoreMessages, useAuiState } from '@assistant-ui/react';
import type { Entry } from './chat-state';

/** The entry behind the message that is being drawn. */
export function useEntry(): Entry | undefined {
  return useAuiState(({ message }) => getExternalStoreMessages<Entry>(message)[0]);
}
