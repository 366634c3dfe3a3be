import type { ToolCall } from '../../core/call.ts';
import type { Ended } from '../../invoke/finish.ts';
import type { CallContext, RunAnswer, RunQuestion } from '../../tiers/tier.ts';

/*
 * A call of the modern era, in which a question to the person at the client ends the request and not the call: the client
 * comes again with the answer, and the same call goes on. So one call of the line can be served by several requests, one
 * at a time. While no request is attached, nothing is sent anywhere; the limits of the call hold all the same.
 */

/** What one request hears of the call that it waits for. */
export type Hearing = Pick<CallContext, 'onOutput' | 'onProgress' | 'onLog'>;

/** How far a call has got: to its end, or to questions that have to be answered first. */
export type Turn = { readonly ended: Ended } | { readonly questions: readonly RunQuestion[] };

type Waiting = {
  readonly questions: readonly RunQuestion[];
  readonly answer: (answers: readonly RunAnswer[]) => void;
};

/** What a call listens to from its start: whether there is a person who can be asked, and a client that wants progress. */
type Wanted = { readonly asks: boolean; readonly progress: boolean };

type Start = (signal: AbortSignal, listeners: Omit<CallContext, 'signal'>) => Promise<Ended>;

export class OpenCall {
  readonly call: ToolCall;
  /** Settles when the call is on record. */
  readonly ended: Promise<Ended>;
  readonly #cancel = new AbortController();
  #hearing: Hearing = {};
  #detach: () => void = () => undefined;
  #waiting: Waiting | null = null;
  #onAsked: (() => void) | null = null;

  constructor(call: ToolCall, { asks, progress }: Wanted, start: Start) {
    this.call = call;
    this.ended = start(this.#cancel.signal, {
      onOutput: (stream, chunk) => this.#hearing.onOutput?.(stream, chunk),
      ...(progress ? { onProgress: (report) => this.#hearing.onProgress?.(report) } : {}),
      onLog: (entry) => this.#hearing.onLog?.(entry),
      ...(asks ? { onQuestions: (questions) => this.#asked(questions) } : {}),
    });
  }

  /** Cancels the call; nothing happens to one that has ended. */
  cancel(reason: string): void {
    this.#cancel.abort(new Error(reason));
  }

  /** Lets a request wait for the next turn: it hears of the call, and ends it when it is cancelled itself. */
  async next(signal: AbortSignal, hearing: Hearing): Promise<Turn> {
    const onAbort = () => this.cancel('the request was cancelled');
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    this.#hearing = hearing;
    this.#detach = () => {
      signal.removeEventListener('abort', onAbort);
      this.#hearing = {};
    };
    const asked = new Promise<void>((resolve) => {
      this.#onAsked = resolve;
      if (this.#waiting !== null) resolve();
    });
    const ended = await Promise.race([this.ended, asked]);
    this.#onAsked = null;
    this.#detach();
    if (ended !== undefined) return { ended };
    return this.#waiting === null ? { ended: await this.ended } : { questions: this.#waiting.questions };
  }

  /** The questions that are open; empty where there are none. */
  get questions(): readonly RunQuestion[] {
    return this.#waiting?.questions ?? [];
  }

  /** Answers the open questions, one answer for each. */
  answer(answers: readonly RunAnswer[]): void {
    this.#waiting?.answer(answers);
    this.#waiting = null;
  }

  #asked(questions: readonly RunQuestion[]): Promise<readonly RunAnswer[]> {
    return new Promise((resolve) => {
      this.#waiting = { questions, answer: resolve };
      this.#onAsked?.();
    });
  }
}
