import type { Caller } from '../core/caller.ts';

/** What a request brings to say who it is. */
export type Presented = {
  /** The value of the Authorization header; null: none. */
  readonly authorization: string | null;
};

export type Authenticated =
  | { readonly ok: true; readonly caller: Caller }
  | {
      readonly ok: false;
      /** Nothing was presented, or what was presented is not good. */
      readonly reason: 'missing' | 'invalid' | 'expired' | 'revoked';
      /** For the caller: never tells which part of a token was wrong. */
      readonly message: string;
    };

/** Tells who presents a credential. It never throws: what cannot be checked is not good. */
export type Authenticator = (presented: Presented) => Promise<Authenticated>;
