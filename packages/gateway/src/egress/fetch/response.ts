import type { Socket } from 'node:net';
import { accept, sentenceOf } from '../../core/result.ts';
import { newBodyReader } from '../http1/body.ts';
import { type Field, type HttpProblem, rejectBody } from '../http1/fields.ts';
import { type Response, readResponse } from '../http1/response.ts';
import { FETCH_BOUNDS, type FetchLimits } from '../limits.ts';
import { BodyDecoder, type BodyLimits, codingOf } from './decompress.ts';
import { type Fetched, type FetchFailed, fail } from './outcome.ts';
import type { Watch } from './watch.ts';

export type RequestMessage = {
  readonly method: string;
  readonly head: Buffer;
  readonly body: Uint8Array | null;
};

export type FetchAnswer = {
  readonly status: number;
  readonly fields: readonly Field[];
  readonly declaredLength: string | null;
  readonly body: Uint8Array;
};

type ConverseTerms = {
  readonly watch: Watch;
  readonly limits: FetchLimits;
  /** Decides whether the body of a response is worth reading. */
  readonly wantsBody: (response: Response) => boolean;
};

/** Sends one request and reads its answer, which may arrive before everything is sent. Closes the connection. */
export async function converse(
  socket: Socket,
  message: RequestMessage,
  terms: ConverseTerms,
): Promise<Fetched<FetchAnswer>> {
  const { watch } = terms;
  const onAbort = () => socket.destroy();
  watch.signal.addEventListener('abort', onAbort, { once: true });
  watch.startIdle();
  try {
    if (watch.failure !== null) return watch.failure;
    void send(socket, message, watch);
    const answer = await receive(socket, message.method, terms);
    return watch.failure ?? answer;
  } finally {
    watch.signal.removeEventListener('abort', onAbort);
    watch.stopIdle();
    socket.destroy();
  }
}

/** Sends slice by slice, so that a target that does not read is noticed and one that reads slowly is not. */
async function send(socket: Socket, { head, body }: RequestMessage, watch: Watch): Promise<void> {
  for (const slice of slicesOf(head, body)) {
    if (socket.destroyed || !watch.pass('bytesOut', slice.length)) return;
    await new Promise<void>((resolve) => socket.write(slice, () => resolve()));
    watch.touch();
  }
}

function* slicesOf(head: Buffer, body: Uint8Array | null): Generator<Uint8Array> {
  yield head;
  const { writeBytes } = FETCH_BOUNDS;
  for (let at = 0; body !== null && at < body.length; at += writeBytes)
    yield body.subarray(at, at + writeBytes);
}

async function receive(
  socket: Socket,
  method: string,
  { watch, limits, wantsBody }: ConverseTerms,
): Promise<Fetched<FetchAnswer>> {
  const response = await readResponse(socket, method, {
    headBytes: limits.responseHeaderBytes,
    // Boundary: only a whole head is a sign of life, so a slow trickle of bytes does not keep a connection open.
    withinMs: limits.wholeMs,
    // If this exceeds the limit, the socket is destroyed.
    onBytes: (bytes) => watch.pass('bytesIn', bytes),
  });
  if (response === null) return socket.errored === null ? NO_HEAD : BROKEN;
  if (!response.ok) return malformed(response.problem);
  const { status, fields, declaredLength } = response.value;
  const body = wantsBody(response.value)
    ? await readBody(socket, response.value, watch, limits)
    : accept(new Uint8Array(0));
  return body.ok ? accept({ status, fields, declaredLength, body: body.value }) : body;
}

const NO_HEAD = fail('malformed', 'Cannot use response: it ends before its head does, expected all of it');
/** Boundary: a broken connection must not pass for a finished one, or a part for the whole. */
const BROKEN = fail('unreachable', 'Cannot use response: the target broke off, expected all of it');

function malformed(problem: HttpProblem): FetchFailed {
  return fail(problem.isTooLong === true ? 'too-large' : 'malformed', sentenceOf(problem));
}

/** Reads the body of an answer to its end, and decompresses it on the way. */
async function readBody(
  socket: Socket,
  { framing, fields }: Response,
  watch: Watch,
  limits: BodyLimits,
): Promise<Fetched<Uint8Array>> {
  const coding = framing.kind === 'none' ? accept('identity' as const) : codingOf(fields);
  if (!coding.ok) return coding;
  const body = newBodyReader(framing, 'response');
  const decoder = new BodyDecoder(coding.value, limits);
  const pieces = piecesOf(socket, watch);
  try {
    // Reading on after the end would wait for a target that has sent all.
    while (!body.isDone()) {
      const piece = await pieces.next();
      if (piece.done === true && piece.value.isBroken) return BROKEN;
      if (piece.done === true && framing.kind === 'close') break;
      const data =
        piece.done === true ? rejectBody('response', 'it stops', 'all of it') : body.read(piece.value);
      if (!data.ok) return malformed(data.problem);
      const failure = await decoder.write(Buffer.concat(data.value));
      if (failure !== null) return failure;
    }
    return await decoder.end();
  } finally {
    decoder.destroy();
  }
}

/** The next pieces of the target, each of which is a sign of life, and whether they ended properly. */
async function* piecesOf(
  socket: Socket,
  watch: Watch,
): AsyncGenerator<Buffer, { readonly isBroken: boolean }> {
  try {
    watch.touch();
    for await (const piece of socket) {
      watch.touch();
      watch.pass('bytesIn', piece.length);
      yield piece;
    }
    return { isBroken: false };
  } catch {
    return { isBroken: true };
  }
}
