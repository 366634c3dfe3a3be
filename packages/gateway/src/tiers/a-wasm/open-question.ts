import { ABI_ERRORS } from './abi.table.ts';
import type { Question, Reply } from './engine-process.ts';

/** What became of a question whose guest never heard the answer. */
export type Interrupted = {
  readonly name: string;
  /** Done although nobody was told; refused, so that nothing was done; or nobody can tell. */
  readonly fate: 'done' | 'refused' | 'unknown';
};

type Answer = (question: Question) => Promise<Reply>;

/** Errors after which nothing was done, whatever was asked. */
const REFUSALS: ReadonlySet<number> = new Set(
  (['denied', 'invalid', 'full', 'missing', 'conflict'] as const).map((name) => ABI_ERRORS[name].code),
);

/** The question of a guest that is being answered; there is at most one. */
export class OpenQuestion {
  #name: string | null = null;
  #answered: Promise<Reply | null> = Promise.resolve(null);

  /** The same answers, watched. */
  around(answer: Answer): Answer {
    return (question) => {
      this.#name = String(question.head.name);
      const answered = answer(question);
      this.#answered = answered.then(
        (reply) => {
          this.#name = null;
          return reply;
        },
        () => null,
      );
      return answered;
    };
  }

  /** Waits until nothing is under way; gives what was at this moment, and what became of it. */
  async leave(): Promise<Interrupted | null> {
    const name = this.#name;
    const reply = await this.#answered;
    return name === null ? null : { name, fate: fateOf(name, reply) };
  }
}

function fateOf(name: string, reply: Reply | null): Interrupted['fate'] {
  if (reply === null) return 'unknown';
  if (reply.result >= 0) return 'done';
  // A request that was broken off may have arrived.
  return name === 'http_request' && !REFUSALS.has(reply.result) ? 'unknown' : 'refused';
}
