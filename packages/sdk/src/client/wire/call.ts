import type { Usage } from '../../receipt.ts';
import type { Json, SignedEnvelope } from './parts.ts';

export type CallStatus = 'ok' | 'failed' | 'refused';

/** What a call is made of. Who makes it is in the token, and nowhere else. */
export type CallRequest = {
  readonly tool: string;
  /** What the tool is given; left out: an empty object. */
  readonly input?: Json | undefined;
  /** The run that the call is part of. */
  readonly run?: string | undefined;
  /** The wall-clock limit that is asked for. */
  readonly timeoutMs?: number | undefined;
};

/** The request that a call waits for, where a person has to approve it. */
export type AskedApproval = {
  readonly id: string;
  readonly expiresAt: string;
  /** What a user runs to approve it. */
  readonly approveWith: string;
};

/** How a call ended. */
export type CallDocument = {
  readonly callId: string;
  readonly status: CallStatus;
  /** One of `CODES`; `ok` where it ended well. */
  readonly code: string;
  readonly message: string;
  readonly remedy: string | null;
  readonly output: Json;
  readonly usage: Usage;
  /** Null where nothing could be recorded. */
  readonly receipt: SignedEnvelope | null;
  /** The output was cut off. */
  readonly truncated?: true | undefined;
  readonly approval?: AskedApproval | undefined;
  /** It had ended before, and is told again for its idempotency key. */
  readonly replayed?: true | undefined;
};

type CallFacts = {
  readonly callId: string;
  readonly principal: string;
  readonly tool: string;
  readonly run: string | null;
  readonly door: string;
};

export type RunningCall = CallFacts & { readonly state: 'running'; readonly startedAt: string };

/** A call that has ended, without what may be large. */
export type EndedCall = CallFacts & {
  readonly state: 'ended';
  readonly endedAt: string;
  readonly status: CallStatus;
  readonly code: string;
  readonly message: string;
  readonly remedy: string | null;
  readonly usage: Usage;
  readonly truncated: boolean;
};

export type ListedCall = RunningCall | EndedCall;

/** All that is kept of a call. */
export type ShownCall =
  | RunningCall
  | (EndedCall & {
      readonly output: Json;
      /** False: there was more output than is kept, and `output` is null. */
      readonly isOutputKept: boolean;
      readonly receipt: SignedEnvelope | null;
    });

export type CallPage = { readonly calls: readonly ListedCall[]; readonly cursor: string | null };

/** The data of the events of a call; that of `ended` is its document. */
export type StartedEvent = { readonly callId: string };
export type OutputEvent = {
  readonly stream: 'stdout' | 'stderr';
  /** One of both: text where the bytes are UTF-8, else base64. */
  readonly text?: string;
  readonly base64?: string;
};

export type CancelledCall = {
  readonly callId: string;
  /** False: it had ended. */
  readonly cancelled: boolean;
};

export type RunPage = CallPage & { readonly run: string };
