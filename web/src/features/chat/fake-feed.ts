// A run as the server tells it, for tests: a log that only grows, and parts that are being written.
//
// A reader has a cursor. It gets the facts it lacks, then what is open as far as it has not seen it; that is the
// contract of GET /api/runs/{run}/events.

import type { Frame } from '@/api/frames';
import type { EventBody, PartKind } from '@/api/generated/events';

type Fact = EventBody extends infer Body ? (Body extends { at: number } ? Omit<Body, 'at'> : never) : never;

interface Part {
  part: string;
  kind: PartKind;
  tool: string | null;
  text: string;
}

export class FakeFeed {
  readonly log: EventBody[] = [];
  #open: Part[] = [];

  /** What is being written. */
  get open(): readonly Part[] {
    return this.#open;
  }

  #step: { step: number; attempt: number } | null = null;

  /** Says when a fact happened; by default facts are a millisecond apart. */
  constructor(readonly now: () => number = () => 1_000 + this.log.length) {}

  record(...facts: Fact[]): void {
    for (const fact of facts) {
      const body = { ...fact, at: this.now() } as EventBody;
      this.log.push(body);
      this.#close(body);
    }
  }

  step(step: number, attempt: number): void {
    this.#open = this.#open.filter((part) => part.kind === 'progress');
    this.#step = { step, attempt };
  }

  write(part: string, kind: PartKind, text: string, tool: string | null = null): void {
    const known = this.#open.find((open) => open.part === part);
    if (known) known.text += text;
    else this.#open.push({ part, kind, tool, text });
  }

  /** Everything the reader has not seen. */
  read(reader: Reader): Frame[] {
    const frames: Frame[] = [];
    for (; reader.seq < this.log.length; reader.seq += 1) {
      const body = this.log[reader.seq];
      if (body) frames.push({ kind: 'event', seq: reader.seq + 1, body });
    }
    const step = this.#step && `${this.#step.step}.${this.#step.attempt}`;
    if (this.#step && reader.step !== step) {
      reader.step = step;
      frames.push({ kind: 'live', body: { type: 'step.started', ...this.#step } });
    }
    for (const open of this.#open) {
      const { part, kind, tool, text } = open;
      const seen = reader.seen.get(open);
      if (seen === undefined) {
        frames.push({ kind: 'live', body: { type: 'part.started', part, kind, tool, text } });
      } else if (seen < text.length) {
        frames.push({ kind: 'live', body: { type: 'part.delta', part, text: text.slice(seen) } });
      }
      reader.seen.set(open, text.length);
    }
    return frames;
  }

  #close(fact: EventBody): void {
    switch (fact.type) {
      case 'text.finished':
      case 'reasoning.finished':
      case 'tool.requested':
        this.#open = this.#open.filter((open) => open.part !== fact.part);
        break;
      case 'step.finished':
      case 'step.restarted':
        this.#open = this.#open.filter((open) => open.kind === 'progress');
        this.#step = null;
        break;
      case 'tool.finished':
      case 'tool.failed':
      case 'tool.refused':
      case 'tool.unknown':
        this.#open = this.#open.filter((open) => open.part !== fact.call);
        break;
      case 'run.resumed':
      case 'run.finished':
      case 'run.failed':
      case 'run.cancelled':
        this.#open = [];
        this.#step = null;
        break;
      default:
    }
  }
}

/** A connection: it begins behind some fact and knows nothing else. */
export class Reader {
  /** How far it has read each part; one that begins anew under an old name is another part. */
  readonly seen = new Map<object, number>();
  step: string | null = null;

  constructor(public seq: number) {}
}
