import type { Principal } from '../core/principal.ts';

/** Who published. The gateway says so, never the message. */
export type Sender = { readonly principal: Principal; readonly skill: string | null };

export type Message = {
  readonly bytes: Uint8Array;
  readonly sender: Sender;
  /** How many messages right before this one found the queue full. */
  readonly missed: number;
};

/** `ok` also when nobody listens; `full` when nobody of those who listen has room. */
export type Published = 'ok' | 'full' | 'too-large';
