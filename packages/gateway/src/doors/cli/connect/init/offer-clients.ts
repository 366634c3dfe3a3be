import { CodedError } from '../../../../core/coded-error.ts';
import { canAsk } from '../../ask.ts';
import type { Invocation } from '../../verb.ts';
import { chooseClient } from '../choose-client.ts';
import type { Client } from '../client.ts';
import { CLIENTS } from '../clients.table.ts';
import { connectClient, type Status } from '../connect-client.ts';
import { isFound } from '../places.ts';
import { surroundingsOf } from '../target.ts';
import { openQuestions } from './questions.ts';

/** What became of a client that was found or named. */
export type Offered = {
  readonly client: string;
  readonly name: string;
  readonly status: Status | 'left alone' | 'failed';
  readonly file: string | null;
  readonly backup: string | null;
  readonly message: string | null;
  readonly next: string;
};

/** The clients that the flags name, else those that are on this machine. */
export function wantedClients(invocation: Invocation): readonly Client[] {
  const { client } = invocation.flags;
  if (Array.isArray(client)) return [...new Set(client.map((id: string) => chooseClient(id)))];
  const here = surroundingsOf(invocation);
  return CLIENTS.filter((each) => isFound(each, here));
}

/** Connects what is named or agreed to. A file that cannot be used is told of, and keeps none of the others from it. */
export async function offerClients(
  invocation: Invocation,
  clients: readonly Client[],
): Promise<readonly Offered[]> {
  const { flags } = invocation;
  const isAgreed = flags.yes === true || Array.isArray(flags.client);
  const questions = !isAgreed && canAsk(invocation) && clients.length > 0 ? openQuestions(invocation) : null;
  const offered: Offered[] = [];
  try {
    for (const client of clients) {
      const wants = isAgreed || (await questions?.ask(`Connect ${client.name} to palisade?`)) === true;
      offered.push(wants ? await connected(invocation, client) : { ...about(client), status: 'left alone' });
    }
  } finally {
    questions?.close();
  }
  return offered;
}

async function connected(invocation: Invocation, client: Client): Promise<Offered> {
  try {
    // The flags of init are not those of connect.
    const { status, file, backup } = await connectClient({ ...invocation, flags: {} }, client);
    return { ...about(client), status, file, backup };
  } catch (error) {
    if (!(error instanceof CodedError)) throw error;
    return { ...about(client), status: 'failed', message: error.message };
  }
}

function about({ id, name, next }: Client): Omit<Offered, 'status'> {
  return { client: id, name, file: null, backup: null, message: null, next };
}
