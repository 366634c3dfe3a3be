import { request } from 'node:http';
import type { Duplex, Readable, Writable } from 'node:stream';
import type { CallSource } from '../../core/call.ts';
import { Lines } from '../../core/lines.ts';
import type { Principal } from '../../core/principal.ts';
import { Conversation } from '../mcp/conversation.ts';
import type { MessageId } from '../mcp/message.ts';
import { identityHeaders, LOCAL_MCP } from './local-client.ts';

/*
 * An MCP client whose server is the daemon of the state directory: bytes go from standard input to the local socket, and
 * lines from there to standard output. Nothing is taken from standard input before the daemon has agreed, so that a process
 * which it does not serve can serve the client itself. Messages are listened to, so that this process can also go on with
 * the client when the daemon ends first.
 */

export type Relayed = {
  readonly socketPath: string;
  readonly principal: Principal;
  /** Of --device and --channel: the word of the operator who wrote the command line. */
  readonly place: Pick<CallSource, 'device' | 'channel'>;
  readonly version: string;
  readonly cwd: string;
  /** Of --workspace, as absolute paths. */
  readonly workspaces: readonly string[];
  /** The id of the request that the client has an answer to already; null where it has none. */
  readonly answered: MessageId | null;
  readonly stdin: Readable;
  readonly stdout: Writable;
};

/** A daemon that does not agree by then is stuck: the process serves the client itself. */
const AGREE_WITHIN_MS = 1_000;

/** No message is longer: the daemon takes none that is. */
const MAX_LINE_BYTES = 256 * 1024 * 1024;

/** `refused`: no daemon serves this client. `ended`: the client left. `lost`: the daemon did. */
export type RelayEnding =
  | { readonly kind: 'refused' }
  | { readonly kind: 'ended' }
  | { readonly kind: 'lost'; readonly goOn: GoOn };

/**
 * Answers what the daemon left open, and puts back what the next server of this client has to read; returns the id of the
 * request that it must not answer again. Undefined: the client cannot be served any more.
 */
type GoOn = () => MessageId | null | undefined;

/** Serves the client through the daemon until its input ends or the signal fires; by then its calls are on record. */
export function relayToDaemon(relayed: Relayed, signal: AbortSignal): Promise<RelayEnding> {
  const { socketPath, principal, place, version, cwd, workspaces, answered } = relayed;
  const query = new URLSearchParams({ version, cwd });
  for (const each of workspaces) query.append('workspace', each);
  if (answered !== null) query.set('answered', JSON.stringify(answered));
  return new Promise((resolve) => {
    const asked = request({
      socketPath,
      path: `${LOCAL_MCP.path}?${query}`,
      agent: false,
      headers: {
        host: 'localhost',
        connection: 'Upgrade',
        upgrade: LOCAL_MCP.protocol,
        ...identityHeaders(principal, place),
      },
    });
    asked.once('error', () => resolve({ kind: 'refused' }));
    asked.setTimeout(AGREE_WITHIN_MS, () => asked.destroy());
    asked.once('response', (response) => {
      response.resume();
      resolve({ kind: 'refused' });
    });
    asked.once('upgrade', (_response, socket, head) => {
      socket.setTimeout(0);
      if (head.length > 0) socket.unshift(head);
      resolve(relay(relayed, socket, signal));
    });
    asked.end();
  });
}

/** Passes everything on between a client and the daemon until one of them leaves. */
function relay({ stdin, stdout, answered }: Relayed, socket: Duplex, signal: AbortSignal) {
  const conversation = new Conversation(answered);
  const fromClient = new Lines(MAX_LINE_BYTES, {
    onLine: (line) => conversation.sent(line),
    onTooLong: () => undefined,
  });
  // Whole lines only: after half a line of the daemon the client could read nothing else.
  const fromDaemon = new Lines(MAX_LINE_BYTES, {
    onLine: (line) => {
      conversation.received(line);
      stdout.write(Buffer.concat([line, NEWLINE]));
    },
    onTooLong: () => undefined,
  });
  const listen = (chunk: Uint8Array) => fromClient.push(chunk);
  return new Promise<RelayEnding>((resolve) => {
    let hasLeft = false;
    const leave = () => {
      hasLeft = true;
      stdin.unpipe(socket);
      socket.end();
    };
    stdin.once('end', leave).once('close', leave);
    signal.addEventListener('abort', leave, { once: true });
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Uint8Array) => {
      fromDaemon.push(chunk);
      if (!stdout.writableNeedDrain) return;
      socket.pause();
      stdout.once('drain', () => socket.resume());
    });
    socket.once('close', () => {
      stdin.unpipe(socket).pause();
      stdin.off('data', listen).off('end', leave).off('close', leave);
      signal.removeEventListener('abort', leave);
      if (hasLeft) return resolve({ kind: 'ended' });
      resolve({ kind: 'lost', goOn: () => goOn(conversation, fromClient.unfinished, { stdin, stdout }) });
    });
    if (signal.aborted || stdin.readableEnded) leave();
    else stdin.on('data', listen).pipe(socket);
  });
}

const NEWLINE = Buffer.from('\n');

function goOn(
  conversation: Conversation,
  unfinished: Uint8Array,
  { stdin, stdout }: Pick<Relayed, 'stdin' | 'stdout'>,
): ReturnType<GoOn> {
  for (const error of conversation.unanswered()) stdout.write(`${JSON.stringify(error)}\n`);
  const reopening = conversation.reopening();
  if (reopening === null) return undefined;
  const { lines, answered } = reopening;
  stdin.unshift(Buffer.concat([...lines.flatMap((line) => [line, NEWLINE]), unfinished]));
  return answered;
}
