import { describe, expect, test } from 'vitest';
import { FakeFeed, Reader } from './fake-feed';
import { spentOn } from './spent';
import { type Call, type RunState, applyFrame, isLeftAlone, itemsOf, newRun } from './run-state';

const RUN = 'r1';
const CALL = 'r1:1:0';
const usage = { input_tokens: 1, output_tokens: 1 };
const stepFinished = { type: 'step.finished', step: 1, attempt: 1, reason: 'stop', mode: 'native', usage } as const;

/** Reads all there is over one connection. */
function fold(feed: FakeFeed, state: RunState = newRun(RUN)): RunState {
  return feed.read(new Reader(state.lastEvent)).reduce(applyFrame, state);
}

function start(feed: FakeFeed): void {
  feed.record({ type: 'run.started', agent: 'helve', model: 'demo', reply: 'm2', message: 'm1', text: 'hi' });
  feed.step(1, 1);
}

function request(feed: FakeFeed, call = CALL, part = '1.1.0', tool = 'calculator'): void {
  feed.record({ type: 'tool.requested', step: 1, call, tool, arguments: '{}', part });
}

function callOf(state: RunState): Call {
  const call = itemsOf(state).find((item) => item.kind === 'call');
  if (call?.kind !== 'call') throw new Error('no call');
  return call;
}

const question = {
  approval: 'a1',
  call: CALL,
  kind: 'permission',
  tool: 'save_note',
  arguments: '{"text":"x"}',
  effect: 'non_idempotent',
  because: 'it writes',
  binding: 'h',
  expires_at: 9_000,
} as const;

describe('a past that was made shorter', () => {
  const summary = { text: 'Mei has a cat.', messages: 4, through_step: 0, model: 'writer', usage };
  const compacted = { type: 'history.compacted', step: 1, tokens_before: 9_000, tokens_after: 3_000 } as const;

  test('is told where it happened, with the summary and what that took', () => {
    const feed = new FakeFeed();
    start(feed);
    feed.record({ ...compacted, pruned: [CALL] }, { ...compacted, summary });
    feed.record({ type: 'text.finished', step: 1, part: '1.1.0', text: 'Hello' }, stepFinished);
    const state = fold(feed);
    const tokens = { before: 9_000, after: 3_000 };
    expect(itemsOf(state).slice(0, 2)).toEqual([
      { kind: 'shortened', key: 'shortened.0', summary: null, outputs: 1, tokens },
      { kind: 'shortened', key: 'shortened.1', summary: 'Mei has a cat.', outputs: 0, tokens },
    ]);
    expect(spentOn(state.steps)).toEqual({ tokens: 4, costNanos: null, models: ['demo'] });
  });
});

describe('what is said to a run', () => {
  const said = (message: string) => ({ type: 'message.queued', message, text: `say ${message}`, by: 'mei' }) as const;

  test('waits at its place until the model hears it, after all that came before', () => {
    const feed = new FakeFeed();
    start(feed);
    feed.record(said('m7'), said('m8'));
    feed.record({ type: 'text.finished', step: 1, part: '1.1.0', text: 'Hello' }, stepFinished);
    const shape = (state: RunState) =>
      itemsOf(state).map((item) => (item.kind === 'spoken' ? `${item.text} for ${item.step}` : item.kind));
    expect(shape(fold(feed))).toEqual(['say m7 for null', 'say m8 for null', 'text']);
    feed.record({ type: 'message.taken', message: 'm7', step: 2 }, { type: 'message.taken', message: 'm8', step: 2 });
    expect(shape(fold(feed))).toEqual(['text', 'say m7 for 2', 'say m8 for 2']);
  });

  test('leaves a run that waits waiting', () => {
    const feed = new FakeFeed();
    start(feed);
    feed.record({ type: 'run.waiting', state: 'waiting_approval' }, said('m7'));
    expect(fold(feed).phase).toBe('waiting_approval');
  });
});

describe('a budget', () => {
  const { call: _, ...rest } = question;
  const asked = { ...rest, kind: 'budget', tool: '', because: 'this run has used 8 of 10 tokens' } as const;

  test('is asked about as a question of the run, and settled', () => {
    const feed = new FakeFeed();
    start(feed);
    feed.record({ type: 'approval.asked', ...asked }, { type: 'run.waiting', state: 'waiting_approval' });
    expect(fold(feed)).toMatchObject({ phase: 'waiting_approval', questions: [{ settled: null }] });
    feed.record({ type: 'approval.answered', approval: 'a1', answer: { decision: 'approve' }, by: 'mei' });
    expect(fold(feed)).toMatchObject({ phase: 'running', questions: [{ settled: { by: 'mei' } }] });
  });

  test('that is used up says so at the end', () => {
    const feed = new FakeFeed();
    start(feed);
    feed.record({ type: 'budget.spent', because: 'enough' }, { type: 'run.finished', ending: 'budget_spent' });
    expect(fold(feed)).toMatchObject({
      budgetSpent: { because: 'enough', notice: null },
      end: { how: 'finished', ending: 'budget_spent' },
    });
  });
});

describe('a run that was left alone', () => {
  test('is told from one that asks what became of a call, and goes on when it is taken up', () => {
    const feed = new FakeFeed();
    start(feed);
    feed.record({ type: 'run.resumed', resume: 4 });
    feed.record({ type: 'run.waiting', state: 'needs_attention' });
    expect(isLeftAlone(fold(feed))).toBe(true);
    feed.record({ type: 'run.resumed', resume: 0 });
    expect(isLeftAlone(fold(feed))).toBe(false);
    request(feed);
    feed.record({ type: 'approval.asked', ...question, kind: 'outcome' });
    feed.record({ type: 'run.waiting', state: 'needs_attention' });
    expect(isLeftAlone(fold(feed))).toBe(false);
  });
});

describe('text', () => {
  test('grows by what comes and ends as what was kept', () => {
    const feed = new FakeFeed();
    const reader = new Reader(0);
    start(feed);
    let state = feed.read(reader).reduce(applyFrame, newRun(RUN));
    for (const word of ['Hel', 'lo ', 'you']) {
      feed.write('1.1.0', 'text', word);
      state = feed.read(reader).reduce(applyFrame, state);
    }
    expect(itemsOf(state)).toEqual([{ kind: 'text', key: '1.1.0', text: 'Hello you', open: true }]);
    feed.record({ type: 'text.finished', step: 1, part: '1.1.0', text: 'Hello you' }, stepFinished);
    state = feed.read(reader).reduce(applyFrame, state);
    expect(itemsOf(state)).toEqual([{ kind: 'text', key: '1.1.0', text: 'Hello you', open: false }]);
  });

  test('of a part that begins anew replaces what was there', () => {
    const feed = new FakeFeed();
    start(feed);
    feed.write('1.1.0', 'text', 'Hello');
    const once = fold(feed);
    const twice = fold(feed, once);
    expect(itemsOf(twice)).toEqual(itemsOf(once));
  });

  test('of a step that begins again stays apart from the next attempt until that has replaced it', () => {
    const feed = new FakeFeed();
    start(feed);
    feed.write('1.1.0', 'text', 'wrong');
    const before = fold(feed);
    feed.record({ type: 'step.restarted', step: 1, attempt: 2, because: 'reset' });
    feed.step(1, 2);
    feed.write('1.2.0', 'text', 'right');
    const during = fold(feed, before);
    expect(itemsOf(during)).toEqual([
      { kind: 'broken', key: '1.1.0', text: 'wrong', now: 'retried' },
      { kind: 'text', key: '1.2.0', text: 'right', open: true },
    ]);
    feed.record({ type: 'text.finished', step: 1, part: '1.2.0', text: 'right' }, stepFinished);
    expect(itemsOf(fold(feed, during)).map((item) => 'text' in item && item.text)).toEqual(['right']);
  });

  test('of an attempt that the log does not mention stays readable once the next begins', () => {
    const feed = new FakeFeed();
    start(feed);
    feed.write('1.1.0', 'text', 'wrong');
    const before = fold(feed);
    feed.step(1, 2);
    expect(itemsOf(fold(feed, before))).toEqual([{ kind: 'broken', key: '1.1.0', text: 'wrong', now: 'retried' }]);
  });

  test('that was cut off for good stays, once, whether it was seen being written or not', () => {
    const feed = new FakeFeed();
    start(feed);
    feed.write('1.1.0', 'text', 'Half an ans');
    const seen = fold(feed);
    feed.record({ type: 'step.restarted', step: 1, attempt: 2, because: 'reset' });
    feed.step(1, 2);
    feed.write('1.2.0', 'text', 'Half of');
    const again = fold(feed, seen);
    feed.record(
      { type: 'text.cut_off', step: 1, part: '1.2.0', text: 'Half of another' },
      { type: 'run.failed', code: 'model_broke_off', message: 'reset' },
    );
    const last = [{ kind: 'broken', key: '1.2.0', text: 'Half of another', now: 'last' }];
    expect(itemsOf(fold(feed, again))).toEqual(last);
    expect(itemsOf(fold(feed))).toEqual(last);
  });

  test('a fact that comes twice counts once', () => {
    const feed = new FakeFeed();
    start(feed);
    feed.record({ type: 'text.finished', step: 1, part: '1.1.0', text: 'once' });
    const state = fold(feed);
    expect(
      feed
        .read(new Reader(0))
        .filter((frame) => frame.kind === 'event')
        .reduce(applyFrame, state),
    ).toEqual(state);
  });
});

describe('a call', () => {
  test('keeps its key from the first character of its arguments to its result', () => {
    const feed = new FakeFeed();
    start(feed);
    feed.write('1.1.0', 'input', '{"expr', 'calculator');
    let state = fold(feed);
    expect(callOf(state)).toMatchObject({ key: '1.1.0', tool: 'calculator', input: '{"expr', state: 'writing' });
    request(feed);
    feed.record(stepFinished);
    state = fold(feed, state);
    expect(callOf(state)).toMatchObject({ key: '1.1.0', call: CALL, state: 'requested' });
    feed.record({ type: 'tool.started', call: CALL, tool: 'calculator', version: 'v', effect: 'read', attempt: 1 });
    feed.write(CALL, 'progress', '10 %', 'calculator');
    state = fold(feed, state);
    expect(callOf(state)).toMatchObject({ state: 'running', progress: '10 %' });
    const trail = [{ stage: 'cache', found: 'hit' } as const];
    feed.record({ type: 'tool.finished', call: CALL, output: { text: '42' }, trail });
    expect(callOf(fold(feed, state))).toMatchObject({ key: '1.1.0', state: 'finished', progress: '', trail });
  });

  test('waits for a person and then goes on', () => {
    const feed = new FakeFeed();
    start(feed);
    request(feed);
    feed.record(stepFinished, { type: 'approval.asked', ...question });
    feed.record({ type: 'run.waiting', state: 'waiting_approval' });
    let state = fold(feed);
    expect(state.phase).toBe('waiting_approval');
    expect(callOf(state)).toMatchObject({ state: 'asked', approval: { question, settled: null } });
    const answer = { decision: 'approve' } as const;
    feed.record({ type: 'approval.answered', approval: 'a1', call: CALL, answer, by: 'mei' });
    state = fold(feed, state);
    expect(state.phase).toBe('running');
    expect(callOf(state)).toMatchObject({ state: 'approved', approval: { settled: { answer, by: 'mei' } } });
  });

  test('of unknown outcome stays unknown until a person has it run again in its place', () => {
    const feed = new FakeFeed();
    start(feed);
    request(feed);
    const known = { sent_at: 5, request: 'POST https://mail.example/send', checked: 'one mail' };
    feed.record(stepFinished, { type: 'tool.unknown', call: CALL, because: 'the server stopped', ...known });
    feed.record({ type: 'approval.asked', ...question, kind: 'outcome' });
    let state = fold(feed);
    expect(callOf(state)).toMatchObject({
      state: 'unknown',
      failure: { message: 'the server stopped' },
      cutOff: known,
    });
    feed.record({ type: 'tool.requested', step: 1, call: `${CALL}+`, tool: 'x', arguments: '{}', replaces: CALL });
    state = fold(feed, state);
    expect(itemsOf(state)).toHaveLength(1);
    expect(callOf(state)).toMatchObject({ call: `${CALL}+`, state: 'requested', approval: null });
  });

  test('that is the page’s to run says so', () => {
    const feed = new FakeFeed();
    start(feed);
    request(feed, CALL, '1.1.0', 'browser_js_eval');
    feed.record(stepFinished, { type: 'tool.delegated', call: CALL, tool: 'browser_js_eval' });
    feed.record({ type: 'run.waiting', state: 'waiting_client' });
    expect(callOf(fold(feed)).state).toBe('delegated');
  });

  test('that a window has taken says which, and what it runs', () => {
    const feed = new FakeFeed();
    start(feed);
    request(feed, CALL, '1.1.0', 'browser_js_eval');
    const edited = '{"code":"6*7"}';
    feed.record(stepFinished, { type: 'tool.delegated', call: CALL, tool: 'browser_js_eval', arguments: edited });
    feed.record({ type: 'run.waiting', state: 'waiting_client' });
    feed.record({ type: 'tool.claimed', call: CALL, client: 'tab', by: 'mei' });
    const state = fold(feed);
    expect(callOf(state)).toMatchObject({ state: 'claimed', claimedBy: 'tab', input: edited });
    expect(state.phase).toBe('waiting_client');
  });
});

describe('the end', () => {
  test('leaves nothing open and takes nothing more', () => {
    const feed = new FakeFeed();
    start(feed);
    feed.write('1.1.0', 'text', 'half');
    const before = fold(feed);
    feed.record({ type: 'run.cancelled', by: 'mei' });
    const state = fold(feed, before);
    expect(state).toMatchObject({ phase: 'cancelled', end: { how: 'cancelled', by: 'mei' }, items: [], open: [] });
    const late = { type: 'part.started', part: '1.1.1', kind: 'text', text: 'ghost' } as const;
    expect(applyFrame(state, { kind: 'live', body: late })).toBe(state);
  });

  test('a kind of fact that is not known yet changes nothing but the place in the log', () => {
    const unknown = { type: 'moon.risen', at: 1 } as never;
    const state = applyFrame(newRun(RUN), { kind: 'event', seq: 1, body: unknown });
    expect(state).toEqual({ ...newRun(RUN), lastEvent: 1 });
  });
});

describe('any schedule of cuts', () => {
  test('ends in the state of a reader that was never cut', () => {
    for (let seed = 1; seed <= 300; seed += 1) {
      const random = randomness(seed);
      const feed = new FakeFeed();
      const steady = new Reader(0);
      let cut = new Reader(0);
      let whole = newRun(RUN);
      let pieces = newRun(RUN);
      for (const act of story(random)) {
        act(feed);
        whole = feed.read(steady).reduce(applyFrame, whole);
        // The connection may have died long ago, or in the middle of what it brought.
        if (random() < 0.3) continue;
        const frames = feed.read(cut);
        const kept = random() < 0.5 ? frames : frames.slice(0, Math.floor(random() * frames.length));
        pieces = kept.reduce(applyFrame, pieces);
        if (kept.length < frames.length || random() < 0.3) cut = new Reader(pieces.lastEvent);
        else expect(withoutVoid(pieces), `seed ${seed}`).toEqual(withoutVoid(whole));
      }
      pieces = feed.read(new Reader(pieces.lastEvent)).reduce(applyFrame, pieces);
      expect(pieces, `seed ${seed}`).toEqual(whole);
      const logOnly = feed.read(new Reader(0)).filter((frame) => frame.kind === 'event');
      expect(logOnly.reduce(applyFrame, newRun(RUN)), `seed ${seed}`).toEqual(whole);
    }
  });
});

/** How much of a void attempt was read is each reader's own, and gone with the next attempt's end. */
function withoutVoid(state: RunState): RunState {
  return { ...state, items: state.items.filter((item) => item.kind !== 'broken' || item.now === 'last') };
}

type Act = (feed: FakeFeed) => void;

/** A run with a random course: steps that break off, calls in parallel, questions, restarts of the server. */
function story(random: () => number): Act[] {
  const acts: Act[] = [start];
  const chance = (odds: number) => random() < odds;
  const words = (part: string, kind: 'text' | 'reasoning' | 'input', tool?: string): string => {
    let all = '';
    for (let n = 1 + Math.floor(random() * 5); n > 0; n -= 1) {
      const word = `w${Math.floor(random() * 1_000)} `;
      all += word;
      acts.push((feed) => feed.write(part, kind, word, tool));
    }
    return all;
  };
  const steps = 1 + Math.floor(random() * 3);
  for (let step = 1; step <= steps; step += 1) {
    let attempt = 1;
    acts.push((feed) => feed.step(step, attempt));
    while (chance(0.3)) {
      words(`${step}.${attempt}.0`, 'text');
      const next = attempt + 1;
      const resumed = chance(0.5);
      acts.push((feed) => {
        if (resumed) feed.record({ type: 'run.resumed', resume: 1 });
        feed.record({ type: 'step.restarted', step, attempt: next, because: 'it broke off' });
        feed.step(step, next);
      });
      attempt = next;
    }
    const thought = words(`${step}.${attempt}.0`, 'reasoning');
    const text = words(`${step}.${attempt}.1`, 'text');
    const calls = Array.from({ length: Math.floor(random() * 4) }, (_, index) => {
      const part = `${step}.${attempt}.${2 + index}`;
      return { call: `r1:${step}:${index}`, part, input: words(part, 'input', `tool${index}`), tool: `tool${index}` };
    });
    // What looked like a call and was none leaves no fact behind.
    if (chance(0.3)) words(`${step}.${attempt}.9`, 'input', 'quoted');
    acts.push((feed) => {
      feed.record(
        { type: 'reasoning.finished', step, part: `${step}.${attempt}.0`, text: thought },
        { type: 'text.finished', step, part: `${step}.${attempt}.1`, text },
      );
      for (const { call, part, input, tool } of calls) {
        feed.record({ type: 'tool.requested', step, call, tool, arguments: input, part });
      }
      feed.record({ ...stepFinished, step, attempt });
    });
    for (const { call, tool } of calls) {
      if (chance(0.3)) {
        const answer = { decision: 'approve' } as const;
        acts.push((feed) => feed.record({ type: 'approval.asked', ...question, call }));
        acts.push((feed) => feed.record({ type: 'run.waiting', state: 'waiting_approval' }));
        acts.push((feed) => feed.record({ type: 'approval.answered', approval: 'a1', call, answer, by: 'mei' }));
      }
      acts.push((feed) => {
        feed.record({ type: 'tool.started', call, tool, version: 'v', effect: 'read', attempt: 1 });
      });
    }
    for (const { call, tool } of calls) {
      if (chance(0.5)) acts.push((feed) => feed.write(call, 'progress', '10 % ', tool));
      if (chance(0.3)) acts.push((feed) => feed.record({ type: 'run.resumed', resume: 2 }));
      if (chance(0.5)) acts.push((feed) => feed.write(call, 'progress', '20 % ', tool));
      acts.push((feed) => feed.record({ type: 'tool.finished', call, output: { text: 'ok' }, trail: [] }));
    }
  }
  acts.push((feed) => feed.record({ type: 'run.finished', ending: 'answered' }));
  return acts;
}

/** Numbers that look random and are the same in every run of the test. */
function randomness(seed: number): () => number {
  let state = seed * 2_654_435_761;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
