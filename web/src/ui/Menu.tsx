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
  children: ReactNode;
}

const CloseContext = createContext<() => void>(() => {});

/** A list of things to do or to choose from. The browser closes it on Escape and on a click elsewhere. */
export function Menu({ label, trigger, children }: Props) {
  const id = useId();
  const ref = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  const close = useCallback(() => ref.current?.hidePopover(), []);

  const onToggle = (event: ToggleEvent<HTMLDivElement>) => {
    const open = event.newState === 'open';
    setOpen(open);
    const menu = ref.current;
    if (!open || menu === null) return;
    place(menu, document.querySelector(`[popovertarget="${CSS.escape(id)}"]`));
    const items = itemsIn(menu);
    (items.find((item) => item.ariaChecked === 'true') ?? items[0])?.focus();
  };

  return (
    <>
      {trigger({ popoverTarget: id, 'aria-haspopup': 'menu', 'aria-expanded': isOpen })}
      <div
        ref={ref}
        id={id}
        popover="auto"
        role="menu"
        tabIndex={-1}
        aria-label={label}
        className={styles.menu}
        onToggle={onToggle}
        onKeyDown={moveFocus}
      >
        <CloseContext value={close}>{children}</CloseContext>
      </div>
    </>
  );
}

interface ItemProps {
  icon?: IconName;
  /** For one of several: whether it is the chosen one. */
  checked?: boolean;
  danger?: boolean;
  disabled?: boolean;
  detail?: ReactNode;
  onSelect: () => void;
  children: ReactNode;
}

export function MenuItem({ icon, checked, danger = false, disabled = false, detail, onSelect, children }: ItemProps) {
  const close = useContext(CloseContext);
  const select = () => {
    close();
    onSelect();
  };
  return (
    <button
      type="button"
      role={checked === undefined ? 'menuitem' : 'menuitemradio'}
      aria-checked={checked}
      disabled={disabled}
      className={danger ? `${styles.item} ${styles.danger}` : styles.item}
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
  return [...menu.querySelectorAll<HTMLElement>('[role^="menuitem"]:not(:disabled)')];
}

function moveFocus(event: KeyboardEvent<HTMLDivElement>): void {
  const items = itemsIn(event.currentTarget);
  const at = items.indexOf(document.activeElement as HTMLElement);
  const steps: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 };
  const next = steps[event.key];
  if (next === undefined) return;
  event.preventDefault();
  items.at(next % items.length)?.focus();
}
