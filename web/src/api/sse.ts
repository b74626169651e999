/** One server-sent event; those without data are not reported. */
export interface SseMessage {
  id: string | null;
  data: string;
}

/** Reads server-sent events from text that comes in any pieces. */
export class SseReader {
  #rest = '';
  #id: string | null = null;
  #data: string[] = [];

  push(text: string): SseMessage[] {
    const messages: SseMessage[] = [];
    this.#rest += text;
    // A carriage return at the very end may be half of a line end.
    let from = 0;
    for (;;) {
      const end = nextLineEnd(this.#rest, from);
      if (end === null) break;
      const message = this.#line(this.#rest.slice(from, end.at));
      if (message !== null) messages.push(message);
      from = end.next;
    }
    this.#rest = this.#rest.slice(from);
    return messages;
  }

  #line(line: string): SseMessage | null {
    if (line === '') {
      const message = this.#data.length > 0 ? { id: this.#id, data: this.#data.join('\n') } : null;
      this.#id = null;
      this.#data = [];
      return message;
    }
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') this.#data.push(value);
    if (field === 'id') this.#id = value;
    return null;
  }
}

function nextLineEnd(text: string, from: number): { at: number; next: number } | null {
  for (let i = from; i < text.length; i += 1) {
    const char = text[i];
    if (char === '\n') return { at: i, next: i + 1 };
    if (char === '\r') {
      if (i + 1 === text.length) return null;
      return { at: i, next: text[i + 1] === '\n' ? i + 2 : i + 1 };
    }
  }
  return null;
}
