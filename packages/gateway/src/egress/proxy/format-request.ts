import { formatSite } from '../http-url.ts';
import { formatFields } from './fields.ts';
import { formatFraming } from './framing.ts';
import type { PlainRequest } from './request-head.ts';

/** The head that a target gets. It says that the connection ends after the response, so none is used for a second. */
export function formatRequestHead(request: PlainRequest): Buffer {
  const parts = [
    `${request.method} ${request.path} HTTP/1.1\r\n`,
    `Host: ${formatSite(request.asked)}\r\n`,
    formatFields(request.fields),
    formatFraming(request.framing),
    'Connection: close\r\n\r\n',
  ];
  return Buffer.from(parts.join(''), 'latin1');
}
