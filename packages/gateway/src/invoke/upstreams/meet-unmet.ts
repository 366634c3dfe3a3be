import { CodedError } from '../../core/coded-error.ts';
import type { Principal } from '../../core/principal.ts';
import { pinHead } from '../../upstreams/pins.ts';
import type { Gateway } from '../gateway.ts';

/** In whose name a gateway that lasts talks to servers that nobody has talked to yet; policies can speak of it. */
const GATEWAY: Principal = { kind: 'service', name: 'palisade' };

/** Talks to every configured server that nobody has talked to, so that its tools can be listed. Nobody waits for it. */
export async function meetUnmet(gateway: Gateway, tenant: string): Promise<void> {
  const { upstreams, store } = gateway;
  const unmet = upstreams.rules.filter(({ name }) => pinHead(store, name) === null);
  for (const { name } of unmet) {
    await upstreams.meet(name, { principal: GATEWAY, tenant }).catch((error: unknown) => {
      // Whoever calls one of its tools, or asks for it, is told why; the attempt itself is on record.
      if (!(error instanceof CodedError)) throw error;
    });
  }
}
