import { type ComponentType, createContext, useContext } from 'react';
import type { Tool } from '@/api/catalog';
import type { Approval } from './run-state';
import type { ChatSession } from './chat-session';

/** What the thread needs from around it. */
export interface Chat {
  session: ChatSession;
  /** The person's own name, if there is one. */
  me: string | null;
  /** What is known of tools, to say what they do. */
  tools: Tool[];
  /** A tool's title for people, by its name. */
  titleOf: (tool: string) => string;
  /** What costs are in. */
  currency: string;
  /**
   * Draws the question about a call; another feature knows how. It must stay the same component: another one would be
   * mounted anew, and what a person has written in the form would be lost.
   */
  ApprovalView: ComponentType<ApprovalViewProps>;
  /** Sends a message as the composer would. */
  ask: (text: string) => void;
  /** Sends what the answer was to once more; the answer is named by its entry. */
  askAgain: (entry: string) => void;
  sendAgain: () => void;
}

export interface ApprovalViewProps {
  approval: Approval;
  /** Whether it can still be answered. */
  isOpen: boolean;
}

export const ChatContext = createContext<Chat | null>(null);

export function useChat(): Chat {
  const chat = useContext(ChatContext);
  if (chat === null) throw new Error('there is no chat around this');
  return chat;
}
