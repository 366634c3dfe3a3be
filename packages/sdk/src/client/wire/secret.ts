/** All that is told of a secret; its value never is. */
export type SecretRow = {
  readonly name: string;
  /** `global`, `tenant:NAME`, `principal:KIND:NAME` or `skill:ID`. */
  readonly scope: string;
  /** One more with each new value. */
  readonly version: number;
  readonly bytes: number;
  readonly createdAt: string;
  readonly usedAt: string | null;
};

export type SecretList = {
  /** Null: nothing was ever put in. */
  readonly lockedWith: 'file' | 'passphrase' | null;
  readonly secrets: readonly SecretRow[];
};

export type SecretSet = Pick<SecretRow, 'name' | 'scope' | 'version' | 'bytes'>;

export type SecretRemoved = Pick<SecretRow, 'name' | 'scope'> & { readonly removed: true };
