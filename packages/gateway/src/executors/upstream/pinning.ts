import type { UpstreamRule } from '../../config/config.ts';
import type { Clock } from '../../core/clock.ts';
import type { Json } from '../../core/json.ts';
import { formatPrincipal, type Principal } from '../../core/principal.ts';
import { accept } from '../../core/result.ts';
import type { Journal } from '../../journal/journal.ts';
import type { AuditSeverity, AuditSubject } from '../../skills/audit/check.ts';
import { PROSE_CHECKS } from '../../skills/audit/checks/prose.table.ts';
import { fold } from '../../skills/audit/prose/fold.ts';
import { findHidden } from '../../skills/audit/prose/hidden.ts';
import type { Material } from '../../skills/audit/prose/material.ts';
import { stringsOf } from '../../skills/audit/prose/material.ts';
import { findPhrases } from '../../skills/audit/prose/phrases.ts';
import type { Store } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';
import {
  type Definition,
  type DefinitionSet,
  everyDefinition,
  type OfferRead,
  setOf,
} from '../../upstreams/definition.ts';
import { differenceOf, inWords } from '../../upstreams/difference.ts';
import { DEFINITION_LIMITS } from '../../upstreams/listed.ts';
import {
  holdFirst,
  type Offer,
  type Pin,
  pinFirst,
  pinOf,
  quarantine,
  relist,
  ruleDigest,
} from '../../upstreams/pins.ts';

/*
 * Compares what a server offers with what was accepted: pinned the first time, and quarantined when it differs. Its
 * prose is subject to the same checks as that of skills; where they find something that a person must judge, already the
 * first offer is quarantined.
 */

/** On whose behalf a server is started. */
export type Requester = { readonly principal: Principal; readonly tenant: string };

/** How a server's offer compares with what was accepted; `reason` says what is wrong. */
export type OfferStatus =
  | { readonly kind: 'pinned' | 'accepted' }
  | { readonly kind: 'quarantined' | 'unreadable'; readonly reason: string };

/** Where pins and their changes are recorded. */
export type PinRecords = { readonly store: Store; readonly journal: Journal; readonly clock: Clock };

/** Compares a server's current offer with its pin, and records the consequences. */
export function compareWithPin(
  records: PinRecords,
  rule: UpstreamRule,
  read: OfferRead,
  requester: Requester,
): Promise<OfferStatus> {
  const seen = pinOf(records.store, rule.name);
  // The usual case: nothing is written.
  if (seen !== null && isSame(seen, rule, read) && !isRelisted(seen, read))
    return Promise.resolve({ kind: 'accepted' });
  return records.store.commit((tx) => {
    const { name } = rule;
    const pin = pinOf(tx, name);
    const nowMs = records.clock.nowMs();
    const offer: Offer | null = read.ok ? { set: read.value, rule: ruleDigest(rule) } : null;
    const unreadable = read.ok ? '' : read.problem;
    if (pin === null) {
      // Boundary: a new server whose tools cannot be read is not pinned.
      if (offer === null) return { kind: 'unreadable', reason: unreadable };
      return pinOrHold(records, tx, offer, { name, requester, nowMs });
    }
    if (isSame(pin, rule, read)) {
      if (offer !== null && isRelisted(pin, read)) relist(tx, name, offer.set);
      return { kind: 'accepted' };
    }
    // Boundary: tools that cannot be read differ from the accepted ones.
    const reason = offer === null ? unreadable : reasonFor(pin, offer);
    // The same offer as before is not recorded twice.
    if (pin.reason !== reason || !isOfferedAgain(pin, offer)) {
      quarantine(tx, name, offer, { reason, nowMs });
      const offered = offer === null ? { definitions: null } : pinnedBody(offer);
      record(records, tx, { kind: 'upstream-changed', name, requester, body: { ...offered, why: reason } });
    }
    return { kind: 'quarantined', reason };
  });
}

type FirstOffer = { readonly name: string; readonly requester: Requester; readonly nowMs: number };

function pinOrHold(
  records: PinRecords,
  tx: Transaction,
  offer: Offer,
  { name, requester, nowMs }: FirstOffer,
): OfferStatus {
  const body = pinnedBody(offer);
  const reason = whyToHold(offer.set);
  // Boundary: text that a person must judge is not accepted by the agent that happens to connect first.
  if (reason !== null) {
    holdFirst(tx, name, offer, { reason, nowMs });
    record(records, tx, { kind: 'upstream-held', name, requester, body: { ...body, why: reason } });
    return { kind: 'quarantined', reason };
  }
  pinFirst(tx, name, offer, { by: formatPrincipal(requester.principal), nowMs });
  record(records, tx, { kind: 'upstream-pinned', name, requester, body });
  return { kind: 'pinned' };
}

const MAX_NAMED_FINDINGS = 3;

/** Why a first offer is not accepted by itself: refusals and warnings, as in an audit, need a person. */
function whyToHold(set: DefinitionSet): string | null {
  const severe = findingsIn(everyDefinition(set)).filter(({ severity }) => severity !== 'note');
  if (severe.length === 0) return null;
  const named = severe.slice(0, MAX_NAMED_FINDINGS).map(({ check, where }) => `${check} in ${where}`);
  const more = severe.length - named.length;
  return `its texts have findings that a person must judge: ${named.join('; ')}${more === 0 ? '' : ` and ${more} more`}`;
}

function isOfferedAgain({ offered, offeredRule }: Pin, offer: Offer | null): boolean {
  return offer === null || (offered?.digest === offer.set.digest && offeredRule === offer.rule);
}

function isSame(pin: Pin, rule: UpstreamRule, read: OfferRead): boolean {
  const isAccepted = pin.state === 'accepted' && pin.rule === ruleDigest(rule);
  return isAccepted && read.ok && read.value.digest === pin.accepted.digest;
}

/** Whether its resources have changed. They are data, which need not be accepted. */
function isRelisted(pin: Pin, read: OfferRead): boolean {
  return read.ok && read.value.text !== pin.accepted.text;
}

/** The same definitions with the resources that are already listed. */
export function withAcceptedResources(
  { store }: Pick<PinRecords, 'store'>,
  name: string,
  read: OfferRead,
): OfferRead {
  if (!read.ok) return read;
  const { definitions, listed } = read.value;
  const resources = pinOf(store, name)?.accepted.listed.resources ?? [];
  return accept(setOf(definitions, { ...listed, resources }));
}

function reasonFor(pin: Pin, { set, rule }: Offer): string {
  if (pin.acceptedBy === null)
    return whyToHold(set) ?? 'its first offer had findings, and no person has accepted it or this one';
  if (pin.rule === rule && set.digest === pin.accepted.digest)
    return 'it offered other tools, and offers the accepted ones again';
  const command = pin.rule === rule ? '' : 'its command was changed; ';
  const difference = inWords(differenceOf(everyDefinition(pin.accepted), everyDefinition(set)));
  return `${command}${difference}`;
}

/** The journal's part of a set: its digest, its names, and findings in its prose. */
export function pinnedBody({ set, rule }: Offer): { readonly [key: string]: Json } {
  const findings = findingsIn(everyDefinition(set)).map(({ check, where }) => `${check}: ${where}`);
  return {
    definitions: set.digest,
    command: rule,
    tools: set.definitions.map(({ name }) => name),
    findings: findings.slice(0, MAX_RECORDED_FINDINGS),
  };
}

const MAX_RECORDED_FINDINGS = 50;

type UpstreamRecord = {
  readonly kind: 'upstream-pinned' | 'upstream-held' | 'upstream-changed' | 'upstream-accepted';
  readonly name: string;
  readonly requester: Requester;
  readonly body: { readonly [key: string]: Json };
};

/** Appends the record of a pin that was set or changed. */
export function record(
  { journal }: Pick<PinRecords, 'journal'>,
  tx: Transaction,
  { kind, name, requester, body }: UpstreamRecord,
): void {
  journal.append(tx, {
    kind,
    call: null,
    principal: formatPrincipal(requester.principal),
    tool: null,
    tenant: requester.tenant,
    body: { upstream: name, ...body },
  });
}

export type ProseFinding = {
  /** The id of the check, as in docs/skill-audit.md. */
  readonly check: string;
  readonly severity: AuditSeverity;
  readonly where: string;
  readonly what: string;
};

/** More than the largest definition can have: text behind many empty strings is searched too. */
const MAX_STRINGS = DEFINITION_LIMITS.definitionBytes;
const MAX_FINDINGS = 200;

/** The findings of the prose checks in titles, descriptions and schemas, bounded. */
export function findingsIn(definitions: readonly Definition[]): readonly ProseFinding[] {
  const texts = definitions.flatMap(textsOf);
  // The prose checks read the texts of a subject and nothing else.
  const subject = { texts } as unknown as AuditSubject;
  const findings: ProseFinding[] = [];
  for (const { id, severity, look } of PROSE_CHECKS)
    for (const { where, what } of look(subject)) {
      if (findings.length === MAX_FINDINGS) return findings;
      findings.push({ check: id, severity, where, what });
    }
  return findings;
}

function textsOf({ name, title, description, inputSchema, outputSchema }: Definition): readonly Material[] {
  const place = `the tool "${name}"`;
  return [
    material('name', `${place}, title`, title ?? ''),
    material('listed', `${place}, description`, description),
    material('listed', `${place}, inputSchema`, stringsOf(inputSchema, MAX_STRINGS).join('\n\n')),
    material('listed', `${place}, outputSchema`, stringsOf(outputSchema, MAX_STRINGS).join('\n\n')),
  ].filter(({ text }) => text !== '');
}

function material(kind: 'name' | 'listed', where: string, text: string): Material {
  const folded = fold(text);
  const seen = { folded, phrases: findPhrases(folded), hidden: findHidden(text) };
  return { kind, where, text, hasLines: false, ...seen };
}
