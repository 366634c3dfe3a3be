import { formatSite } from '../http-url.ts';
import { formatFields } from '../proxy/fields.ts';
import type { Message } from './converse.ts';
import type { Errand } from './read-request.ts';

/** Methods for which a server waits for a body, so that one without any says so. */
const WITH_BODY: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH']);

/** What is sent for an errand. The host, the length and the encodings are made here and come from nowhere else. */
export function formatMessage({ url, method, fields, encodings, body }: Errand): Message {
  const length = body === null && !WITH_BODY.has(method) ? null : (body?.length ?? 0);
  const parts = [
    `${method} ${url.path} HTTP/1.1\r\n`,
    `Host: ${formatSite(url)}\r\n`,
    formatFields(fields),
    `Accept-Encoding: ${encodings}\r\n`,
    length === null ? '' : `Content-Length: ${length}\r\n`,
    'Connection: close\r\n\r\n',
  ];
  return { method, head: Buffer.from(parts.join(''), 'latin1'), body };
}
