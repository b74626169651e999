import type { ComponentProps } from 'react';
import styles from './Button.module.css';
import { Icon, type IconName } from './Icon';

interface Look {
  look?: 'primary' | 'plain' | 'quiet' | 'danger';
  size?: 'normal' | 'small';
}

function classOf({ look = 'plain', size = 'normal' }: Look, iconOnly: boolean): string {
  const names = [styles.button, styles[look]];
  if (size === 'small') names.push(styles.small);
  if (iconOnly) names.push(styles.iconOnly);
  return names.join(' ');
}

type Props = Look & Omit<ComponentProps<'button'>, 'className'> & { icon?: IconName };

export function Button({ look, size, icon, children, ...rest }: Props) {
  return (
    <button type="button" {...rest} className={classOf({ ...(look && { look }), ...(size && { size }) }, false)}>
      {icon && <Icon name={icon} size={16} />}
      {children}
    </button>
  );
}

/** A button that shows only a picture and has its name as a tooltip. */
export function IconButton({
  look = 'quiet',
  size,
  icon,
  label,
  ...rest
}: Omit<Props, 'children'> & { icon: IconName; label: string }) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      {...rest}
      className={classOf({ look, ...(size && { size }) }, true)}
    >
      <Icon name={icon} size={size === 'small' ? 16 : 18} />
    </button>
  );
}
