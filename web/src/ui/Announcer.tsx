/** Tells those who do not see the screen what has changed on it. */
export function Announcer({ text }: { text: string }) {
  return <output className="visually-hidden">{text}</output>;
}
