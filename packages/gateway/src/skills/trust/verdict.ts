/** Whether the key that signed a package may speak for its publisher, and who said so; or why not. */
export type TrustVerdict =
  | { readonly ok: true; readonly how: TrustOrigin }
  | {
      readonly ok: false;
      readonly code: 'skill/unsigned' | 'skill/untrusted';
      /** A clause for a message: `Cannot install …: WHY`. */
      readonly why: string;
    };

/** How a key came to be trusted: the operator added it, or it was the first of its publisher. */
export type TrustOrigin = 'operator' | 'first-use';
