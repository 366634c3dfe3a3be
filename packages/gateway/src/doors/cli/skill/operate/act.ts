import type { Gateway, Opened } from '../../../../invoke/gateway.ts';
import type { Acting } from '../../../../invoke/skills/skill-acts.ts';
import { principalOf } from '../../input.ts';
import type { Invocation } from '../../verb.ts';

/** Goes on when nobody reads the output any more: what was asked for is done, and the exit status tells of it. */
export function finishUnread({ edge }: Invocation): void {
  edge.whenUnread(() => undefined);
}

/** Opens the gateway for an act in the name of --as, and closes it whatever happens. */
export async function withGateway(
  invocation: Invocation,
  act: (gateway: Opened<Gateway>, acting: Acting) => Promise<number>,
): Promise<number> {
  const by = principalOf(invocation);
  finishUnread(invocation);
  const gateway = await invocation.openGateway();
  try {
    return await act(gateway, { by, tenant: gateway.config.gateway.tenant });
  } finally {
    await gateway.close();
  }
}

/** All values of a flag that repeats. */
export function listOf({ flags }: Invocation, name: string): readonly string[] {
  const values = flags[name];
  return Array.isArray(values) ? values : [];
}
