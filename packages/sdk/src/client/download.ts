import { repeat } from './repeat.ts';
import type { OperationName } from './routes.ts';
import type { Asked, Sender } from './send.ts';

/** The bytes of a reply as they come. It is asked for when the first are wanted; once they flow, nothing is repeated. */
export async function* downloadOf<Name extends OperationName>(
  send: Sender,
  name: Name,
  asked: Asked<Name>,
): AsyncGenerator<Uint8Array, void, undefined> {
  const reply = await repeat(send.connection, asked.options?.signal ?? null, () => send.open(name, asked));
  try {
    yield* reply.chunks;
  } finally {
    reply.close();
  }
}
