import { answerEarly } from './doors/mcp/answer-early.ts';
import type { MessageId } from './doors/mcp/message.ts';
import { VERSION } from './version.ts';

/* Loaded before the rest of the program where an MCP client starts it, and bundled without that: the client waits for this. */

/** A client writes at once; one that does not is answered when the program is loaded. */
const WAIT_MS = 20;

/** Answers the first request of the client on standard input; the id of that request, or null where none was answered. */
export function answerFirst(): Promise<MessageId | null> {
  return answerEarly(process.stdin, process.stdout, VERSION, WAIT_MS);
}
