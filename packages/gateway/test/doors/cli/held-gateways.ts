import { VOLUME } from '../../../../../tests/volume/volume.ts';
import type { Gateway, Opened } from '../../../src/invoke/gateway.ts';
import { type OpenOptions, openGateway } from '../../../src/open.ts';
import { CHECKED } from '../../fixture/checked.ts';

export type HeldGateways = {
  /** Opens the gateway of a state directory, or gives the one that an earlier command has opened. */
  readonly open: (options: OpenOptions) => Promise<Opened<Gateway>>;
  /** Closes all of them; the next command reads the files of its directory anew. */
  readonly close: () => Promise<void>;
};

/**
 * Gateways that commands of one state directory share, since to open one takes longer than most commands. When everything
 * is proved, each command has a gateway of its own.
 */
export function holdGateways(): HeldGateways {
  const held = new Map<string, Promise<Opened<Gateway>>>();
  const openOwn = (options: OpenOptions) => openGateway({ checked: CHECKED, ...options });
  const close = async () => {
    const all = await Promise.all(held.values());
    held.clear();
    await Promise.all(all.map((gateway) => gateway.close()));
  };
  const open = async ({ tools = [], ...options }: OpenOptions) => {
    const opening = held.get(options.stateDir) ?? openOwn(options);
    held.set(options.stateDir, opening);
    const gateway = await opening;
    return { ...gateway, registry: gateway.registry.with(tools), close: async () => undefined };
  };
  return { open: VOLUME === 1 ? openOwn : open, close };
}
