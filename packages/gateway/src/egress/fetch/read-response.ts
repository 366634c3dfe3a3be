import { newBodyReader } from '../proxy/body.ts';
import { type Head, HeadReader } from '../proxy/head-reader.ts';
import { PROXY_BOUNDS } from '../proxy/proxy-limits.ts';
import { judgeStatusLine, parseResponseHead, type Response } from '../proxy/response-head.ts';
import { type BodyLimits, codingOf, newDecoder } from './decompress.ts';
import { type Failure, fail, give, type Result } from './outcome.ts';

/** The next bytes of the target; null when it has said all. */
export type NextPiece = () => Promise<Buffer | null>;

/** A response, and the bytes behind its head that were read with it. */
export type ResponseStart = { readonly response: Response; readonly rest: Buffer };

/** Reads up to the body of the answer. What comes in front of it, such as "100 Continue", is read and left out. */
export async function readResponseHead(
  next: NextPiece,
  method: string,
  responseHeaderBytes: number,
): Promise<Result<ResponseStart>> {
  let rest: Buffer = Buffer.alloc(0);
  let headBytes = responseHeaderBytes;
  for (let interim = 0; interim <= PROXY_BOUNDS.interimResponses; interim += 1) {
    const head = await readHead(next, rest, headBytes);
    if (!head.ok) return head;
    const response = parseResponseHead(head.value.lines, method);
    if (!response.ok) return fail('malformed', response.why);
    rest = head.value.rest;
    // Boundary: all heads together are as long as one may be.
    headBytes -= head.value.bytes;
    if (response.value.status >= 200) return give({ response: response.value, rest });
  }
  return fail('malformed', 'Cannot read response: it puts off its answer again and again, expected one');
}

async function readHead(
  next: NextPiece,
  first: Buffer,
  headBytes: number,
): Promise<Result<Head & { readonly bytes: number }>> {
  // A reader that answers clients tells what is too long from what is malformed.
  const reader = new HeadReader({ headBytes, status: 400, judgeFirst: judgeStatusLine });
  let bytes = 0;
  for (let piece: Buffer | null = first; piece !== null; piece = await next()) {
    bytes += piece.length;
    const head = reader.read(piece);
    if (!head.ok) return fail(head.status === 431 ? 'too-large' : 'malformed', ofResponse(head.why));
    if (head.value !== null) return give({ ...head.value, bytes: bytes - head.value.rest.length });
  }
  return fail('malformed', 'Cannot read response: it ends before its head does, expected all of it');
}

function ofResponse(why: string): string {
  return why.replace(/^Cannot read head:/, 'Cannot read head of response:');
}

/** Reads the body of an answer to its end, and decompresses it on the way. */
export async function readResponseBody(
  { response, rest }: ResponseStart,
  next: NextPiece,
  limits: BodyLimits,
): Promise<Result<Uint8Array>> {
  const { framing, fields } = response;
  const coding = framing.kind === 'none' ? give('identity' as const) : codingOf(fields);
  if (!coding.ok) return coding;
  const body = newBodyReader(framing, 'response');
  const decoder = newDecoder(coding.value, limits);
  try {
    for (let piece: Buffer | null = rest; !body.isDone(); piece = await next()) {
      if (piece === null && framing.kind === 'close') break;
      const data = piece === null ? refuseEnd() : body.read(piece);
      if (!data.ok) return fail('malformed', data.why);
      const failure = await decoder.write(Buffer.concat(data.value));
      if (failure !== null) return failure;
      // Asking for more would wait for a target that has said all.
      if (body.isDone()) break;
    }
    return await decoder.end();
  } finally {
    decoder.destroy();
  }
}

function refuseEnd(): Failure {
  return fail('malformed', 'Cannot read body of response: it stops, expected all of it');
}
