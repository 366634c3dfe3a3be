import { listTokens } from '../../../identity/tokens.ts';
import { tokenDocument } from '../../../operations/identity.ts';
import { numberOf, textOf } from '../input.ts';
import type { Invocation } from '../verb.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { print, edge, openRecords } = invocation;
  const limit = numberOf(invocation, 'limit', { min: 1, max: 1000, absent: 20 });
  const asked = {
    ...{ tenant: textOf(invocation, 'tenant') ?? null, after: textOf(invocation, 'cursor') ?? null, limit },
  };
  const records = await openRecords();
  try {
    const nowMs = edge.clock.nowMs();
    const tokens = listTokens(records.store, asked).map((token) => tokenDocument(token, nowMs));
    const cursor = tokens.length === limit ? (tokens.at(-1)?.id ?? null) : null;
    if (print.json) {
      print.document({ tokens, cursor });
      return 0;
    }
    if (tokens.length === 0) print.line('There are no tokens.');
    else {
      print.table(
        ['ID', 'STATE', 'WHO', 'TENANT', 'SCOPES', 'APPROVER', 'EXPIRES', 'BY', 'LABEL'],
        tokens.map(({ id, state, principal, tenant, scopes, approver, expiresAt, createdBy, label }) => [
          ...[id, state, principal, tenant, scopes.join(','), approver ?? '-'],
          ...[expiresAt, createdBy, label === '' ? '-' : label],
        ]),
      );
    }
    if (cursor !== null) print.note(`More: palisade token list --cursor ${cursor}`);
    return 0;
  } finally {
    await records.close();
  }
}
