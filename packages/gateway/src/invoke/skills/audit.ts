import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import { CodedError } from '../../core/coded-error.ts';
import { SkillTools } from '../../registry/skill-tools.ts';
import { advisoryFile } from '../../skills/advisories.ts';
import { Artifacts } from '../../skills/artifacts.ts';
import { reportOf } from '../../skills/audit/audit.ts';
import type { AuditReport } from '../../skills/audit/check.ts';
import { dueForAudit, skillAt } from '../../skills/index/read.ts';
import type { InstalledSkill } from '../../skills/index/skill.ts';
import { nextState, type SkillRef } from '../../skills/lifecycle.ts';
import type { SkillPackage } from '../../skills/package/skill-package.ts';
import { RunningSkills } from '../../skills/running.ts';
import type { Gateway, InstalledSkills, Records } from '../gateway.ts';
import { examine, storedPackage } from './examine.ts';
import {
  type Acting,
  move,
  type Named,
  quarantine,
  recordDenial,
  requireActUpon,
  requireSkill,
} from './skill-acts.ts';

type Auditing = Acting & Named & Pick<InstalledAudit, 'withCases' | 'signal'>;

/** Audits a skill again; one that fails is quarantined, whatever its state was. */
export async function auditSkill(gateway: Gateway, auditing: Auditing): Promise<InstalledSkill> {
  const skill = requireSkill(gateway.store, auditing, ['ingested', 'quarantined', 'active']);
  // Boundary: an audit runs the cases of a package, and what was revoked never runs again.
  if (skill.state === 'revoked') nextState(skill.state, 'audit', skill);
  const decide = (now: InstalledSkill) => requireActUpon(gateway, 'auditSkill', auditing, now);
  const { signal, withCases } = auditing;
  return recordDenial(gateway, () => {
    decide(skill);
    return auditInstalled(gateway, skill, { acting: auditing, pkg: null, signal, withCases, decide });
  });
}

type InstalledAudit = {
  /** Null: the gateway itself, on schedule; it has no caller to run cases for. */
  readonly acting: Acting | null;
  /** Null: it is read from disk. */
  readonly pkg: SkillPackage | null;
  /** Whether the test cases are run as well. */
  readonly withCases: boolean;
  readonly signal: AbortSignal;
  /** Asks the policies in the transaction that writes the result; left out: the audit is part of an act that they permit. */
  readonly decide?: (skill: InstalledSkill) => readonly string[];
};

/** The audit of an installed skill, and the state that follows. */
export async function auditInstalled(
  gateway: Gateway,
  skill: InstalledSkill,
  { acting, pkg, withCases, signal, decide }: InstalledAudit,
): Promise<InstalledSkill> {
  const found = pkg ?? (await packageOrQuarantine(gateway, skill, acting));
  const cases = acting === null || !withCases ? null : { ...acting, signal };
  const report = withCasesBefore(found, await examine(gateway, found, cases), skill.report);
  const audited = await gateway.store.commit((tx) => {
    const now = skillAt(tx, skill.id, skill.version);
    if (now === null || now.artifact !== skill.artifact || now.state === 'revoked')
      throw new CodedError(
        'skill/conflict',
        `Cannot audit ${skill.id}@${skill.version}: it was changed in the meantime`,
      );
    const step = { acting, decidedBy: decide?.(now) ?? [], report };
    const why = report.verdict === 'failed' ? 'the audit found what must not run' : null;
    if (now.state === 'ingested' || now.state === 'audited') {
      const isLooked = now.state === 'audited';
      const looked = isLooked ? now : move(gateway, tx, now, { ...step, event: 'audit', reason: why });
      const reason = why ?? 'it is new, and waits for an approval';
      return move(gateway, tx, looked, { ...step, event: 'quarantine', reason });
    }
    // Those who agreed before it failed have not seen the findings.
    const ends = why === null ? {} : { grant: null, approvedBy: [] };
    const event = why === null || now.state === 'quarantined' ? 'audit' : 'quarantine';
    return move(gateway, tx, now, { ...step, event, reason: why ?? now.reason, ...ends });
  });
  gateway.skills.running.look();
  return audited;
}

/** Boundary: an audit without running cases does not erase earlier failures of them. */
function withCasesBefore(pkg: SkillPackage, report: AuditReport, before: AuditReport | null): AuditReport {
  const { cases, palisade, modules = [] } = report;
  const kept = cases !== null ? [] : (before?.findings.filter(({ id }) => id.startsWith('cases/')) ?? []);
  return kept.length === 0
    ? report
    : reportOf(pkg, [...kept, ...report.findings], { cases, palisade, modules });
}

/** What cannot be read as it was approved is quarantined before the error is reported. */
async function packageOrQuarantine(
  gateway: Gateway,
  skill: InstalledSkill,
  acting: Acting | null,
): Promise<SkillPackage> {
  try {
    return await storedPackage(gateway, skill);
  } catch (error) {
    if (error instanceof CodedError && error.code.startsWith('skill/'))
      await quarantineChanged(gateway, skill, { why: error.message, acting });
    throw error;
  }
}

/** Quarantines a skill whose bytes are not those that were approved; does nothing where it already is. */
export async function quarantineChanged(
  gateway: Pick<Gateway, 'store' | 'journal' | 'clock' | 'skills'>,
  skill: SkillRef,
  why: Parameters<typeof quarantine>[3],
): Promise<void> {
  await gateway.store.commit((tx) => quarantine(gateway, tx, skill, why));
  gateway.skills.running.look();
}

/** Audits what is due by the operator's schedule; returns what it audited. */
export async function auditDue(
  gateway: Gateway,
  signal: AbortSignal,
  limit = 10,
): Promise<readonly InstalledSkill[]> {
  const nowMs = gateway.clock.nowMs();
  const beforeMs = nowMs - gateway.skills.terms.reauditAfterMs;
  const audited: InstalledSkill[] = [];
  for (const { id, version } of dueForAudit(gateway.store, { beforeMs, nowMs, limit })) {
    if (signal.aborted) break;
    try {
      const skill = skillAt(gateway.store, id, version);
      if (skill === null) continue;
      audited.push(
        await auditInstalled(gateway, skill, { acting: null, pkg: null, signal, withCases: false }),
      );
    } catch (error) {
      // A skill whose package changed is in quarantine by now; the next one is audited regardless.
      if (!(error instanceof CodedError)) throw error;
      if (error.code === 'store/corrupt')
        await quarantineChanged(gateway, { id, version }, { why: error.message, acting: null });
      else if (!error.code.startsWith('skill/')) throw error;
    }
  }
  return audited;
}

type OpenedSkills = { readonly installed: InstalledSkills; readonly tools: SkillTools };

/** Opens the skills of a state directory; nothing of a skill is read before it is called. */
export function openSkills(records: Records, { skills }: Config, stateDir: string): OpenedSkills {
  const { advisories, ...terms } = skills;
  const installed: InstalledSkills = {
    artifacts: new Artifacts(join(stateDir, 'skills')),
    running: new RunningSkills(records.store),
    terms: { ...terms, advisories: advisoryFile(advisories) },
  };
  const tools = new SkillTools({
    reader: records.store,
    artifacts: installed.artifacts,
    clock: records.clock,
    onMisfit: (skill, why) =>
      quarantineChanged({ ...records, skills: installed }, skill, { why, acting: null }),
  });
  return { installed, tools };
}

const AUDIT_LOOK_MS = 60_000;

/** A long-lived gateway checks every minute for skills whose audit is too old; returns a function that stops it. */
export function auditOnSchedule(gateway: Gateway): () => Promise<void> {
  const stop = new AbortController();
  let last: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    // What cannot be audited now is audited a minute later; what runs until then was audited before.
    last = last.then(() => auditDue(gateway, stop.signal)).catch(() => undefined);
  }, AUDIT_LOOK_MS).unref();
  return async () => {
    clearInterval(timer);
    stop.abort();
    await last;
  };
}
