import type { Json } from '../../../core/json.ts';
import type { Acting } from '../../../invoke/skills/skill-acts.ts';
import type { Asked, Reply } from '../route.ts';

/** A document that was made of checked parts. */
export function json(body: object, status = 200): Reply {
  return { kind: 'json', status, body: body as Json };
}

/** Who acts, as the credential says. */
export function actingOf({ caller }: Pick<Asked, 'caller'>): Acting {
  return { by: caller.principal, tenant: caller.tenant };
}

/** The bytes of a body that is taken as it is. */
export function bytesOf({ body }: Pick<Asked, 'body'>): Uint8Array {
  if (body instanceof Uint8Array) return body;
  throw new TypeError('Cannot read the body: it is no bytes');
}

/** A text or bytes that are there already. */
export function whole(type: string, bytes: string | Uint8Array, name?: string): Reply {
  const chunks = (async function* () {
    yield typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
  })();
  return { kind: 'bytes', type, chunks, ...(name === undefined ? {} : { name }) };
}

/** The reply of a row that gives a JSON document. */
export function document<S>(schema: S, sentence: string) {
  return { type: 'application/json', schema, sentence };
}
