// Drawn on a grid of 20 with a line of 1.6.

const PATHS = {
  plus: 'M10 4v12M4 10h12',
  menu: 'M3.5 6h13M3.5 10h13M3.5 14h9',
  send: 'M10 16V4.5M5 9l5-5 5 5',
  stop: 'M6 6h8v8H6z',
  copy: 'M7.5 7.5V5A1.5 1.5 0 0 1 9 3.5h6A1.5 1.5 0 0 1 16.5 5v6a1.5 1.5 0 0 1-1.5 1.5h-2.5M5 7.5h6A1.5 1.5 0 0 1 12.5 9v6a1.5 1.5 0 0 1-1.5 1.5H5A1.5 1.5 0 0 1 3.5 15V9A1.5 1.5 0 0 1 5 7.5z',
  check: 'M4.5 10.5 8.5 14.5 15.5 6',
  chevron: 'M7.5 5.5 12 10l-4.5 4.5',
  down: 'M5.5 7.5 10 12l4.5-4.5',
  toBottom: 'M10 4.5v11M5 10.5l5 5 5-5',
  more: 'M4.5 10h.01M10 10h.01M15.5 10h.01',
  pencil: 'M4 16l.8-3.2L13 4.6a1.6 1.6 0 0 1 2.3 0l.1.1a1.6 1.6 0 0 1 0 2.3L7.2 15.2 4 16z',
  trash: 'M4 6h12M8 6V4.5h4V6M5.5 6l.7 10h7.6l.7-10M8.5 9v4.5M11.5 9v4.5',
  tool: 'M12.8 3.6a4 4 0 0 0-4.6 5.2L3.6 13.4a1.6 1.6 0 0 0 0 2.3l.7.7a1.6 1.6 0 0 0 2.3 0l4.6-4.6a4 4 0 0 0 5.2-4.6l-2.4 2.4-2.6-.9-.9-2.6 2.3-2.5z',
  thought: 'M7 15.5h6M8 18h4M10 2.5a5.2 5.2 0 0 0-3.2 9.3c.6.5.9 1 1 1.7h4.4c.1-.7.4-1.2 1-1.7A5.2 5.2 0 0 0 10 2.5z',
  code: 'M7 6l-4 4 4 4M13 6l4 4-4 4',
  shield: 'M10 2.8l5.8 2v4.6c0 3.6-2.4 6.3-5.8 7.8-3.4-1.5-5.8-4.2-5.8-7.8V4.8L10 2.8zM7.6 9.8l1.8 1.8 3.2-3.4',
  alert:
    'M10 7v4M10 13.5h.01M8.7 3.8 2.9 14a1.5 1.5 0 0 0 1.3 2.2h11.6a1.5 1.5 0 0 0 1.3-2.2L11.3 3.8a1.5 1.5 0 0 0-2.6 0z',
  question: 'M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM8 8a2 2 0 1 1 2.8 1.8c-.5.3-.8.6-.8 1.2M10 13.4h.01',
  clock: 'M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM10 6v4l2.6 1.8',
  close: 'M5.5 5.5l9 9M14.5 5.5l-9 9',
  block: 'M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM5.2 5.2l9.6 9.6',
  play: 'M6.5 4.5v11l9-5.5z',
  image:
    'M3.5 5A1.5 1.5 0 0 1 5 3.5h10A1.5 1.5 0 0 1 16.5 5v10a1.5 1.5 0 0 1-1.5 1.5H5A1.5 1.5 0 0 1 3.5 15zM4 13.5l3.5-3.5 3 3 2-2 3.5 3.5M12.5 7h.01',
  settings:
    'M3.5 6.5h8M15 6.5h1.5M3.5 13.5H5M8.5 13.5h8M13.2 8.2a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4zM6.8 15.2a1.7 1.7 0 1 0 0-3.4 1.7 1.7 0 0 0 0 3.4z',
  offline:
    'M3 3l14 14M6 12.5a5.6 5.6 0 0 1 4-1.7M3.2 9.4a9.6 9.6 0 0 1 3-2M9.2 6.3a9.6 9.6 0 0 1 7.6 3.1M13.6 12a5.6 5.6 0 0 1 .6.5M10 15.5h.01',
  file: 'M11.5 3H6a1.5 1.5 0 0 0-1.5 1.5v11A1.5 1.5 0 0 0 6 17h8a1.5 1.5 0 0 0 1.5-1.5V7zM11.5 3v4h4',
} as const;

export type IconName = keyof typeof PATHS;

/** A small picture beside words; it says nothing that the words do not say. */
export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  return (
    <svg
      width={size}
      height={size}
      viewBox="0 0 20 20"
      fill={name === 'stop' ? 'currentColor' : 'none'}
      stroke="currentColor"
      strokeWidth={name === 'more' ? 2.4 : 1.6}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}
