/** One call of a linked component: text in, text or a failure out, as a guest of the ABI would have ended. */
import { callLifted, type Pool, type Usage, WasmError } from '@palisade/wasm';
import type { DoneHead } from '../engine-words.ts';
import { RUN_NAME, RUN_TYPE } from '../world/world.table.ts';
import type { CallContext } from './call-context.ts';
import { type Failure, GuestExit } from './wasi-acts.ts';

export type ComponentDone = { readonly head: DoneHead; readonly bytes: Uint8Array };

type Returned =
  | { readonly tag: 'ok'; readonly value: string }
  | { readonly tag: 'error'; readonly value: Failure };

const NO_BYTES = new Uint8Array(0);

/** Runs the tool of the call in a new guest; what ends it otherwise is thrown as the engine throws it. */
export function runComponent(pool: Pool, context: CallContext, input: Uint8Array): ComponentDone {
  const { value: returned, ...usage } = visit(pool, context, Buffer.from(input).toString('utf8'));
  const { outputBytes } = context.head.limits;
  const used = { ...usage, isLogCut: context.isLogCut };
  if (returned.tag === 'ok') {
    const bytes = Buffer.from(returned.value);
    // Boundary: an output is as long as it may be, whatever a component returns.
    if (bytes.length > outputBytes) throw tooLong(bytes.length, outputBytes, usage);
    return { head: { ending: 'returned', ...used }, bytes };
  }
  const { code, message } = returned.value;
  const report = Buffer.from(JSON.stringify({ code, message }));
  // A report that is longer than an output may be is one without a reason.
  return { head: { ending: 'failed', ...used }, bytes: report.length > outputBytes ? NO_BYTES : report };
}

function visit(pool: Pool, context: CallContext, text: string): Usage & { readonly value: Returned } {
  const { tool, limits } = context.head;
  try {
    return pool.visit(
      { fuel: limits.fuel, context },
      (guest) => callLifted(guest, RUN_NAME, RUN_TYPE, [tool, text]) as Returned,
    );
  } catch (error) {
    // A guest that exited has failed, with what it used until then; everything else goes on.
    const isExit = error instanceof WasmError && error.code === 'host' && error.cause instanceof GuestExit;
    if (!isExit || error.usage === undefined) throw error;
    return { ...error.usage, value: { tag: 'error', value: (error.cause as GuestExit).failure } };
  } finally {
    // What was printed without a new line behind it is not lost, however the call ended.
    context.printed.stdout?.end();
    context.printed.stderr?.end();
  }
}

function tooLong(length: number, most: number, usage: Usage): WasmError {
  const message = `Cannot take answer: it has ${length} bytes, expected at most ${most}`;
  return new WasmError('limit', message, { detail: 'mostBytes', usage });
}
