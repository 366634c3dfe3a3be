import { type PageAsked, pagesOf } from '../pages.ts';
import type { RequestOptions, Sender } from '../send.ts';
import { type CallOptions, runCall, streamCall } from '../stream-call.ts';
import type { CallPage, CallRequest, ListedCall } from '../wire.ts';

/** Which calls: those that run or those that have ended, and of which run. */
export type CallsAsked = PageAsked & {
  readonly state?: 'running' | 'ended' | undefined;
  readonly run?: string | undefined;
};

export function makeCalls(send: Sender) {
  return {
    /** Makes a call and gives its document once it has ended well; else throws a PalisadeError. */
    run: (call: CallRequest, options?: CallOptions) => runCall(send, call, options),
    /** The same, with what happens on the way. Leaving the loop, or the signal, cancels the call. */
    stream: (call: CallRequest, options?: CallOptions) => streamCall(send, call, options),
    ...pagesOf<CallsAsked, CallPage, ListedCall>(
      (query, options) => send.json('listCalls', { query, options }),
      ({ calls }) => calls,
    ),
    get: (id: string, options?: RequestOptions) => send.json('getCall', { params: { id }, options }),
    /** Ends a call that runs. */
    cancel: (id: string, options?: RequestOptions) => send.json('cancelCall', { params: { id }, options }),
    /** The signed receipt, as `verifyReceipt` takes it. */
    receipt: (id: string, options?: RequestOptions) =>
      send.text('getCallReceipt', { params: { id }, options }),
    output: (id: string, options?: RequestOptions) => send.json('getCallOutput', { params: { id }, options }),
  };
}
