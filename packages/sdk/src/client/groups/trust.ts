import type { RequestOptions, Sender } from '../send.ts';
import type { AddTrustRequest, RevokeTrustRequest, RotateTrustRequest } from '../wire.ts';

/** Whose signatures on skills count. */
export function makeTrust(send: Sender) {
  return {
    list: (query?: { readonly publisher?: string | undefined }, options?: RequestOptions) =>
      send.json('listTrustedKeys', { query, options }),
    add: (body: AddTrustRequest, options?: RequestOptions) => send.json('trustKey', { body, options }),
    /** Trusts a new key; the ones before sign nothing new, and what they signed goes on. */
    rotate: (publisher: string, body: RotateTrustRequest, options?: RequestOptions) =>
      send.json('rotateTrustedKey', { params: { publisher }, body, options }),
    /** For good; what the key signed goes into quarantine. */
    revoke: (publisher: string, body: RevokeTrustRequest, options?: RequestOptions) =>
      send.json('revokeTrustedKey', { params: { publisher }, body, options }),
  };
}
