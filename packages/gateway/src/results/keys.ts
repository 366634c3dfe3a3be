import type { ToolCall } from '../core/call.ts';
import { type Digest, digestBytes, digestValue } from '../core/digest.ts';
import { formatPrincipal } from '../core/principal.ts';
import { queries } from '../store/query.ts';
import type { Reader, Transaction } from '../store/transaction.ts';
import type { KeyRow, ResultTables } from './tables.ts';

/*
 * Idempotency keys. A caller that does not know whether its call went through repeats it with the same key, and gets the
 * ending of the first. A key is taken in the transaction that begins the call: what was refused took none, so that it can
 * be repeated once the reason is gone.
 */

/** What a key says about a call: nothing yet, that this very call has begun before, or that another one has. */
export type KeyStanding =
  | { readonly kind: 'free' }
  | { readonly kind: 'same'; readonly callId: string }
  | { readonly kind: 'other' };

const KEY = /^[!-~]{1,255}$/;

/** Tells whether a text can be an idempotency key. */
export function isIdempotencyKey(text: string): boolean {
  return KEY.test(text);
}

const query = queries<ResultTables>();

type Place = { tenant: string; principal: string; key: string; sinceMs: number };

const select = query<Place>()((db, p) =>
  db
    .selectFrom('idempotency')
    .selectAll()
    .where('tenant', '=', p('tenant'))
    .where('principal', '=', p('principal'))
    .where('idempotency_key', '=', p('key'))
    .where('at_ms', '>=', p('sinceMs')),
);

const take = query<KeyRow & { sinceMs: number }>()((db, p) =>
  db
    .insertInto('idempotency')
    .values({
      tenant: p('tenant'),
      principal: p('principal'),
      idempotency_key: p('idempotency_key'),
      call: p('call'),
      digest: p('digest'),
      at_ms: p('at_ms'),
    })
    .onConflict((oc) =>
      oc
        .columns(['tenant', 'principal', 'idempotency_key'])
        .doUpdateSet({ call: p('call'), digest: p('digest'), at_ms: p('at_ms') })
        .where('idempotency.at_ms', '<', p('sinceMs')),
    ),
);

/** How the key of a call stands; a key that is older than `sinceMs` counts no more. */
export function standingOfKey(reader: Reader, call: ToolCall, key: string, sinceMs: number): KeyStanding {
  const { tenant } = call;
  const row = reader.get(select, { tenant, principal: formatPrincipal(call.principal), key, sinceMs });
  if (row === undefined) return { kind: 'free' };
  return row.digest === requestDigest(call) ? { kind: 'same', callId: row.call } : { kind: 'other' };
}

/** Takes the key for a call that begins; false where another call has taken it meanwhile. */
export function takeKey(tx: Transaction, call: ToolCall, key: string, sinceMs: number): boolean {
  const row = {
    tenant: call.tenant,
    principal: formatPrincipal(call.principal),
    idempotency_key: key,
    call: call.id,
    digest: requestDigest(call),
    at_ms: call.receivedAtMs,
  };
  return tx.run(take, { ...row, sinceMs }) > 0;
}

function requestDigest({ tool, rawInput, run, timeoutMs }: ToolCall): Digest {
  return digestValue({ tool, run, timeoutMs, input: digestBytes(rawInput) });
}
