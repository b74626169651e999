import {
  type KeyboardEvent,
  type ReactNode,
  type ToggleEvent,
  createContext,
  useCallback,
  useContext,
  useId,
  useRef,
  useState,
} from 'react';
import { Icon, type IconName } from './Icon';
import styles from './Menu.module.css';

/** What the button that opens a menu must carry. */
export interface MenuTrigger {
  popoverTarget: string;
  'aria-haspopup': 'menu';
  'aria-expanded': boolean;
}

interface Props {
  label: string;
  trigger: (props: MenuTrigger) => ReactNode;
  /** For lists too long to look through. */
  search?: Search | undefined;
  /** Called whenever it is opened or closed. */
  onOpen?: (isOpen: boolean) => void;
  children: ReactNode;
}

interface Search {
  label: string;
  text: string;
  onChange: (text: string) => void;
}

const CloseContext = createContext<() => void>(() => {});

/** A list of things to do or to choose from. The browser closes it on Escape and on a click elsewhere. */
export function Menu({ label, trigger, search, onOpen, children }: Props) {
  const id = useId();
  const ref = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  const close = useCallback(() => ref.current?.hidePopover(), []);

  const onToggle = (event: ToggleEvent<HTMLDivElement>) => {
    const open = event.newState === 'open';
    setOpen(open);
    onOpen?.(open);
    const menu = ref.current;
    if (!open || menu === null) return;
    place(menu, document.querySelector(`[popovertarget="${CSS.escape(id)}"]`));
    const items = itemsIn(menu);
    (searchIn(menu) ?? items.find((item) => item.ariaChecked === 'true') ?? items[0])?.focus();
  };

  return (
    <>
      {trigger({ popoverTarget: id, 'aria-haspopup': 'menu', 'aria-expanded': isOpen })}
      <div
        ref={ref}
        id={id}
        popover="auto"
        role="presentation"
        className={styles.menu}
        onToggle={onToggle}
        onKeyDown={moveFocus}
      >
        {search && (
          <input
            type="search"
            className={styles.search}
            aria-label={search.label}
            placeholder={search.label}
            aria-controls={`${id}-items`}
            value={search.text}
            onChange={(event) => search.onChange(event.target.value)}
          />
        )}
        <div id={`${id}-items`} role="menu" tabIndex={-1} aria-label={label}>
          <CloseContext value={close}>{children}</CloseContext>
        </div>
      </div>
    </>
  );
}

interface ItemProps {
  icon?: IconName;
  /** For one of several: whether it is the chosen one. */
  checked?: boolean;
  danger?: boolean;
  /** It can be read and reached all the same, since its detail says why. */
  disabled?: boolean;
  /** Whether it belongs to the item above. */
  isPart?: boolean;
  detail?: ReactNode;
  onSelect: () => void;
  children: ReactNode;
}

export function MenuItem(props: ItemProps) {
  const { icon, checked, danger = false, disabled = false, isPart = false, detail, onSelect, children } = props;
  const close = useContext(CloseContext);
  const select = () => {
    if (disabled) return;
    close();
    onSelect();
  };
  return (
    <button
      type="button"
      role={checked === undefined ? 'menuitem' : 'menuitemradio'}
      aria-checked={checked}
      aria-disabled={disabled || undefined}
      className={[styles.item, danger && styles.danger, isPart && styles.part].filter(Boolean).join(' ')}
      onClick={select}
    >
      {icon && <Icon name={icon} size={16} />}
      {checked !== undefined && <span className={styles.mark}>{checked && <Icon name="check" size={16} />}</span>}
      <span className={styles.words}>
        {children}
        {detail && <span className={styles.detail}>{detail}</span>}
      </span>
    </button>
  );
}

export function MenuHeading({ children }: { children: ReactNode }) {
  return (
    <div role="presentation" className={styles.heading}>
      {children}
    </div>
  );
}

const GAP = 4;

/** Below its button if there is room, above it if not, and never outside the window. */
function place(menu: HTMLElement, button: Element | null): void {
  if (button === null) return;
  const at = button.getBoundingClientRect();
  const { width, height } = menu.getBoundingClientRect();
  const below = at.bottom + GAP;
  const top = below + height <= window.innerHeight - GAP ? below : Math.max(GAP, at.top - GAP - height);
  const left = Math.min(at.left, window.innerWidth - width - GAP * 2);
  menu.style.top = `${top}px`;
  menu.style.left = `${Math.max(GAP * 2, left)}px`;
}

function itemsIn(menu: HTMLElement): HTMLElement[] {
  return [...menu.querySelectorAll<HTMLElement>('[role^="menuitem"]')];
}

function searchIn(menu: HTMLElement): HTMLElement | null {
  return menu.querySelector<HTMLElement>('input[type="search"]');
}

function moveFocus(event: KeyboardEvent<HTMLDivElement>): void {
  const items = itemsIn(event.currentTarget);
  const search = searchIn(event.currentTarget);
  if (search !== null && document.activeElement === search) {
    // Home and End are for the text; Enter takes what is left of the list.
    if (event.key === 'Enter') items.find((item) => item.ariaDisabled === null)?.click();
    if (!['ArrowDown', 'ArrowUp'].includes(event.key)) return;
  } else if (event.key.length === 1 && event.key !== ' ' && !event.ctrlKey && !event.metaKey && !event.altKey) {
    if (search === null) nextByLetter(items, event.key)?.focus();
    else search.focus();
    return;
  }
  const at = items.indexOf(document.activeElement as HTMLElement);
  const steps: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 };
  const next = steps[event.key];
  if (next === undefined) return;
  event.preventDefault();
  items.at(next % items.length)?.focus();
}

/** The next item that begins with a letter, as people expect of a menu. */
function nextByLetter(items: HTMLElement[], letter: string): HTMLElement | undefined {
  const at = items.indexOf(document.activeElement as HTMLElement);
  const begins = (item: HTMLElement) => item.textContent?.trim().toLowerCase().startsWith(letter.toLowerCase());
  return [...items.slice(at + 1), ...items.slice(0, at + 1)].find(begins);
}
