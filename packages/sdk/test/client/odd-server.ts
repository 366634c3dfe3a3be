import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

/** A request as it came in. */
export type Came = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  /** Resolves when the client has gone away. */
  readonly gone: Promise<void>;
};

/** One answer, or one of the ways not to give it. */
export type Answer = (came: Came, response: ServerResponse) => void | Promise<void>;

export type OddServer = { readonly url: string; readonly came: Came[] };

/** A server on the loopback that gives its answers in turn, and the last one for ever after. Ends with the test. */
export async function serve(...answers: readonly Answer[]): Promise<OddServer> {
  const came: Came[] = [];
  const server = createServer(async (request, response) => {
    const one = await read(request, response);
    came.push(one);
    await answers[Math.min(came.length, answers.length) - 1]?.(one, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, came };
}

async function read(request: IncomingMessage, response: ServerResponse): Promise<Came> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const gone = new Promise<void>((resolve) => response.once('close', resolve));
  const { method = '', url: path = '', headers } = request;
  return { method, path, headers, body: Buffer.concat(chunks).toString('utf8'), gone };
}

/** A document with a status. */
export function says(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  const type = status < 400 ? 'application/json' : 'application/problem+json';
  return (_, response) => {
    response.writeHead(status, { 'content-type': type, ...headers });
    response.end(JSON.stringify(body));
  };
}

/** Hangs up without a word. */
export const hangsUp: Answer = (_, response) => void response.destroy();

/** Breaks off in the middle of a document. */
export const breaksOff: Answer = (_, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
  response.write('{"tools": [', () => response.destroy());
};

/** Never says anything. */
export const isSilent: Answer = () => undefined;

export type Told = readonly [event: string, data: unknown];

/** Events, and how the stream ends: as it should, broken, or never. */
export function streams(told: readonly Told[], ends: 'well' | 'broken' | 'never' = 'well'): Answer {
  return (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    const text = told.map(([event, data]) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`).join('');
    response.write(`: hello\n\n${text}`, () => {
      if (ends === 'well') response.end();
      if (ends === 'broken') response.destroy();
    });
  };
}
