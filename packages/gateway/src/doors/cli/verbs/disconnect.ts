import { chooseClient } from '../connect/choose-client.ts';
import { disconnectClient } from '../connect/connect-client.ts';
import { tellDone } from '../connect/tell.ts';
import type { Invocation } from '../verb.ts';

export async function run(invocation: Invocation): Promise<number> {
  const [id = ''] = invocation.args;
  const client = chooseClient(id);
  await tellDone(invocation, client, await disconnectClient(invocation, client));
  return 0;
}
