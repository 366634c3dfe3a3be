/** What is needed to replay a call, and the fate of the request that was pending when it ended. */
import { digestBytes } from '../../core/digest.ts';
import type { EngineFacts, Exchange, Recording } from '../../core/recording.ts';
import { ABI_ERRORS } from './engine/abi.table.ts';
import type { CallHead } from './engine/protocol.ts';
import type { GuestRequest, HostReply } from './engine-process.ts';

/** Of all answers of one call; a call with longer ones is not recorded. */
const MOST_BYTES = 4 * 1024 * 1024;
/** The overhead of an exchange beside the bytes of its answer. */
const EXCHANGE_BYTES = 256;

type Unrecorded = 'too large' | 'it read a secret' | 'the tool opts out';

type Answer = (request: GuestRequest) => Promise<HostReply>;

export class Recorder {
  readonly #exchanges: Exchange[] = [];
  #bytes = 0;
  #unrecorded: Unrecorded | null;

  constructor(isRecorded = true) {
    this.#unrecorded = isRecorded ? null : 'the tool opts out';
  }

  around(answer: Answer): Answer {
    return async (request) => {
      const reply = await answer(request);
      this.#note(request, reply);
      return reply;
    };
  }

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

  #note(request: GuestRequest, { result, bytes = new Uint8Array(0) }: HostReply): void {
    const name = String(request.head.name);
    this.#bytes += EXCHANGE_BYTES + name.length + bytes.length;
    // Boundary: even a guest that repeats empty requests cannot fill the memory of the gateway.
    if (this.#bytes > MOST_BYTES) this.giveUp('too large');
    if (this.#unrecorded !== null) return;
    this.#exchanges.push({
      name,
      asked: requestDigest(request),
      result,
      bytes: Buffer.from(bytes).toString('base64'),
    });
  }
}

export function requestDigest({ head, bytes }: GuestRequest) {
  const { name, numbers, lengths } = head;
  // Not the canonical form, which cannot represent every number of a request exactly.
  return digestBytes(
    JSON.stringify([String(name), [...(numbers ?? [])], [...(lengths ?? [])], digestBytes(bytes)]),
  );
}

/** The fate of a request whose guest never got the answer. */
export type Interrupted = {
  readonly name: string;
  /** Done although the guest never got the answer; refused, so that nothing was done; or unknown. */
  readonly fate: 'done' | 'refused' | 'unknown';
};

/** Errors after which nothing was done, whatever the request. */
const REFUSALS: ReadonlySet<number> = new Set(
  (['denied', 'invalid', 'full', 'missing', 'conflict'] as const).map((name) => ABI_ERRORS[name].code),
);

/** The request of a guest that is being answered; there is at most one. */
export class PendingRequest {
  #name: string | null = null;
  #answered: Promise<HostReply | null> = Promise.resolve(null);

  around(answer: Answer): Answer {
    return (request) => {
      this.#name = String(request.head.name);
      const answered = answer(request);
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

  /** Waits until nothing is pending; returns the request that was pending when it was called, and its fate. */
  async leave(): Promise<Interrupted | null> {
    const name = this.#name;
    const reply = await this.#answered;
    return name === null ? null : { name, fate: fateOf(name, reply) };
  }
}

function fateOf(name: string, reply: HostReply | null): Interrupted['fate'] {
  if (reply === null) return 'unknown';
  if (reply.result >= 0) return 'done';
  // A request that was interrupted may still have arrived.
  return name === 'http_request' && !REFUSALS.has(reply.result) ? 'unknown' : 'refused';
}
