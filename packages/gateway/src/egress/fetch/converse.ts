import type { Socket } from 'node:net';
import type { Field } from '../proxy/fields.ts';
import type { Response } from '../proxy/response-head.ts';
import { FETCH_BOUNDS, type FetchLimits } from './fetch-limits.ts';
import { fail, give, type Result } from './outcome.ts';
import { type NextPiece, readResponseBody, readResponseHead } from './read-response.ts';
import type { Watch } from './watch.ts';

export type Message = { readonly method: string; readonly head: Buffer; readonly body: Uint8Array | null };

export type Answer = {
  readonly status: number;
  readonly fields: readonly Field[];
  readonly toldLength: string | null;
  readonly body: Uint8Array;
};

export type ConverseTerms = {
  readonly watch: Watch;
  readonly limits: FetchLimits;
  /** Says whether the body of a response is worth reading. */
  readonly wantsBody: (response: Response) => boolean;
};

/** Sends one request over a connection and reads its answer, which may come before all is sent. The connection is gone then. */
export async function converse(
  socket: Socket,
  message: Message,
  terms: ConverseTerms,
): Promise<Result<Answer>> {
  const { watch } = terms;
  const onAbort = () => socket.destroy();
  watch.signal.addEventListener('abort', onAbort, { once: true });
  watch.startIdle();
  try {
    if (watch.failure !== null) return watch.failure;
    void send(socket, message, watch);
    return await receive(socket, message.method, terms);
  } finally {
    watch.signal.removeEventListener('abort', onAbort);
    watch.stopIdle();
    socket.destroy();
  }
}

/** Sends slice by slice, so that a target that does not read is noticed and one that reads slowly is not. */
async function send(socket: Socket, { head, body }: Message, watch: Watch): Promise<void> {
  for (const slice of slicesOf(head, body)) {
    if (socket.destroyed || !watch.pass('bytesOut', slice.length)) return;
    await new Promise<void>((resolve) => socket.write(slice, () => resolve()));
    watch.touch();
  }
}

function* slicesOf(head: Buffer, body: Uint8Array | null): Generator<Uint8Array> {
  yield head;
  const { sliceBytes } = FETCH_BOUNDS;
  for (let at = 0; body !== null && at < body.length; at += sliceBytes)
    yield body.subarray(at, at + sliceBytes);
}

async function receive(socket: Socket, method: string, terms: ConverseTerms): Promise<Result<Answer>> {
  const { watch } = terms;
  const pieces: AsyncIterator<Buffer> = socket[Symbol.asyncIterator]();
  let isBroken = false;
  const next: NextPiece = async () => {
    const piece = await pieces.next().catch(() => {
      isBroken = true;
      return { done: true, value: undefined } as const;
    });
    if (piece.done === true) return null;
    // When this is too much, the socket is destroyed, and the next piece is its end.
    watch.pass('bytesIn', piece.value.length);
    return piece.value;
  };
  const answer = await readAnswer(next, method, terms);
  if (watch.failure !== null) return watch.failure;
  // Boundary: a connection that broke off must not pass for one that ended, or a part for the whole.
  if (!isBroken) return answer;
  return fail('unreachable', 'Cannot read response: the target broke off, expected all of it');
}

async function readAnswer(
  next: NextPiece,
  method: string,
  { watch, limits, wantsBody }: ConverseTerms,
): Promise<Result<Answer>> {
  // Boundary: only a whole head is a sign of life, so a byte now and then does not hold a connection open.
  const start = await readResponseHead(next, method, limits.responseHeaderBytes);
  if (!start.ok) return start;
  const { status, fields, toldLength } = start.value.response;
  if (!wantsBody(start.value.response)) return give({ status, fields, toldLength, body: new Uint8Array(0) });
  watch.touch();
  const nextOfBody: NextPiece = async () => {
    const piece = await next();
    watch.touch();
    return piece;
  };
  const body = await readResponseBody(start.value, nextOfBody, limits);
  return body.ok ? give({ status, fields, toldLength, body: body.value }) : body;
}
