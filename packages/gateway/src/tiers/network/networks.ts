/**
 * The networks of strict runs. Each is served by its own proxy, which exists from the start of its command until its
 * end. It allows what both the allow-list of the call and the operator's current list allow; when that changes, or the
 * policies no longer permit the call, open connections that are no longer allowed are cut.
 */
import type { Server } from 'node:net';
import type { Config } from '../../config/config.ts';
import type { CheckedCall } from '../../core/checked-call.ts';
import type { Clock, Random } from '../../core/clock.ts';
import { CodedError } from '../../core/coded-error.ts';
import type { ProcessTerms } from '../../core/process.ts';
import { orElse } from '../../core/result.ts';
import { type AllowList, NOWHERE, narrowList, parseAllowList } from '../../egress/allowlist.ts';
import type { Host } from '../../egress/authority.ts';
import type { ProxyFacts } from '../../egress/proxy/ledger.ts';
import { type Proxy as EgressProxy, openProxy, type ProxyOptions } from '../../egress/proxy/proxy.ts';
import { type Lookup, nodeCertificates, type Own, ownOf } from '../../egress/resolve.ts';
import { parseRule } from '../../egress/rule.ts';
import { problemWithSecret } from '../../egress/secrets.ts';
import { newAuthority, newInterceptor } from '../../egress/tls/certificate.ts';
import { interceptedBy, type LiveHosts } from '../../runner/host-lists.ts';
import { type GrantedSecret, grantSecrets } from '../../runner/secrets.ts';
import { systemCertificates } from '../../runner/system.ts';
import { hasNetwork, type NetworkPass, type NetworkPlan, SAMPLE_PASS } from './plan.ts';

/** The identity behind a run. */
export type Runner = Pick<CheckedCall['call'], 'tenant' | 'principal' | 'id'> & { readonly tool: string };

export type NetworkOptions = {
  readonly clock: Clock;
  readonly random: Random;
  readonly newLookup: () => Lookup;
  /** The current names and addresses of this machine. */
  readonly own: () => Own;
  readonly hosts: () => AllowList;
  /** Makes sure, before a run starts, that the list is current. */
  readonly refresh: () => Promise<void>;
  /** Whether the TLS of a host is intercepted, or that of any host below it. */
  readonly isIntercepted: (host: Host, orAnyBelow: boolean) => boolean;
  readonly systemCertificates: () => string;
  /** The certificate authorities for verifying targets; by default those that Node trusts. */
  readonly trust?: ProxyOptions['trust'];
  readonly secrets: ReadonlyMap<string, Omit<GrantedSecret, 'paths'>>;
  /** The value of a secret of the vault, with its use recorded; null where this run has no such secret. */
  readonly vaultSecret: (name: string, runner: Runner) => Promise<string | null>;
  /** How often the list and the policies are checked while a run has a network. */
  readonly lookEveryMs: number;
};

/** The network of one run. */
export type RunNetwork = {
  readonly pass: NetworkPass;
  readonly serve: (plan: NetworkPlan, servers: readonly Server[]) => Promise<void>;
  readonly facts: () => ProxyFacts;
  readonly close: () => void;
};

export type NetworkWish = {
  readonly terms: ProcessTerms;
  readonly runner: Runner;
  readonly egressBytes: number;
  readonly mayGoOn: () => boolean;
  /** The operator's list for this run alone; by default the one for all. */
  readonly hosts?: AllowList | undefined;
};

const LOOKUP_MS = 5_000;
const TOKEN_BYTES = 24;
const PLACEHOLDER_BYTES = 18;
const SERIAL_BYTES = 16;
const DAY_MS = 24 * 60 * 60 * 1000;

export type Networks = {
  /** The network of a run; null for a run that has none. */
  readonly make: (wish: NetworkWish) => Promise<RunNetwork | null>;
  /** For the plan of a run that is only displayed. */
  readonly samplePass: (terms: ProcessTerms) => NetworkPass;
};

export function openNetworks(options: NetworkOptions): Networks {
  return {
    make: async (wish) => {
      if (!hasNetwork(wish.terms)) return null;
      await options.refresh();
      return makeNetwork(options, wish);
    },
    samplePass: (terms) => ({ ...SAMPLE_PASS, trusted: opensAny(options, terms) ? '' : null }),
  };
}

async function makeNetwork(options: NetworkOptions, wish: NetworkWish): Promise<RunNetwork> {
  const { terms, egressBytes } = wish;
  const { random, clock } = options;
  const token = Buffer.from(random.bytes(TOKEN_BYTES)).toString('base64url');
  const secrets = await Promise.all(terms.secrets.map((name) => bindSecret(options, name, wish.runner)));
  const judged = listOf(terms);
  const authority = opensAny(options, terms) ? authorityFor(options) : null;
  const watch = new Watch(options, wish, judged);
  const proxy = openProxy({
    list: () => watch.list,
    resolve: { lookup: options.newLookup(), own: options.own(), lookupMs: LOOKUP_MS },
    credential: token,
    limits: { bytes: egressBytes, wholeMs: terms.limits.wallMs },
    clock,
    secrets: secrets.map(({ bound }) => bound),
    ...(options.trust === undefined ? {} : { trust: options.trust }),
    ...(authority === null
      ? {}
      : { intercept: newInterceptor({ authority, isFor: (host) => options.isIntercepted(host, false) }) }),
  });
  const placeholders = secrets.map(({ variable, bound }) => [variable, bound.placeholder] as const);
  const trusted =
    authority === null ? null : `${options.systemCertificates()}\n${authority.certificatePem}\n`;
  return {
    pass: { token, placeholders: Object.fromEntries(placeholders), trusted },
    serve: async ({ listeners }, servers) => {
      // Boundary: what was revoked before the command starts is never available to it.
      await options.refresh();
      listeners.forEach(({ door }, index) => {
        const server = servers[index];
        if (server !== undefined) proxy.listen(server, door);
      });
      watch.begin(proxy);
    },
    facts: proxy.facts,
    close: () => {
      watch.end();
      proxy.close();
    },
  };
}

/** Checks throughout a run whether what it was allowed is still allowed. */
class Watch {
  list: AllowList;
  readonly #options: NetworkOptions;
  readonly #wish: NetworkWish;
  readonly #judged: AllowList;
  #hosts: AllowList;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: NetworkOptions, wish: NetworkWish, judged: AllowList) {
    this.#options = options;
    this.#wish = wish;
    this.#judged = judged;
    this.#hosts = wish.hosts ?? options.hosts();
    this.list = narrowList(judged, this.#hosts);
  }

  /** Also for a run that is started again because its first sandbox was gone. */
  begin(proxy: EgressProxy): void {
    clearInterval(this.#timer);
    this.#timer = setInterval(() => this.#look(proxy), this.#options.lookEveryMs);
    this.#timer.unref();
    this.#look(proxy);
  }

  end(): void {
    clearInterval(this.#timer);
    this.list = NOWHERE;
  }

  #look(proxy: EgressProxy): void {
    const hosts = this.#wish.hosts ?? this.#options.hosts();
    if (!this.#mayGoOn()) this.end();
    else if (hosts === this.#hosts) return;
    else this.list = narrowList(this.#judged, hosts);
    this.#hosts = hosts;
    proxy.recheck();
  }

  #mayGoOn(): boolean {
    // Boundary: policies that cannot be evaluated do not permit; and no check ends the gateway.
    return orElse(() => this.#wish.mayGoOn(), false);
  }
}

/** Boundary: terms are checked before they arrive here; a list that cannot be parsed allows nothing. */
function listOf({ egressHosts }: ProcessTerms): AllowList {
  const parsed = parseAllowList(egressHosts, 'egress_hosts of the call (--allow-host)');
  return parsed.ok ? parsed.value : NOWHERE;
}

async function bindSecret({ secrets, random, vaultSecret }: NetworkOptions, name: string, runner: Runner) {
  const granted = secrets.get(name);
  if (granted === undefined)
    throw new TypeError(`Cannot grant secret "${name}": it is not known, expected one of the configuration`);
  const { variable, isFor, read } = granted;
  const value = read === null ? await vaultSecret(name, runner) : read();
  if (value === null) {
    throw new CodedError(
      'vault/missing',
      `Cannot grant secret "${name}": the vault lacks a secret of that name for this run, expected one`,
    );
  }
  // Boundary: the value was not stored with a header in mind, so it is checked for one here.
  const problem = problemWithSecret(value);
  if (problem !== null) throw new CodedError('config/invalid', `Cannot grant secret "${name}": ${problem}`);
  const placeholder = `palisade-secret-${Buffer.from(random.bytes(PLACEHOLDER_BYTES)).toString('hex')}`;
  return { variable, bound: { name, placeholder, value, isFor } };
}

/** Whether a host that the run may reach is one whose TLS is intercepted. */
function opensAny({ isIntercepted }: NetworkOptions, terms: ProcessTerms): boolean {
  if (!hasNetwork(terms)) return false;
  return terms.egressHosts.some((entry) => {
    const rule = parseRule(entry);
    if (!rule.ok || rule.value.denies || rule.value.place.kind === 'range') return false;
    const { kind, name } = rule.value.place;
    return isIntercepted({ kind: 'name', name }, kind === 'below');
  });
}

function authorityFor({ clock, random }: NetworkOptions) {
  return newAuthority({
    nowMs: clock.nowMs(),
    name: 'Palisade run',
    serial: () => random.bytes(SERIAL_BYTES),
    lifeMs: DAY_MS,
  });
}

type OpenNetworksOptions = Pick<NetworkOptions, 'newLookup' | 'clock' | 'random' | 'vaultSecret'> & {
  readonly config: Pick<Config, 'process' | 'secrets'>;
  readonly hosts: LiveHosts;
  readonly ports: readonly number[];
  /** Additional certificate authorities for verifying targets. */
  readonly trustedCertificates?: string | undefined;
};

const LOOK_EVERY_MS = 1_000;

/** Prepares the networks of runs from the operator's configuration. */
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
