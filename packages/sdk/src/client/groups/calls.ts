import { type PageAsked, pagesOf } from '../pages.ts';
import type { RequestOptions, Sender } from '../send.ts';
import { type CallOptions, runCall, streamCall } from '../stream-call.ts';
import type {
  ApprovalDocument,
  ApprovalPage,
  ApprovalState,
  CallPage,
  CallRequest,
  DecisionRequest,
  ListedCall,
  RunPage,
  ToolPage,
  ToolRow,
  UndoableCommand,
  UndoPage,
  UndoRequest,
} from '../wire.ts';

/** Which calls: those that run or those that have ended, and of which run. */
export type CallsAsked = PageAsked & {
  readonly state?: 'running' | 'ended' | undefined;
  readonly run?: string | undefined;
};

export function makeCalls(send: Sender) {
  return {
    /** Makes a call and returns its document once it has succeeded; else throws a PalisadeError. */
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
    /** What the guest logged, why host calls were denied, and where it trapped. */
    log: (id: string, options?: RequestOptions) => send.json('getCallLog', { params: { id }, options }),
  };
}

/** What commands changed in their workspaces, and how it is taken back. */
export function makeUndo(send: Sender) {
  return {
    ...pagesOf<PageAsked, UndoPage, UndoableCommand>(
      (query, options) => send.json('listUndo', { query, options }),
      ({ undo }) => undo,
    ),
    /** What an undo would do now; nothing is touched. */
    plan: (id: string, query?: { readonly force?: boolean | undefined }, options?: RequestOptions) =>
      send.json('planUndo', { params: { id }, query, options }),
    /** Takes back what a command changed; what was changed after it stays, unless forced. */
    run: (id: string, body: UndoRequest = {}, options?: RequestOptions) =>
      send.json('undoCall', { params: { id }, body, options }),
  };
}

/** Runs: what their calls say that they are part of. */
export function makeRuns(send: Sender) {
  const callsOf = (id: string) =>
    pagesOf<PageAsked, RunPage, ListedCall>(
      (query, options) => send.json('getRun', { params: { id }, query, options }),
      ({ calls }) => calls,
    );
  return {
    /** A page of the calls of a run, the newest first. */
    get: (id: string, query?: PageAsked, options?: RequestOptions) => callsOf(id).list(query, options),
    /** All calls of a run. */
    calls: (id: string, query?: PageAsked, options?: RequestOptions) => callsOf(id).all(query, options),
  };
}

/** The tools that this caller could be permitted to call. */
export function makeTools(send: Sender) {
  return {
    ...pagesOf<PageAsked, ToolPage, ToolRow>(
      (query, options) => send.json('listTools', { query, options }),
      ({ tools }) => tools,
    ),
    get: (id: string, options?: RequestOptions) => send.json('getTool', { params: { id }, options }),
  };
}

export type ApprovalsAsked = PageAsked & { readonly state?: ApprovalState | undefined };

type Note = Pick<DecisionRequest, 'note'>;

/** Requests for approval: a call that waits for a person runs once the identical call is made again. */
export function makeApprovals(send: Sender) {
  const decide = (id: string, body: DecisionRequest, options?: RequestOptions) =>
    send.json('decideApproval', { params: { id }, body, options });
  return {
    ...pagesOf<ApprovalsAsked, ApprovalPage, ApprovalDocument>(
      (query, options) => send.json('listApprovals', { query, options }),
      ({ approvals }) => approvals,
    ),
    get: (id: string, options?: RequestOptions) => send.json('getApproval', { params: { id }, options }),
    approve: (id: string, note: Note = {}, options?: RequestOptions) =>
      decide(id, { verdict: 'approved', ...note }, options),
    deny: (id: string, note: Note = {}, options?: RequestOptions) =>
      decide(id, { verdict: 'denied', ...note }, options),
  };
}
