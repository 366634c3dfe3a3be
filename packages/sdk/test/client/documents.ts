import type { ClientOptions } from '../../src/client/connection.ts';
import type { CallDocument } from '../../src/client/wire.ts';
import { PalisadeClient } from '../../src/index.ts';

const USAGE = { calls: 1, wallMs: 3, cpuMs: 1, fuel: 0, outputBytes: 2, egressBytes: 0 };

/** The document of a call that went well. */
export function callDocument(more: Partial<CallDocument> = {}): CallDocument {
  return {
    ...{ callId: 'call_1', status: 'ok', code: 'ok', message: 'It went well.', remedy: null },
    ...{ output: { sum: 3 }, usage: USAGE, receipt: null },
    ...more,
  };
}

/** A client that waits for nothing and remembers how long it would have waited. */
export function makeClient(options: Partial<ClientOptions> & Pick<ClientOptions, 'url'>) {
  const waits: number[] = [];
  let turn = 0;
  const client = new PalisadeClient({
    token: 'pls_test_secret',
    wait: async (ms) => void waits.push(ms),
    random: (count) => new Uint8Array(count).fill(turn++ % 256),
    ...options,
  });
  return { client, waits };
}

/** What a promise is rejected with. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => {
      throw new Error(`expected a rejection, got ${JSON.stringify(value)}`);
    },
    (error: unknown) => error,
  );
}
