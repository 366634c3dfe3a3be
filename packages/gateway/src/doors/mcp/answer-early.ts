import type { Readable, Writable } from 'node:stream';
import { isJsonObject, type Json } from '../../core/json.ts';
import { discovery, greeting, MODERN_VERSION } from './greeting.ts';
import { type MessageId, readMessage } from './message.ts';

/*
 * Clients wait for the answer to `initialize` or `server/discover` at each of their starts, and give up on servers that
 * are slow: one that gets no answer to the latter takes the server for an older one. The answer
 * depends on nothing that takes long, so it is written before the SDK is loaded and the gateway is opened. What was read
 * is put back: the SDK sees the same message, and its equal answer to it is left out (see `stdio.ts`). So there is one
 * reader of the protocol, and this only runs ahead of it. A message of any other form is left to it altogether.
 */

const NEWLINE = 0x0a;
/** What a client says of itself is short. */
const LIMITS = { maxBytes: 64 * 1024, maxDepth: 16 };
/** A client that writes later than this waits until everything is loaded. */
const WAIT_MS = 100;

/** Answers the first message if it is one of these requests; resolves with its id, or null where it was not answered. */
export async function answerEarly(
  stdin: Readable,
  stdout: Writable,
  version: string,
  waitMs = WAIT_MS,
): Promise<MessageId | null> {
  const read = await firstBytes(stdin, waitMs);
  const end = read.indexOf(NEWLINE);
  const asked = end === -1 ? null : questionIn(read.subarray(0, end), version);
  if (read.length > 0) stdin.unshift(read);
  if (asked === null) return null;
  const { id, result } = asked;
  const text = JSON.stringify({ result, jsonrpc: '2.0', id });
  // What else happens here takes long and leaves no time for writing. Who no longer reads is noticed by the next answer.
  const ignored = () => undefined;
  stdout.on('error', ignored);
  await new Promise<void>((resolve) => stdout.write(`${text}\n`, () => resolve()));
  stdout.off('error', ignored);
  return id;
}

/** What has arrived when there is a whole line, too much, no more to come, or no time left. */
function firstBytes(stdin: Readable, waitMs: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      stdin.off('readable', take);
      stdin.off('end', finish);
      stdin.off('error', finish);
      resolve(stdin.readableEnded ? Buffer.alloc(0) : Buffer.concat(chunks));
    };
    const take = () => {
      for (let chunk: Buffer | null = stdin.read(); chunk !== null; chunk = stdin.read()) {
        chunks.push(chunk);
        const bytes = chunks.reduce((sum, { length }) => sum + length, 0);
        if (chunk.includes(NEWLINE) || bytes > LIMITS.maxBytes) return finish();
      }
    };
    const timer = setTimeout(finish, waitMs);
    stdin.on('readable', take);
    stdin.once('end', finish);
    stdin.once('error', finish);
  });
}

/** Boundary: only a request of exactly the known form is answered ahead of the SDK, which checks it again. */
function questionIn(line: Uint8Array, version: string) {
  const read = readMessage(line, LIMITS);
  if (!read.ok || !('method' in read.value) || !('id' in read.value)) return null;
  const { id, method } = read.value;
  const params = tableOf((read.value.params ?? null) as Json);
  if (method === 'initialize') {
    const { protocolVersion, capabilities, clientInfo } = params;
    if (typeof protocolVersion !== 'string' || !isClient(capabilities, clientInfo)) return null;
    return { id, result: greeting(protocolVersion, version) };
  }
  const said = (key: string) => tableOf(params._meta)[`io.modelcontextprotocol/${key}`];
  const isModern = method === 'server/discover' && said('protocolVersion') === MODERN_VERSION;
  if (!isModern || !isClient(said('clientCapabilities'), said('clientInfo'))) return null;
  return { id, result: discovery(version) };
}

function isClient(capabilities: Json | undefined, clientInfo: Json | undefined): boolean {
  const { name, version } = tableOf(clientInfo);
  return (
    isJsonObject(capabilities ?? null) &&
    Object.values(tableOf(capabilities)).every((each) => isJsonObject(each)) &&
    typeof name === 'string' &&
    typeof version === 'string'
  );
}

/** The members of an object; none of anything else. */
function tableOf(value: Json | undefined): Readonly<Record<string, Json | undefined>> {
  return value !== undefined && isJsonObject(value) ? value : {};
}
