/** How a call of a module ended, in the words of the code table. Pure. */
import type { Json } from '../../core/json.ts';
import type { FailedCode } from '../../core/outcome.ts';
import { parseStrict } from '../../core/strict-json.ts';
import type { RunEnding } from '../tier.ts';
import type { DoneHead, Refused } from './engine-words.ts';

/** What the engine calls it, and what its caller is told. */
const CODES: ReadonlyMap<string, FailedCode> = new Map(
  Object.entries({
    fuel: 'tier/out-of-fuel',
    memory: 'tier/out-of-memory',
    limit: 'tier/invalid-module',
    malformed: 'tier/invalid-module',
    invalid: 'tier/invalid-module',
    feature: 'tier/invalid-module',
    link: 'tier/invalid-module',
    export: 'tier/invalid-module',
  }),
);
const MOST_DEPTH = 128;
const MOST_MESSAGE_CHARS = 2_000;

export function endingOf(head: DoneHead, bytes: Uint8Array, outputBytes: number): RunEnding {
  if (head.ending === 'trapped') return trapped(head, outputBytes);
  const parsed = parseStrict(bytes, { maxBytes: outputBytes, maxDepth: MOST_DEPTH });
  if (head.ending === 'failed') return reported(parsed.ok ? parsed.value : null);
  if (parsed.ok) return { status: 'ok', output: parsed.value };
  const why = parsed.message.replace('Cannot read JSON', 'it is no JSON');
  return failed('tier/invalid-output', `Cannot accept the output of the module: ${why}`);
}

function trapped({ code = '', message = '', detail }: DoneHead, outputBytes: number): RunEnding {
  if (code === 'limit' && detail === 'mostBytes')
    return failed('tier/output-exceeded', `Cannot return output: it has more than ${outputBytes} bytes`);
  return refusedEnding({ code, message });
}

/** What the engine says against a module, or of a guest that it stopped. */
export function refusedEnding({ code, message }: Refused): RunEnding {
  return failed(CODES.get(code) ?? 'tier/trapped', shorten(message));
}

/** What a tool says of its own failure; a report that makes no sense is one all the same. */
function reported(report: Json): RunEnding {
  const { code, message } = (typeof report === 'object' && report !== null ? report : {}) as Record<
    string,
    Json
  >;
  const what = typeof message === 'string' ? message : 'no reason given';
  const kind = typeof code === 'string' ? ` (${shorten(code)})` : '';
  return failed('tier/tool-error', `Cannot finish call: the tool reported "${shorten(what)}"${kind}`);
}

export function failed(code: FailedCode, message: string): RunEnding {
  return { status: 'failed', code, message, output: null, truncated: false };
}

function shorten(text: string): string {
  return text.slice(0, MOST_MESSAGE_CHARS);
}
