import type { ToolCall } from '../core/call.ts';
import { formatPrincipal } from '../core/principal.ts';

/** A call that is on the line, for whoever may look or cancel. */
export type RunningCall = {
  readonly callId: string;
  readonly principal: string;
  readonly tenant: string;
  readonly tool: string;
  readonly run: string | null;
  readonly door: string;
  readonly startedAtMs: number;
};

type Entered = { readonly call: RunningCall; readonly cancel: AbortController };

/** The calls of this process that have not ended, so that one can be cancelled by its id. */
export class RunningCalls {
  readonly #calls = new Map<string, Entered>();

  get size(): number {
    return this.#calls.size;
  }

  list(): readonly RunningCall[] {
    return [...this.#calls.values()].map(({ call }) => call);
  }

  get(callId: string): RunningCall | null {
    return this.#calls.get(callId)?.call ?? null;
  }

  /** False where no such call is running here. */
  cancel(callId: string): boolean {
    const entered = this.#calls.get(callId);
    entered?.cancel.abort(new Error('cancelled by request'));
    return entered !== undefined;
  }

  /** Adds a call; the signal fires when its caller gives up or somebody cancels it. */
  enter(call: ToolCall, signal: AbortSignal): { readonly signal: AbortSignal; readonly leave: () => void } {
    const { id: callId, tenant, tool, run, door, receivedAtMs: startedAtMs } = call;
    const principal = formatPrincipal(call.principal);
    const cancel = new AbortController();
    const passOn = () => cancel.abort(signal.reason);
    if (signal.aborted) passOn();
    else signal.addEventListener('abort', passOn, { once: true });
    this.#calls.set(callId, { call: { callId, principal, tenant, tool, run, door, startedAtMs }, cancel });
    const leave = () => {
      signal.removeEventListener('abort', passOn);
      this.#calls.delete(callId);
    };
    return { signal: cancel.signal, leave };
  }
}
