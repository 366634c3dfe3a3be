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
    return { head: { ending: 'returned', ...used }, bytes: Buffer.from(returned.value) };
  }
  const { code, message } = returned.value;
  const report = Buffer.from(JSON.stringify({ code, message }));
  // A report that is longer than an output may be is one without a reason.
  return { head: { ending: 'failed', ...used }, bytes: report.length > outputBytes ? NO_BYTES : report };
}

function visit(pool: Pool, context: CallContext, text: string): Usage & { readonly value: Returned } {
  const { tool, limits } = context.head;
  // Boundary: an output is as long as it may be, and not looked at where a component says that it is longer.
  const run = { name: RUN_NAME, type: RUN_TYPE, mostBytes: limits.outputBytes };
  try {
    return pool.visit(
      { fuel: limits.fuel, context },
      (guest) => callLifted(guest, run, [tool, text]) as Returned,
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
