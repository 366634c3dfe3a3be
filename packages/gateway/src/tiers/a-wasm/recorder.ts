import { digestBytes } from '../../core/digest.ts';
import type { EngineFacts, Exchange, Recording } from '../../core/recording.ts';
import { ABI_ERRORS } from './engine/abi.table.ts';
import type { CallHead } from './engine/protocol.ts';
import type { Question, Reply } from './engine-process.ts';

/** Of all answers of one call; a call that is told more is not recorded. */
const MOST_BYTES = 4 * 1024 * 1024;
/** What an exchange takes beside the bytes of its answer. */
const EXCHANGE_BYTES = 256;

/** Why a call cannot be run again. */
export type Unrecorded = 'too large' | 'it read a secret' | 'the tool opts out';

/** Writes down what a guest asks and is answered. */
export class Recorder {
  readonly #exchanges: Exchange[] = [];
  #bytes = 0;
  #unrecorded: Unrecorded | null;

  constructor(isRecorded = true) {
    this.#unrecorded = isRecorded ? null : 'the tool opts out';
  }

  /** The same answers, written down. */
  around(answer: (question: Question) => Promise<Reply>): (question: Question) => Promise<Reply> {
    return async (question) => {
      const reply = await answer(question);
      this.#note(question, reply);
      return reply;
    };
  }

  /** Keeps nothing of the call, neither what was nor what will be. */
  giveUp(why: Unrecorded): void {
    this.#unrecorded ??= why;
    this.#exchanges.length = 0;
  }

  recordingOf(
    { module, input }: Pick<Recording, 'module' | 'input'>,
    head: CallHead,
    engine?: EngineFacts,
  ): Recording | Unrecorded {
    if (this.#unrecorded !== null) return this.#unrecorded;
    const { tool, functions, counts, limits, startedMs, seed, config } = head;
    return {
      ...{ version: 2, module, exportName: tool, input },
      ...(engine === undefined ? {} : { engine }),
      ...{ functions, counts, limits, startedMs, seed, config },
      exchanges: this.#exchanges,
    };
  }

  #note(question: Question, { result, bytes = new Uint8Array(0) }: Reply): void {
    const name = String(question.head.name);
    this.#bytes += EXCHANGE_BYTES + name.length + bytes.length;
    // Boundary: a guest that asks for nothing again and again does not fill the memory of the gateway either.
    if (this.#bytes > MOST_BYTES) this.giveUp('too large');
    if (this.#unrecorded !== null) return;
    this.#exchanges.push({
      name,
      asked: askedDigest(question),
      result,
      bytes: Buffer.from(bytes).toString('base64'),
    });
  }
}

/** What a question comes to: its name, its numbers, its bytes. */
export function askedDigest({ head, bytes }: Question) {
  const { name, numbers, lengths } = head;
  // Not the canonical form, which has no number that a guest may ask with and JSON does not hold exactly.
  return digestBytes(
    JSON.stringify([String(name), [...(numbers ?? [])], [...(lengths ?? [])], digestBytes(bytes)]),
  );
}

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
