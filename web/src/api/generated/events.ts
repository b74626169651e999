// Made by `npm run generate` from fixtures/schema/events.schema.json; never edited.

/**
 * What is written to the journal and sent to readers; the sequence number travels beside it.
 */
export type EventBody = (
  | (RunStarted & {
      type: 'run.started';
    })
  | {
      attempt: number;
      because: string;
      /**
       * What was spent on it, as far as known.
       */
      spent?: Spent | null;
      step: number;
      type: 'step.restarted';
    }
  | {
      part: PartId;
      step: number;
      text: string;
      type: 'reasoning.finished';
    }
  | {
      part: PartId;
      step: number;
      text: string;
      type: 'text.finished';
    }
  | {
      part: PartId;
      step: number;
      text: string;
      type: 'text.cut_off';
    }
  | {
      /**
       * JSON text, as the model wrote it wherever that was JSON in itself or could be repaired.
       */
      arguments: string;
      call: CallId;
      /**
       * The part that showed the call while it was being written.
       */
      part?: PartId | null;
      provider_id?: string | null;
      /**
       * What was repaired in the arguments.
       */
      repairs?: string[];
      /**
       * A person ordered this call in place of an earlier one.
       */
      replaces?: CallId | null;
      step: number;
      /**
       * As the model wrote it; the tool that runs is named when it starts.
       */
      tool: string;
      type: 'tool.requested';
    }
  | {
      /**
       * What is really sent, where a person or a hook changed it.
       */
      arguments?: string | null;
      attempt: number;
      call: CallId;
      effect: Effect;
      /**
       * The tool that is really run, where another one stands in for it; version and effect are that one's.
       */
      instead?: string | null;
      tool: string;
      type: 'tool.started';
      version: string;
    }
  | {
      arguments: string;
      attempt: number;
      step: number;
      tool: string;
      type: 'tool.discarded';
      version: string;
    }
  | {
      /**
       * What the client is to run, as the check, hooks and people left it.
       */
      arguments?: string | null;
      call: CallId;
      tool: string;
      trail?: Trail;
      type: 'tool.delegated';
    }
  | {
      /**
       * The user whose client it is.
       */
      by: string;
      call: CallId;
      /**
       * As it calls itself.
       */
      client: string;
      type: 'tool.claimed';
    }
  | {
      call: CallId;
      output: ToolOutput;
      trail: Trail;
      type: 'tool.finished';
    }
  | {
      call: CallId;
      failure: Failure;
      trail: Trail;
      type: 'tool.failed';
    }
  | {
      call: CallId;
      failure: Failure;
      trail: Trail;
      type: 'tool.refused';
    }
  | {
      because: string;
      call: CallId;
      /**
       * What the tool's check tool said, if it has one.
       */
      checked?: string | null;
      /**
       * Where the words above are from, if not all of them are Helve's own.
       */
      labels?: Labels | null;
      /**
       * What was sent, with the names of secrets in place of them; none where that is not more than the arguments.
       */
      request?: string | null;
      sent_at: Timestamp;
      /**
       * What the tool's definition wants done about it.
       */
      then?: 'fail_run' | 'ask_user' | 'tell_model';
      trail?: Trail;
      type: 'tool.unknown';
    }
  | {
      call: CallId;
      output: ToolOutput;
      type: 'tool.late';
    }
  | (SubagentStarted & {
      type: 'subagent.started';
    })
  | (SubagentAsked & {
      type: 'subagent.asked';
    })
  | (SubagentAnswered & {
      type: 'subagent.answered';
    })
  | (SubagentEnded & {
      type: 'subagent.ended';
    })
  | (Question & {
      type: 'approval.asked';
    })
  | {
      answer: Answer;
      approval: ApprovalId;
      by: string;
      call?: CallId | null;
      type: 'approval.answered';
    }
  | {
      by: string;
      message: MessageId;
      text: string;
      type: 'message.queued';
    }
  | {
      message: MessageId;
      step: number;
      type: 'message.taken';
    }
  | {
      because: string;
      /**
       * The same for people.
       */
      notice?: Notice | null;
      type: 'budget.spent';
    }
  | (Compaction & {
      type: 'history.compacted';
    })
  | {
      attempt: number;
      /**
       * What it cost, in billionths of the unit of the operator's prices; none where no price is known.
       */
      cost_nanos?: number | null;
      /**
       * What that model's vendor wants back with the message, word for word.
       */
      echo?: unknown;
      /**
       * Which model that was and where, as a mark to compare: a name may come to mean another one.
       */
      fingerprint?: string | null;
      mode: Mode;
      /**
       * The model that answered, where it is not the one that the run was started with.
       */
      model?: string | null;
      /**
       * What hooks laid over the parameters of the question, where they did.
       */
      params?: ModelParams | null;
      reason: StopReason;
      step: number;
      type: 'step.finished';
      usage: Usage;
    }
  | (StepSnapshot & {
      type: 'step.snapshot';
    })
  | {
      state: RunState;
      type: 'run.waiting';
    }
  | {
      resume: number;
      type: 'run.resumed';
    }
  | {
      ending: Ending;
      type: 'run.finished';
    }
  | {
      code: string;
      message: string;
      /**
       * What exactly it was, for people, where the code says less.
       */
      notice?: Notice | null;
      type: 'run.failed';
    }
  | (Cancelled & {
      type: 'run.cancelled';
    })
) & {
  at: Timestamp;
};
/**
 * A series of messages between a person and an agent.
 */
export type ConversationId = string;
/**
 * One message of a conversation.
 */
export type MessageId = string;
/**
 * A piece of a message while it is being written: `step.attempt.n`, or the id of a call for its progress.
 *
 * The attempt is in it, so that text of a failed attempt is never taken for text of the next.
 */
export type PartId = string;
/**
 * A tool call's position in its run, written `run:step:index`. It is also the key under which its effect happens.
 *
 * A call that a person ordered in place of another one has the same position and a `+` more at the end of its text.
 */
export type CallId = string;
/**
 * What repeating a call would do to the world, and so what a crash allows.
 */
export type Effect = 'read' | 'idempotent' | 'non_idempotent';
export type Stage =
  | {
      repaired_from?: string | null;
      stage: 'resolve';
      tool: string;
    }
  | {
      problem?: string | null;
      /**
       * What was repaired in the arguments before they were checked.
       */
      repairs?: string[];
      stage: 'check';
    }
  | {
      rule?: string | null;
      stage: 'judge';
      verdict: string;
    }
  | {
      /**
       * `hit`, `miss`, or `shared` with an identical call in flight.
       */
      found: string;
      stage: 'cache';
    }
  | {
      refused?: string | null;
      stage: 'limit';
      waited_ms: number;
    }
  | {
      stage: 'breaker';
      state: string;
    }
  | {
      attempt: number;
      ms: number;
      stage: 'run';
    }
  | {
      /**
       * A mark on what it brought, by which the same result is known when it comes again.
       */
      brought: string;
      /**
       * From the claim to the result.
       */
      ms: number;
      /**
       * As it calls itself.
       */
      name: string;
      stage: 'client';
    }
  | {
      /**
       * `changed`, `refused`, or `failed` where it could not be asked.
       */
      did: string;
      name: string;
      stage: 'hook';
    }
  | {
      age_ms?: number | null;
      because: string;
      /**
       * `last_good`, or the name of the tool that did.
       */
      by: string;
      /**
       * The same for people.
       */
      notice?: Notice | null;
      stage: 'fallback';
    }
  | {
      /**
       * `cache` or `limit`.
       */
      guard: string;
      stage: 'skipped';
    }
  | {
      kept_bytes: number;
      stage: 'bound';
      whole_bytes: number;
    };
/**
 * What each stage of the pipeline decided, in order. A stage that was not reached is not in it.
 */
export type Trail = Stage[];
export type FailureKind =
  | ('unknown_tool' | 'bad_arguments' | 'timed_out' | 'cancelled')
  | 'denied'
  | 'unanswered'
  | 'limited'
  | 'unavailable'
  | 'repeating'
  | 'failed';
/**
 * Milliseconds since 1970.
 */
export type Timestamp = number;
/**
 * What a person is asked, rendered by the server from the bytes that will be sent.
 */
export type Question = (
  | {
      /**
       * Canonical JSON: what is approved is what is sent.
       */
      arguments: string;
      call: CallId;
      /**
       * The warnings as notices, in the same order.
       */
      cautions?: Notice[];
      effect: Effect;
      kind: 'permission';
      /**
       * The run repeats this call: a no ends that, and an always is for the run alone.
       */
      repeats?: boolean;
      /**
       * What would go over the wire, or went, with the names of secrets in place of them; none where that is not more
       * than the arguments.
       */
      request?: string | null;
      tool: string;
      /**
       * The hash of the tool's definition, where its calls go included: consent ends when it changes.
       */
      version?: string;
      /**
       * What a person should know before they agree.
       */
      warnings?: string[];
    }
  | {
      /**
       * Canonical JSON: what is approved is what is sent.
       */
      arguments: string;
      call: CallId;
      /**
       * The warnings as notices, in the same order.
       */
      cautions?: Notice[];
      /**
       * What the tool's check tool said about it, if it has one.
       */
      checked?: string | null;
      effect: Effect;
      kind: 'outcome';
      /**
       * What would go over the wire, or went, with the names of secrets in place of them; none where that is not more
       * than the arguments.
       */
      request?: string | null;
      /**
       * When the call was sent; none in logs of older versions.
       */
      sent_at?: Timestamp | null;
      tool: string;
      /**
       * The hash of the tool's definition, where its calls go included: consent ends when it changes.
       */
      version?: string;
      /**
       * What a person should know before they agree.
       */
      warnings?: string[];
    }
  | {
      kind: 'budget';
    }
  | {
      /**
       * Canonical JSON: what is approved is what is sent.
       */
      arguments: string;
      call: CallId;
      /**
       * The warnings as notices, in the same order.
       */
      cautions?: Notice[];
      effect: Effect;
      form: ReplyForm;
      kind: 'user';
      /**
       * In the model's words.
       */
      question: string;
      /**
       * What would go over the wire, or went, with the names of secrets in place of them; none where that is not more
       * than the arguments.
       */
      request?: string | null;
      tool: string;
      /**
       * The hash of the tool's definition, where its calls go included: consent ends when it changes.
       */
      version?: string;
      /**
       * What a person should know before they agree.
       */
      warnings?: string[];
    }
) & {
  approval: ApprovalId;
  /**
   * The subagent that asks, where it is one.
   */
  asker?: Asker | null;
  /**
   * Why a person is asked at all.
   */
  because: string;
  /**
   * A hash over what is asked about: for a call over its tool, version, effect and arguments. Checked again before
   * the call starts.
   */
  binding: string;
  expires_at: Timestamp;
  /**
   * The same as notices: all of them hold.
   */
  reasons?: Notice[];
};
/**
 * What a reply is like, and so how it is asked for.
 */
export type ReplyForm =
  | {
      format?: TextFormat | null;
      max_chars: number;
      min_chars?: number | null;
      /**
       * Whether it may have several lines.
       */
      multiline?: boolean;
      type: 'text';
    }
  | {
      maximum?: number | null;
      minimum?: number | null;
      type: 'number';
      /**
       * Whether it must be a whole number.
       */
      whole?: boolean;
    }
  | {
      type: 'boolean';
    }
  | {
      options: FormOption[];
      type: 'choice';
    }
  | {
      max_items: number;
      min_items: number;
      options: FormOption[];
      type: 'choices';
    }
  | {
      fields: FormField[];
      type: 'fields';
    };
/**
 * How a text is written.
 */
export type TextFormat = ('email' | 'uri') | 'date' | 'time' | 'date-time';
/**
 * A question put to a person; random, so that it cannot be guessed.
 */
export type ApprovalId = string;
/**
 * One execution of one agent on one input.
 */
export type RunId = string;
/**
 * How a question was settled.
 */
export type Answer =
  | {
      /**
       * Calls like this one need not be asked about again.
       */
      always?: Always | null;
      /**
       * Edited arguments, as JSON text; the call runs with these instead.
       */
      arguments?: string | null;
      decision: 'approve';
    }
  | {
      decision: 'reject';
      reason?: string;
    }
  | {
      decision: 'respond';
      text: string;
    }
  | {
      answer: OutcomeAnswer;
      decision: 'outcome';
    }
  | {
      decision: 'reply';
      value: unknown;
    }
  | {
      decision: 'decline';
      reason?: string;
    }
  | {
      decision: 'expire';
    };
/**
 * How far such a consent reaches.
 */
export type Within = 'run' | 'conversation' | 'agent';
/**
 * What a person says about a call whose outcome was not recorded.
 */
export type OutcomeAnswer = 'happened' | 'did_not_happen' | 'run_again';
export type RunState =
  | ('running' | 'waiting_approval' | 'waiting_client' | 'completed' | 'failed' | 'cancelled')
  | 'waiting_subagent'
  | 'needs_attention';
/**
 * How the model is asked to call tools: `native`, or `prompt:` and a profile.
 */
export type Mode = string;
/**
 * Why the model stopped writing.
 */
export type StopReason =
  ('stop' | 'tool_calls' | 'length' | 'content_filter' | 'other') | 'cancelled' | 'failed';
/**
 * Which end of a model step a hook is asked at.
 */
export type StepEdge = 'before' | 'after';
/**
 * How a hook calls a snapshot that it took: a commit, a path, a key of a store of its own.
 *
 * Readers put it into addresses and shells, so it has few characters and does not begin with `-`.
 */
export type SnapshotId = string;
export type Ending =
  'answered' | 'step_limit' | 'client_tools' | 'without_call' | 'repeating' | 'budget_spent' | 'refused';
export type Live =
  | {
      attempt: number;
      step: number;
      type: 'step.started';
    }
  | {
      kind: PartKind;
      part: PartId;
      text: string;
      /**
       * The tool, where a call is being written or a tool reports progress.
       */
      tool?: string | null;
      type: 'part.started';
    }
  | {
      part: PartId;
      text: string;
      type: 'part.delta';
    }
  | {
      type: 'server.draining';
    };
export type PartKind = ('text' | 'reasoning') | 'input' | 'progress';
export type Part =
  | {
      step: number;
      text: string;
      type: 'text';
    }
  | {
      step: number;
      text: string;
      type: 'reasoning';
    }
  | {
      step: number;
      text: string;
      type: 'cut_off';
    }
  | (ToolPart & {
      type: 'tool';
    })
  | {
      by: string;
      message: MessageId;
      /**
       * The step whose message was written with it in mind; none if the model has not read it.
       */
      step?: number | null;
      text: string;
      type: 'said';
    }
  | (Compaction & {
      type: 'compacted';
    })
  | {
      /**
       * Who stopped it, if a person did.
       */
      by?: string | null;
      /**
       * The same as a word for programs: that of a failed run, `budget_spent`, `unheard`, `cancelled`, or the ending of
       * a run that did not simply answer: `step_limit`, `without_call`, `repeating` or `refused`.
       */
      code?: string | null;
      /**
       * What exactly it was, for people.
       */
      notice?: Notice | null;
      text: string;
      type: 'notice';
    };
/**
 * How far a call has come. The store, the API and the page use these words.
 */
export type CallState =
  | 'finished'
  | 'requested'
  | 'asked'
  | 'approved'
  | 'delegated'
  | 'claimed'
  | 'running'
  | 'failed'
  | 'refused'
  | 'expired'
  | 'unknown';
/**
 * How far a call has come, in the four words that messages have for it.
 */
export type PartState = 'pending' | 'running' | 'completed' | 'error';
export type Role = 'user' | 'assistant';

/**
 * All that can stand in a frame or in a list of messages.
 */
export interface Wire {
  event: EventBody;
  live: Live;
  message: Message;
}
export interface RunStarted {
  agent: string;
  conversation?: ConversationId | null;
  /**
   * The user's message, where the server keeps the conversation.
   */
  message?: MessageId | null;
  model: string;
  /**
   * One message of a conversation.
   */
  reply: string;
  text: string;
}
/**
 * The sum over any number of steps.
 */
export interface Spent {
  /**
   * In billionths of the unit of the operator's prices: the sum over the steps whose price is known, and none
   * if there is no such step.
   */
  cost_nanos?: number | null;
  usage: Usage;
}
export interface Usage {
  /**
   * Of the input, what was written to it.
   */
  cache_write_tokens?: number;
  /**
   * Of the input, what was read from the vendor's cache.
   */
  cached_tokens?: number;
  input_tokens: number;
  output_tokens: number;
  /**
   * Of the output, what was spent on thinking.
   */
  reasoning_tokens?: number;
}
/**
 * A code with its parameters. The end of a parameter's name says how it is written: `_ms` is a duration, `_at` a time,
 * `_bytes` a size, `_any` a list of notices of which one is enough; anything else is a number, a text, another notice, or
 * a list of them.
 */
export interface Notice {
  code: string;
  params?: {
    [k: string]: unknown;
  };
}
/**
 * What a tool gives back: one view for the model, one for the person, and the value itself.
 */
export interface ToolOutput {
  attachments?: Attachment[];
  /**
   * The value, for programs and plans.
   */
  data?: unknown;
  /**
   * The same where it is a sentence, which the reader's side makes.
   */
  headline?: Notice | null;
  /**
   * Where it is from and how far it is to be trusted. The pipeline writes it over whatever a tool may have.
   */
  labels?: Labels | null;
  /**
   * Further facts for the person's view.
   */
  metadata?: unknown;
  /**
   * What the model reads.
   */
  text: string;
  /**
   * One line for the person.
   */
  title?: string | null;
  /**
   * The size of the whole text where `text` is only its beginning; the whole is kept.
   */
  whole_bytes?: number | null;
}
export interface Attachment {
  /**
   * How many there are, where that is known.
   */
  bytes?: number | null;
  media_type: string;
  name: string;
  /**
   * Where the bytes are kept, or a `data:` URL for small ones.
   */
  url: string;
}
/**
 * What Helve writes on a result.
 */
export interface Labels {
  /**
   * The host that it is from, or `client`; none where it was made inside Helve.
   */
  place?: string | null;
  /**
   * It may hold what is not for everybody.
   */
  private?: boolean;
  /**
   * The tool that it is from; `a person` where one answered in its place.
   */
  source: string;
  /**
   * Strangers may have written it.
   */
  untrusted?: boolean;
}
/**
 * Why a call gave no output.
 */
export interface Failure {
  kind: FailureKind;
  /**
   * Where its words are from, if not all of them are Helve's own.
   */
  labels?: Labels | null;
  /**
   * Says what is wrong and how to do better; the model reads it.
   */
  message: string;
  /**
   * What a person is told; none where nothing is known beyond the kind and what the tool itself said.
   */
  notice?: Notice | null;
  retry_after_ms?: number | null;
}
/**
 * That the run of a subagent works on a call.
 */
export interface SubagentStarted {
  agent: string;
  /**
   * The call that is made, as the check, hooks and people left it.
   */
  arguments: string;
  /**
   * The call does not wait for the result.
   */
  background?: boolean;
  budget?: Granted;
  call: CallId;
  /**
   * One execution of one agent on one input.
   */
  run: string;
  /**
   * What the subagent is to do; empty where the call waits for a run that was begun before.
   */
  task?: string;
  trail?: Trail;
}
/**
 * What a subagent may use up of its parent's budget; none is no limit.
 */
export interface Granted {
  active_ms?: number | null;
  calls?: number | null;
  cost_nanos?: number | null;
  tokens?: number | null;
}
/**
 * A question of a subagent's run, shown with the call that it works on.
 */
export interface SubagentAsked {
  call: CallId;
  question: Question;
}
/**
 * One of several answers.
 */
export interface FormOption {
  /**
   * What the person reads in place of the value.
   */
  title?: string | null;
  value: string;
}
/**
 * A field of a form.
 */
export interface FormField {
  /**
   * What the field holds before the person has touched it.
   */
  default?: unknown;
  description?: string | null;
  form: ReplyForm;
  /**
   * The member of the reply.
   */
  name: string;
  required?: boolean;
  /**
   * What the person reads in place of the name.
   */
  title?: string | null;
}
/**
 * The subagent that asks a question.
 */
export interface Asker {
  agent: string;
  /**
   * The conversation that it all began in, if it is one.
   */
  conversation?: ConversationId | null;
  /**
   * The run that it works for.
   */
  parent: string;
  run: RunId;
}
/**
 * The question was settled, or its run ended before it was.
 */
export interface SubagentAnswered {
  answer: Answer;
  approval: ApprovalId;
  by: string;
  call: CallId;
}
/**
 * What a person adds to a yes so that they need not be asked again.
 */
export interface Always {
  /**
   * What the arguments must be like, as rules write it; nothing said means any arguments.
   */
  arguments?: {
    [k: string]: unknown;
  };
  /**
   * For how long; 30 days if not said, and at most.
   */
  days?: number | null;
  within: Within;
}
/**
 * The subagent's run is over.
 */
export interface SubagentEnded {
  call: CallId;
  run: RunId;
  state: RunState;
  used: Used;
}
/**
 * What it used up, with all runs below it.
 */
export interface Used {
  /**
   * Time at work: waiting for people does not count.
   */
  active_ms: number;
  /**
   * Calls of tools that were sent, each counted once.
   */
  calls: number;
  /**
   * In billionths of the unit of the operator's prices; what has no price counts nothing.
   */
  cost_nanos: number;
  /**
   * Read and written.
   */
  tokens: number;
}
/**
 * What the model is shown from here on in place of the oldest part of the past. All of it stays on record.
 */
export interface Compaction {
  /**
   * Where the client keeps the history: in so many of its messages, from the first, long results are no longer
   * shown.
   */
  client_messages?: number;
  /**
   * Calls whose output is no longer shown.
   */
  pruned?: CallId[];
  /**
   * The step that is asked for next.
   */
  step: number;
  /**
   * Stands for everything up to a point.
   */
  summary?: Summary | null;
  tokens_after: number;
  /**
   * Estimates, before and after.
   */
  tokens_before: number;
}
/**
 * The oldest part of the past, in few words.
 */
export interface Summary {
  cost_nanos?: number | null;
  /**
   * How many messages it stands for.
   */
  messages: number;
  /**
   * Who wrote it, and what that took.
   */
  model: string;
  text: string;
  /**
   * The last message of the conversation before this run that it stands for; none if it stands for none of them.
   */
  through?: MessageId | null;
  /**
   * Up to and including which step of this run it stands for; 0 for none. What the person said at the beginning of
   * the run is shown all the same.
   */
  through_step: number;
  usage: Usage;
}
/**
 * Sampling and length; what is not set is left to the vendor.
 */
export interface ModelParams {
  /**
   * Sent to the vendor as it stands.
   */
  extra?: {
    [k: string]: unknown;
  };
  max_tokens?: number | null;
  /**
   * How often the same model is asked again for a step whose answer did not come.
   */
  retries?: number | null;
  seed?: number | null;
  stop?: string[];
  temperature?: number | null;
  /**
   * Sent to vendors that know it.
   */
  top_k?: number | null;
  top_p?: number | null;
}
/**
 * What a hook at one end of a step came to: the snapshot that it took, or why there is none.
 */
export interface StepSnapshot {
  edge: StepEdge;
  /**
   * The name of the hook.
   */
  hook: string;
  /**
   * The hook failed; the run goes on.
   */
  notice?: Notice | null;
  snapshot?: SnapshotId | null;
  step: number;
}
export interface Cancelled {
  by: string;
}
export interface Message {
  at: Timestamp;
  id: MessageId;
  /**
   * The model that wrote it, by its configured name.
   */
  model?: string | null;
  parts: Part[];
  role: Role;
  run?: RunId | null;
  /**
   * The model's finished messages that it is made of.
   */
  steps?: StepRecord[];
}
export interface ToolPart {
  call: CallId;
  /**
   * The same in all the words that there are for it.
   */
  call_state?: CallState | null;
  /**
   * What is known of a call that was cut off in flight.
   */
  cut_off?: CutOff | null;
  ended_at?: Timestamp | null;
  failure?: Failure | null;
  /**
   * JSON text as the model wrote it.
   */
  input: string;
  output?: ToolOutput | null;
  provider_id?: string | null;
  requested_at: Timestamp;
  started_at?: Timestamp | null;
  state: PartState;
  step: number;
  /**
   * The run of the subagent that works on it.
   */
  subagent?: RunId | null;
  tool: string;
}
/**
 * A call of which it is unknown whether it took effect.
 */
export interface CutOff {
  /**
   * What the tool's check tool said about it.
   */
  checked?: string | null;
  /**
   * What was sent, where that is more than the input.
   */
  request?: string | null;
  sent_at: Timestamp;
}
/**
 * What is known about one message of the model besides its words.
 */
export interface StepRecord {
  /**
   * In billionths of the unit of the operator's prices; none where no price is known.
   */
  cost_nanos?: number | null;
  /**
   * What the model's vendor wants back with the message, word for word.
   */
  echo?: unknown;
  /**
   * Which model that was and where, as a mark to compare: a name may come to mean another one.
   */
  fingerprint?: string | null;
  /**
   * The model that answered, by its configured name.
   */
  model: string;
  step: number;
  usage: Usage;
}
