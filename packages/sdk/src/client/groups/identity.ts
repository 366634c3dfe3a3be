import { type PageAsked, pagesOf } from '../pages.ts';
import type { RequestOptions, Sender } from '../send.ts';
import type { TokenDocument, TokenPage, TokenRequest } from '../wire.ts';

/** The keys that receipts and checkpoints are signed with. */
export function makeKeys(send: Sender) {
  return {
    list: (options?: RequestOptions) => send.json('listKeys', { options }),
    /** The public keys, as `parseKeyRing` takes them. Who verifies gets them by another way than the receipts. */
    export: (options?: RequestOptions) => send.text('exportKeys', { options }),
    rotate: (options?: RequestOptions) => send.json('rotateKey', { options }),
  };
}

/** Tokens of the tenant of this caller. */
export function makeTokens(send: Sender) {
  return {
    ...pagesOf<PageAsked, TokenPage, TokenDocument>(
      (query, options) => send.json('listTokens', { query, options }),
      ({ tokens }) => tokens,
    ),
    /** Makes a token. Its text is in this document and never again. */
    create: (body: TokenRequest, options?: RequestOptions) => send.json('createToken', { body, options }),
    revoke: (id: string, options?: RequestOptions) => send.json('revokeToken', { params: { id }, options }),
  };
}
