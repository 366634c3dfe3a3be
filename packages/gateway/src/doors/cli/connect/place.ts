import type { CallSource } from '../../../core/call.ts';
import { placeOf } from '../../../core/caller.ts';
import { placeIn } from '../input.ts';
import type { Invocation } from '../verb.ts';
import type { McpClient } from './clients.table.ts';
import { ownArguments } from './entry.ts';
import { serverNamed } from './servers.ts';
import type { ClientTarget } from './target.ts';

/* The device and the channel of a client, as its entry says them to `palisade mcp`: the word of the operator. */

/** The flags that say the device and the channel of a client, which is the word of the operator: as given now, else as before. */
export function placeFlags(invocation: Invocation, { client, source, own }: ClientTarget): readonly string[] {
  const before = placeOfEntry(client, serverNamed(source, own.server)?.value);
  return placeWords({ ...before, ...placeIn(invocation) });
}

/** The device and the channel that an entry of ours names. */
function placeOfEntry(client: McpClient, entry: unknown): Pick<CallSource, 'device' | 'channel'> {
  const own = ownArguments(client, entry) ?? [];
  const after = (flag: string) => (own.includes(flag) ? own[own.indexOf(flag) + 1] : undefined);
  return own[1] === 'wrap' ? {} : placeOf({ device: after('--device'), channel: after('--channel') });
}

/** The flags that name them. */
export function placeWords({ device, channel }: Pick<CallSource, 'device' | 'channel'>): readonly string[] {
  return [
    ...(device === undefined ? [] : ['--device', device]),
    ...(channel === undefined ? [] : ['--channel', channel]),
  ];
}
