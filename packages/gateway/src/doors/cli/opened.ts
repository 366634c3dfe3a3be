import type { Gateway, Opened, Records } from '../../invoke/gateway.ts';
import type { Acting } from '../../invoke/skills/skill-acts.ts';
import { principalOf } from './input.ts';
import type { Invocation, OpenMore } from './verb.ts';

/** Opens the records (no policies, no sandboxes) for as long as `act` takes, and closes them whatever happens. */
export async function withRecords<T>(
  { openRecords }: Invocation,
  act: (records: Opened<Records>) => T | Promise<T>,
): Promise<T> {
  const records = await openRecords();
  try {
    return await act(records);
  } finally {
    await records.close();
  }
}

/** Opens the gateway for as long as `act` takes, and closes it whatever happens. */
export async function withGateway<T>(
  { openGateway }: Invocation,
  act: (gateway: Opened<Gateway>) => T | Promise<T>,
  more?: OpenMore,
): Promise<T> {
  const gateway = await openGateway(more);
  try {
    return await act(gateway);
  } finally {
    await gateway.close();
  }
}

/** The same for an operation in the name of --as, which is finished even when no one reads the output any more. */
export async function actAs<T>(
  invocation: Invocation,
  act: (gateway: Opened<Gateway>, acting: Acting) => T | Promise<T>,
): Promise<T> {
  const by = principalOf(invocation);
  finishUnread(invocation);
  return withGateway(invocation, (gateway) => act(gateway, { by, tenant: gateway.config.gateway.tenant }));
}

/** Lets a command finish when no one reads its output any more; its exit status still tells how it ended. */
export function finishUnread({ edge }: Invocation): void {
  edge.whenUnread(() => undefined);
}
