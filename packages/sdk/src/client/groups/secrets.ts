import { toUtf8 } from '../../bytes.ts';
import type { RequestOptions, Sender } from '../send.ts';

/** Whose calls a secret is for; left out: those of everybody. */
export type OfScope = { readonly scope?: string | undefined };

/** Secrets go in and never come out. */
export function makeSecrets(send: Sender) {
  return {
    list: (options?: RequestOptions) => send.json('listSecrets', { options }),
    /** Sets the value, to the byte. */
    set: (name: string, value: string | Uint8Array, query?: OfScope, options?: RequestOptions) => {
      const body = typeof value === 'string' ? toUtf8(value) : value;
      return send.json('setSecret', { params: { name }, body, query, options });
    },
    remove: (name: string, query?: OfScope, options?: RequestOptions) =>
      send.json('removeSecret', { params: { name }, query, options }),
  };
}
