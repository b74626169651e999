import { type ComponentType, Suspense, lazy } from 'react';
import { Spinner } from './Spinner';

const TRIES = 5;
const PAUSE_MS = 1_500;

type Load<Props> = () => Promise<ComponentType<Props>>;

const waiting: (() => Promise<unknown>)[] = [];

/** A part of the page that comes in a file of its own, because the first answer can be read without it. */
export function lazyPart<Props extends object>(load: Load<Props>): ComponentType<Props> {
  let loaded: Promise<ComponentType<Props>> | null = null;
  const once = () => (loaded ??= persistently(load));
  waiting.push(once);
  const Part = lazy(async () => ({ default: await once() })) as unknown as ComponentType<Props>;
  return function LazyPart(props: Props) {
    return (
      <Suspense fallback={<Spinner />}>
        <Part {...props} />
      </Suspense>
    );
  };
}

/** Brings all such parts while nothing else is to be done, so that they are there when the server is not. */
export function loadPartsInSpareTime(): void {
  setTimeout(() => void loadAll(), PAUSE_MS);
}

async function loadAll(): Promise<void> {
  for (let load = waiting.shift(); load !== undefined; load = waiting.shift()) await load();
}

/** A server that is away comes back; one that was replaced has other files, and the page begins anew with those. */
async function persistently<Props>(load: Load<Props>): Promise<ComponentType<Props>> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await load();
    } catch (error) {
      if (tried === TRIES) {
        window.location.reload();
        throw error;
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}
