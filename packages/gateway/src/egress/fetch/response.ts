import type { Socket } from 'node:net';
import { accept, sentenceOf } from '../../core/result.ts';
import {
  checkStatusLine,
  type Field,
  type HeadLines,
  HeadReader,
  type HttpProblem,
  type HttpResult,
  newBodyReader,
  type Response,
  readFinalHead,
  rejectBody,
} from '../http1/index.ts';
import { FETCH_BOUNDS, type FetchLimits } from '../limits.ts';
import { type BodyLimits, codingOf, newDecoder } from './decompress.ts';
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
    return await receive(socket, message.method, terms);
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

async function receive(socket: Socket, method: string, terms: ConverseTerms): Promise<Fetched<FetchAnswer>> {
  const { watch } = terms;
  const pieces: AsyncIterator<Buffer> = socket[Symbol.asyncIterator]();
  let isBroken = false;
  const next: NextPiece = async () => {
    const piece = await pieces.next().catch(() => {
      isBroken = true;
      return { done: true, value: undefined } as const;
    });
    if (piece.done === true) return null;
    // If this exceeds the limit, the socket is destroyed, and the next piece is its end.
    watch.pass('bytesIn', piece.value.length);
    return piece.value;
  };
  const answer = await readAnswer(next, method, terms);
  if (watch.failure !== null) return watch.failure;
  // Boundary: a broken connection must not pass for a finished one, or a part for the whole.
  if (!isBroken) return answer;
  return fail('unreachable', 'Cannot use response: the target broke off, expected all of it');
}

async function readAnswer(
  next: NextPiece,
  method: string,
  { watch, limits, wantsBody }: ConverseTerms,
): Promise<Fetched<FetchAnswer>> {
  // Boundary: only a whole head is a sign of life, so a slow trickle of bytes does not keep a connection open.
  const start = await readResponseHead(next, method, limits.responseHeaderBytes);
  if (!start.ok) return start;
  const { status, fields, declaredLength } = start.value.response;
  if (!wantsBody(start.value.response))
    return accept({ status, fields, declaredLength, body: new Uint8Array(0) });
  watch.touch();
  const nextOfBody: NextPiece = async () => {
    const piece = await next();
    watch.touch();
    return piece;
  };
  const body = await readResponseBody(start.value, nextOfBody, limits);
  return body.ok ? accept({ status, fields, declaredLength, body: body.value }) : body;
}

/** The next bytes of the target; null at its end. */
type NextPiece = () => Promise<Buffer | null>;

/** A response, and the bytes behind its head that were read with it. */
type ResponseStart = { readonly response: Response; readonly rest: Buffer };

/** Reads up to the body of the answer. What comes in front of it, such as "100 Continue", is read and left out. */
async function readResponseHead(
  next: NextPiece,
  method: string,
  responseHeaderBytes: number,
): Promise<Fetched<ResponseStart>> {
  let rest: Buffer = Buffer.alloc(0);
  let headBytes = responseHeaderBytes;
  const nextHead = async (): Promise<HttpResult<HeadLines> | null> => {
    const reader = new HeadReader({ side: 'response', headBytes, checkFirst: checkStatusLine });
    let bytes = 0;
    for (let piece: Buffer | null = rest; piece !== null; piece = await next()) {
      bytes += piece.length;
      const head = reader.read(piece);
      if (!head.ok) return head;
      if (head.value === null) continue;
      rest = head.value.rest;
      // Boundary: all heads together are as long as one may be.
      headBytes -= bytes - rest.length;
      return accept(head.value.lines);
    }
    return null;
  };
  const response = await readFinalHead(method, nextHead);
  if (response === null)
    return fail('malformed', 'Cannot use response: it ends before its head does, expected all of it');
  return response.ok ? accept({ response: response.value, rest }) : malformed(response.problem);
}

function malformed(problem: HttpProblem): FetchFailed {
  return fail(problem.isTooLong === true ? 'too-large' : 'malformed', sentenceOf(problem));
}

/** Reads the body of an answer to its end, and decompresses it on the way. */
async function readResponseBody(
  { response, rest }: ResponseStart,
  next: NextPiece,
  limits: BodyLimits,
): Promise<Fetched<Uint8Array>> {
  const { framing, fields } = response;
  const coding = framing.kind === 'none' ? accept('identity' as const) : codingOf(fields);
  if (!coding.ok) return coding;
  const body = newBodyReader(framing, 'response');
  const decoder = newDecoder(coding.value, limits);
  try {
    for (let piece: Buffer | null = rest; !body.isDone(); piece = await next()) {
      if (piece === null && framing.kind === 'close') break;
      const data = piece === null ? rejectBody('response', 'it stops', 'all of it') : body.read(piece);
      if (!data.ok) return malformed(data.problem);
      const failure = await decoder.write(Buffer.concat(data.value));
      if (failure !== null) return failure;
      // Reading on would wait for a target that has sent all.
      if (body.isDone()) break;
    }
    return await decoder.end();
  } finally {
    decoder.destroy();
  }
}
