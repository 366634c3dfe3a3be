import type { Connection } from './connection.ts';
import { Deadline } from './deadline.ts';
import { PalisadeError, readProblem, retryAfterOf } from './palisade-error.ts';

/** One request as it goes out. */
export type Request = {
  readonly method: string;
  readonly url: URL;
  readonly accept: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Blob | null;
  readonly signal: AbortSignal | null;
  /** How long it may be silent. */
  readonly timeoutMs: number;
};

/** A successful response that is not read yet. */
export type Reply = {
  readonly type: string;
  /** The body as it comes; throws a PalisadeError where it breaks off. */
  readonly chunks: AsyncIterable<Uint8Array>;
  /** Releases the connection; must be called, and may be called twice. */
  readonly close: () => void;
};

/** More than the largest document has. */
const MAX_REPLY_BYTES = 128 * 1024 * 1024;

/** Sends a request once. Returns a successful response, or throws a PalisadeError or the reason of the signal. */
export async function openReply(connection: Connection, request: Request): Promise<Reply> {
  const deadline = new Deadline(request.timeoutMs, request.signal);
  try {
    const response = await fetchOnce(connection, request, deadline);
    deadline.touch();
    const reply = replyOf(response, deadline, request);
    if (response.ok) return reply;
    throw await failureOf(response, reply);
  } catch (error) {
    deadline.end();
    throw error;
  }
}

async function fetchOnce(connection: Connection, request: Request, deadline: Deadline): Promise<Response> {
  const { method, url, accept, headers, body, signal } = request;
  signal?.throwIfAborted();
  const authorization = `Bearer ${await connection.token()}`;
  try {
    return await connection.fetch(url, {
      method,
      body,
      signal: deadline.signal,
      headers: { accept, authorization, ...headers },
      // Boundary: the token goes to the one gateway that was named, and no cookie goes with it.
      redirect: 'error',
      credentials: 'omit',
      cache: 'no-store',
      referrerPolicy: 'no-referrer',
    });
  } catch (error) {
    throw brokenOff(error, deadline, request);
  }
}

function replyOf(response: Response, deadline: Deadline, request: Request): Reply {
  const reader = response.body?.getReader();
  const letGo = () => void reader?.cancel().catch(() => undefined);
  // A body of the platform may not observe the signal.
  deadline.signal.addEventListener('abort', letGo);
  const close = () => {
    deadline.end();
    deadline.signal.removeEventListener('abort', letGo);
    letGo();
  };
  async function* chunks() {
    try {
      while (reader !== undefined) {
        const { done, value } = await reader.read();
        if (deadline.signal.aborted) throw deadline.signal.reason;
        if (done) break;
        deadline.touch();
        yield value;
      }
    } catch (error) {
      throw brokenOff(error, deadline, request);
    } finally {
      close();
    }
  }
  const [type = ''] = (response.headers.get('content-type') ?? '').split(';');
  return { type: type.trim().toLowerCase(), chunks: chunks(), close };
}

/** Distinguishes what ended it: the user, the time, or the network. */
function brokenOff(error: unknown, deadline: Deadline, { method, url, signal }: Request): unknown {
  if (signal?.aborted) return signal.reason;
  const operation = `${method} ${url.pathname}`;
  if (deadline.isLate) {
    const detail = `Cannot finish ${operation}: no data arrived for ${deadline.idleMs} ms`;
    return new PalisadeError({ code: 'client/timed-out', detail });
  }
  const { message, cause } = error instanceof Error ? error : new Error(String(error));
  const why = cause instanceof Error ? `${message}: ${cause.message}` : message;
  const remedy = `See whether the gateway runs at ${url.origin}.`;
  const detail = `Cannot finish ${operation}: ${why}`;
  return new PalisadeError({ code: 'client/unreachable', detail, remedy }, { cause: error });
}

/** The error in a failed response, of a gateway or of a proxy before it. */
async function failureOf({ status, headers }: Response, reply: Reply): Promise<PalisadeError> {
  const retryAfterMs = retryAfterOf(headers);
  const text = await readText(reply);
  const problem = readProblem(parse(text), { status, retryAfterMs });
  if (problem !== null) return problem;
  const is = reply.type === '' ? 'nothing more' : `"${reply.type}"`;
  return new PalisadeError({
    code: 'client/invalid-reply',
    detail: `Cannot read the reply: it is status ${status} with ${is}, expected problem+json of a gateway`,
    remedy: 'See whether the url is that of the gateway, and what proxies there are before it.',
    status,
    retryAfterMs,
  });
}

/** The whole body as text. */
export async function readText(reply: Reply): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of reply.chunks) {
    bytes += chunk.length;
    // Boundary: a reply without an end is aborted before it fills the memory.
    if (bytes > MAX_REPLY_BYTES) throw invalidReply(`it has more than ${MAX_REPLY_BYTES} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** The whole body as JSON. Its shape is trusted, as the gateway is. */
export async function readJson<T = unknown>(reply: Reply): Promise<T> {
  const value = parse(await readText(reply));
  if (value === undefined) throw invalidReply(`it is "${reply.type}", and no JSON`);
  return value as T;
}

/** The whole body. */
export async function readBytes(reply: Reply): Promise<Uint8Array> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const chunk of reply.chunks) {
    bytes += chunk.length;
    if (bytes > MAX_REPLY_BYTES) throw invalidReply(`it has more than ${MAX_REPLY_BYTES} bytes`);
    chunks.push(new Uint8Array(chunk));
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

export function invalidReply(is: string): PalisadeError {
  const detail = `Cannot read the reply: ${is}, expected that of a gateway`;
  return new PalisadeError({ code: 'client/invalid-reply', detail });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
