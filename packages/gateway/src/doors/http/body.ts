import type { IncomingMessage, ServerResponse } from 'node:http';
import { quote } from '../../core/hostile-text.ts';
import { TurnedAway } from './problem.ts';

/** The media type alone, in lower case: `Application/JSON; charset=utf-8` is `application/json`. */
function mediaTypeOf(header: string | undefined): string {
  return (header ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

/** Boundary: only a body that says it is of the type is read as that; a form of a web page can say neither. */
export function requireType({ headers }: IncomingMessage, expected: string): void {
  const type = headers['content-type'];
  if (mediaTypeOf(type) !== expected)
    throw unsupported(`the body is ${type === undefined ? 'of no type' : quote(type)}`, expected);
  const encoding = headers['content-encoding'] ?? 'identity';
  // Boundary: what is packed can be a thousand times larger than it looks.
  if (encoding !== 'identity') throw unsupported(`the body is encoded as ${quote(encoding)}`, expected);
  const charset = /;\s*charset\s*=\s*"?([^";\s]+)/i.exec(type ?? '')?.[1] ?? 'utf-8';
  if (charset.toLowerCase() !== 'utf-8')
    throw unsupported(`the body is in the character set ${quote(charset)}`, `${expected} in UTF-8`);
}

/** All bytes of the body; more than `maxBytes` are refused as soon as that is known, and not read. */
export function readBody(
  { request, response }: { readonly request: IncomingMessage; readonly response: ServerResponse },
  maxBytes: number,
): Promise<Buffer> {
  // Boundary: a body that says it is too large is not begun.
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return Promise.reject(tooLarge(maxBytes));
  if (request.headers.expect !== undefined) response.writeContinue();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      // Boundary: one in chunks does not say how large it is.
      if (bytes > maxBytes) {
        request.removeAllListeners('data');
        request.pause();
        reject(tooLarge(maxBytes));
      } else chunks.push(chunk);
    });
    request.once('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    // The sender is gone: nobody will see the answer.
    request.once('error', () => reject(new TurnedAway('door/timed-out', CUT_OFF)));
  });
}

const CUT_OFF = 'Cannot read the body: it ended before its end';

function tooLarge(maxBytes: number): TurnedAway {
  return new TurnedAway(
    'door/too-large',
    `Cannot read the body: it is larger than allowed, expected at most ${maxBytes} bytes`,
  );
}

function unsupported(what: string, expected: string): TurnedAway {
  return new TurnedAway('door/unsupported-media', `Cannot read the body: ${what}, expected ${expected}`);
}
