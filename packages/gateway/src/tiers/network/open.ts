/** Makes the networks of runs ready from what the operator configured. */
import type { Config } from '../../config/config.ts';
import type { Clock, Random } from '../../core/clock.ts';
import { type Lookup, nodeCertificates, ownOf } from '../../egress/resolve.ts';
import { interceptedBy, type LiveHosts } from '../../runner/host-lists.ts';
import { grantSecrets } from '../../runner/secrets.ts';
import { systemCertificates } from '../../runner/system.ts';
import { type NetworkOptions, type Networks, openNetworks } from './networks.ts';

export type OpenNetworksOptions = {
  readonly config: Pick<Config, 'process' | 'secrets'>;
  readonly hosts: LiveHosts;
  readonly newLookup: () => Lookup;
  readonly clock: Clock;
  readonly random: Random;
  readonly vaultSecret: NetworkOptions['vaultSecret'];
  /** Where the gateway itself listens. */
  readonly ports: readonly number[];
  /** More authorities that targets are verified with. */
  readonly trustedCertificates?: string | undefined;
};

const LOOK_EVERY_MS = 1_000;

export function networksOf(options: OpenNetworksOptions): Networks {
  const { config, hosts, newLookup, clock, random, vaultSecret, ports, trustedCertificates: more } = options;
  return openNetworks({
    ...{ clock, random, newLookup, systemCertificates, vaultSecret },
    own: () => ownOf(undefined, ports),
    hosts: () => hosts.list,
    refresh: () => hosts.refresh(),
    isIntercepted: interceptedBy(config.process.egressIntercept),
    ...(more === undefined || more === '' ? {} : { trust: [nodeCertificates(), more] }),
    secrets: grantSecrets(config.secrets),
    lookEveryMs: LOOK_EVERY_MS,
  });
}
