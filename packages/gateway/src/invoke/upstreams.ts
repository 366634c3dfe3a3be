/* What operators do with upstream servers: list them, connect to them again, and accept what they offer. */
import type { UpstreamRule } from '../config/config.ts';
import { CodedError } from '../core/coded-error.ts';
import type { Digest } from '../core/digest.ts';
import { formatPrincipal } from '../core/principal.ts';
import {
  findingsIn,
  type ProseFinding,
  pinnedBody,
  type Requester,
  record,
} from '../executors/upstream/pinning.ts';
import { everyDefinition } from '../upstreams/definition.ts';
import { type Difference, differenceOf } from '../upstreams/difference.ts';
import { accept, type Offer, type Pin, pinnedNames, pinOf, ruleDigest } from '../upstreams/pins.ts';
import { administer } from './administer.ts';
import type { Gateway } from './gateway.ts';

export type UpstreamView = {
  readonly name: string;
  /** Null for a wrapped server: only the client that starts it knows its command. */
  readonly rule: UpstreamRule | null;
  readonly state: 'unmet' | 'accepted' | 'quarantined';
  readonly pin: Pin | null;
  /** Why it is in quarantine; null where it is not. */
  readonly reason: string | null;
  readonly difference: Difference | null;
  /** For what would be accepted, or is. */
  readonly findings: readonly ProseFinding[];
};

type Shown = Pick<Gateway, 'store' | 'upstreams'>;

/** Every configured server in the order of the configuration, then the wrapped ones. */
export function listUpstreams(gateway: Shown): readonly UpstreamView[] {
  const { store, upstreams } = gateway;
  const configured = upstreams.rules.map(({ name }) => name);
  const wrapped = pinnedNames(store).filter((name) => !configured.includes(name));
  return [...configured, ...wrapped].map((name) => showUpstream(gateway, name));
}

/** One server; refuses a name that is neither configured nor wrapped. */
export function showUpstream({ store, upstreams }: Shown, name: string): UpstreamView {
  const rule = upstreams.rules.find((each) => each.name === name) ?? null;
  const pin = pinOf(store, name);
  if (pin === null) {
    if (rule === null) upstreams.ruleOf(name);
    return { name, rule, state: 'unmet', pin, reason: null, difference: null, findings: [] };
  }
  const isOther = rule !== null && pin.rule !== ruleDigest(rule);
  const state = pin.state === 'accepted' && !isOther ? 'accepted' : 'quarantined';
  const { accepted, offered } = pin;
  return {
    name,
    rule,
    state,
    pin,
    reason: state === 'accepted' ? null : (pin.reason ?? 'its command is not the one that was accepted'),
    difference: offered === null ? null : differenceOf(everyDefinition(accepted), everyDefinition(offered)),
    findings: findingsIn(everyDefinition(offered ?? accepted)),
  };
}

type Accepting = Requester & {
  readonly name: string;
  /** The digest of the definitions that were shown; nothing else is accepted. */
  readonly shown: string;
};

/** Accepts what a server offers, if the policies let this principal administer; who did is recorded. */
export async function approveUpstream(gateway: Gateway, accepting: Accepting): Promise<UpstreamView> {
  const { name, principal, tenant, shown } = accepting;
  const { rule } = showUpstream(gateway, name);
  await administer(gateway, { by: principal, tenant }, (tx) => {
    const offer = offerOf(name, pinOf(tx, name), rule);
    // Boundary: what a person saw is what is accepted, however fast the server changes.
    if (offer.set.digest !== shown)
      throw new CodedError(
        'upstream/quarantined',
        `Cannot accept "${name}": it offers other tools than those that were shown`,
      );
    accept(tx, name, offer, { by: formatPrincipal(principal), nowMs: gateway.clock.nowMs() });
    record(gateway, tx, { kind: 'upstream-accepted', name, requester: accepting, body: pinnedBody(offer) });
  });
  gateway.upstreams.sessions.endAll(name, 'another set of its tools was accepted');
  return showUpstream(gateway, name);
}

/** What can be accepted: the last offer of the command that is configured now, or of the wrapped one. */
export function offerOf(name: string, pin: Pin | null, rule: UpstreamRule | null): Offer {
  const command = rule === null ? (pin?.offeredRule ?? pin?.rule) : ruleDigest(rule);
  if (pin?.offered != null && pin.offeredRule === command)
    return { set: pin.offered, rule: command as Digest };
  if (pin?.state === 'accepted' && pin.rule === command)
    return { set: pin.accepted, rule: command as Digest };
  throw new CodedError(
    'upstream/quarantined',
    `Cannot accept "${name}": what it offers could not be read, or it was never connected to`,
    {
      remedy: `Run \`palisade upstream refresh ${name}\`, then look at it with \`palisade upstream show ${name}\`.`,
    },
  );
}
