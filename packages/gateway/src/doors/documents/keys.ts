import type { Keys } from '../../attest/keys.ts';

export type KeyRow = {
  readonly keyId: string;
  readonly isCurrent: boolean;
  readonly createdAt: string;
  readonly retiredAt: string | null;
};

/** Every key there ever was, oldest first, and since when which of them signs. */
export function keyRows(keys: Pick<Keys, 'list'>): readonly KeyRow[] {
  return keys.list().map(({ keyId, isCurrent, document }) => {
    const { createdAt, retiredAt } = JSON.parse(document) as Pick<KeyRow, 'createdAt' | 'retiredAt'>;
    return { keyId, isCurrent, createdAt, retiredAt };
  });
}
