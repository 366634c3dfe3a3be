/* What a server offers, against what was accepted: pinned the first time, and put into quarantine when it differs. */
import type { UpstreamRule } from '../../config/config.ts';
import type { Json } from '../../core/json.ts';
import { formatPrincipal, type Principal } from '../../core/principal.ts';
import type { Transaction } from '../../store/transaction.ts';
import { everyDefinition, type ReadDefinitions, setOf } from '../../upstreams/definition.ts';
import { differenceOf, inWords } from '../../upstreams/difference.ts';
import { type Offer, type Pin, pinFirst, pinOf, quarantine, relist } from '../../upstreams/pins.ts';
import { ruleDigest } from '../../upstreams/rule-digest.ts';
import type { Gateway } from '../gateway.ts';
import { findingsIn } from './findings.ts';

/** On whose behalf a server is talked to. */
export type Asker = { readonly principal: Principal; readonly tenant: string };

/** How a server stands after it was listened to; `why` says what is wrong. */
export type Stand =
  | { readonly kind: 'pinned' | 'accepted' }
  | { readonly kind: 'quarantined' | 'unreadable'; readonly why: string };

/** Compares what a server offers now with its pin, and writes down what follows from it. */
export function compareWithPin(
  gateway: Pick<Gateway, 'store' | 'journal' | 'clock'>,
  rule: UpstreamRule,
  read: ReadDefinitions,
  asker: Asker,
): Promise<Stand> {
  const seen = pinOf(gateway.store, rule.name);
  // The usual case writes nothing.
  if (seen !== null && isSame(seen, rule, read) && !isRelisted(seen, read))
    return Promise.resolve({ kind: 'accepted' });
  return gateway.store.commit((tx) => {
    const pin = pinOf(tx, rule.name);
    const nowMs = gateway.clock.nowMs();
    if (!read.ok) return unreadable(gateway, tx, { pin, rule, why: read.why, asker });
    const offer: Offer = { set: read.set, rule: ruleDigest(rule) };
    if (pin === null) {
      pinFirst(tx, rule.name, offer, { by: formatPrincipal(asker.principal), nowMs });
      record(gateway, tx, { kind: 'upstream-pinned', name: rule.name, asker, body: pinnedBody(offer) });
      return { kind: 'pinned' };
    }
    if (isSame(pin, rule, read)) {
      if (isRelisted(pin, read)) relist(tx, rule.name, read.set);
      return { kind: 'accepted' };
    }
    const why = reasonFor(pin, offer);
    // The same offer as before is no news.
    if (pin.offered?.digest !== offer.set.digest || pin.offeredRule !== offer.rule || pin.reason !== why) {
      quarantine(tx, rule.name, offer, { reason: why, nowMs });
      record(gateway, tx, {
        kind: 'upstream-changed',
        name: rule.name,
        asker,
        body: { ...pinnedBody(offer), why },
      });
    }
    return { kind: 'quarantined', why };
  });
}

function isSame(pin: Pin, rule: UpstreamRule, read: ReadDefinitions): boolean {
  const isAccepted = pin.state === 'accepted' && pin.rule === ruleDigest(rule);
  return isAccepted && read.ok && read.set.digest === pin.accepted.digest;
}

/** Whether it has other resources than before. They are data: nobody has to accept them. */
function isRelisted(pin: Pin, read: ReadDefinitions): boolean {
  return read.ok && read.set.text !== pin.accepted.text;
}

/** The same definitions with the resources that are listed already. */
export function withAcceptedResources(
  { store }: Pick<Gateway, 'store'>,
  name: string,
  read: ReadDefinitions,
): ReadDefinitions {
  if (!read.ok) return read;
  const { definitions, listed } = read.set;
  const resources = pinOf(store, name)?.accepted.listed.resources ?? [];
  return { ok: true, set: setOf(definitions, { ...listed, resources }) };
}

function reasonFor(pin: Pin, { set, rule }: Offer): string {
  if (pin.rule === rule && set.digest === pin.accepted.digest)
    return 'it offered other tools, and offers the accepted ones again';
  const command = pin.rule === rule ? '' : 'its command is another one; ';
  const difference = inWords(differenceOf(everyDefinition(pin.accepted), everyDefinition(set)));
  return `${command}${difference}`;
}

type Unreadable = {
  readonly pin: Pin | null;
  readonly rule: UpstreamRule;
  readonly why: string;
  readonly asker: Asker;
};

/** Boundary: tools that cannot be read are other tools than those that were accepted; of a new server, there are none. */
function unreadable(
  gateway: Pick<Gateway, 'journal' | 'clock'>,
  tx: Transaction,
  { pin, rule, why, asker }: Unreadable,
): Stand {
  if (pin === null) return { kind: 'unreadable', why };
  if (pin.state === 'accepted' || pin.reason !== why) {
    quarantine(tx, rule.name, null, { reason: why, nowMs: gateway.clock.nowMs() });
    record(gateway, tx, {
      kind: 'upstream-changed',
      name: rule.name,
      asker,
      body: { definitions: null, why },
    });
  }
  return { kind: 'quarantined', why };
}

/** What of a set goes into the journal: its digest, its names, and what its prose gives reason to doubt. */
export function pinnedBody({ set, rule }: Offer): { readonly [key: string]: Json } {
  const findings = findingsIn(everyDefinition(set)).map(({ check, where }) => `${check}: ${where}`);
  return {
    definitions: set.digest,
    command: rule,
    tools: set.definitions.map(({ name }) => name),
    findings: findings.slice(0, MOST_FINDINGS),
  };
}

const MOST_FINDINGS = 50;

export type UpstreamRecord = {
  readonly kind: 'upstream-pinned' | 'upstream-changed' | 'upstream-accepted';
  readonly name: string;
  readonly asker: Asker;
  readonly body: { readonly [key: string]: Json };
};

export function record(
  { journal }: Pick<Gateway, 'journal'>,
  tx: Transaction,
  { kind, name, asker, body }: UpstreamRecord,
): void {
  journal.append(tx, {
    kind,
    call: null,
    principal: formatPrincipal(asker.principal),
    tool: null,
    tenant: asker.tenant,
    body: { upstream: name, ...body },
  });
}
