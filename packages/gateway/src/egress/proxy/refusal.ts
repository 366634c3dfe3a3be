/** Why a request is not served: the status of the answer and its one sentence. */
export type Refused = { readonly ok: false; readonly status: number; readonly why: string };

/** What a reader of this folder gives: the value, or the answer that its sender deserves. */
export type Read<T> = { readonly ok: true; readonly value: T } | Refused;

/** Headers that an answer of this status has to have. */
const EXTRA: Readonly<Record<number, string>> = {
  405: 'Allow: CONNECT, GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n',
  407: 'Proxy-Authenticate: Basic realm="palisade"\r\n',
};
const REASON_CHARS = 400;

export function found<T>(value: T): Read<T> {
  return { ok: true, value };
}

export function turnDown(status: number, why: string): Refused {
  return { ok: false, status, why };
}

/** The whole answer. Clients that hide the body of a refused tunnel show its first line, so the sentence is in both. */
export function formatRefusal({ status, why }: Refused): Buffer {
  // Boundary: a sentence repeats what a client or a target sent; no byte of it may end the line.
  const reason = why.replace(/[^ -~]/g, '?').slice(0, REASON_CHARS);
  const body = `${why}\n`;
  const parts = [
    `HTTP/1.1 ${status} ${reason}\r\n`,
    'Content-Type: text/plain; charset=utf-8\r\n',
    `Content-Length: ${Buffer.byteLength(body)}\r\n`,
    `X-Palisade-Egress: ${status === 403 ? 'denied' : 'refused'}\r\n`,
    EXTRA[status] ?? '',
    'Connection: close\r\n\r\n',
    body,
  ];
  return Buffer.from(parts.join(''));
}
