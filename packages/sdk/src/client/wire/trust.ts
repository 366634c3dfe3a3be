/** A key that signs skills for a publisher. */
export type TrustedKey = {
  readonly publisher: string;
  readonly keyId: string;
  readonly state: 'trusted' | 'retired' | 'expired' | 'revoked';
  readonly origin: 'operator' | 'first-use';
  readonly addedBy: string;
  /** Why it was revoked. */
  readonly reason: string | null;
  readonly addedAt: string;
  readonly expiresAt: string | null;
  readonly retiredAt: string | null;
  readonly revokedAt: string | null;
};

export type TrustList = { readonly keys: readonly TrustedKey[] };

export type RotateTrustRequest = {
  /** The text of a public key document, as `palisade skill sign --new-key` writes it. */
  readonly key: string;
  /** When it ends; left out: never. */
  readonly expiresAt?: string | undefined;
};

export type AddTrustRequest = RotateTrustRequest & { readonly publisher: string };

export type RevokeTrustRequest = { readonly keyId: string; readonly reason: string };

export type RotatedTrust = { readonly added: TrustedKey; readonly retired: readonly string[] };

export type RevokedTrust = {
  readonly key: TrustedKey;
  /** Skills that it signed, as ID@VERSION. */
  readonly quarantined: readonly string[];
};
