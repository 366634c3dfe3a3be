import { CodedError } from '../../core/coded-error.ts';
import { findingsIn, harmless, reportOf, subjectOf } from '../../skills/audit/audit.ts';
import type { AuditBench, AuditFinding, AuditReport, CaseCounts } from '../../skills/audit/check.ts';
import { importsOf } from '../../skills/audit/module/module-subject.ts';
import type { InstalledSkill } from '../../skills/index/skill.ts';
import { AUDIT_LIMITS } from '../../skills/limits.ts';
import { openPackage } from '../../skills/package/open-package.ts';
import { PACKAGE_FILES, type SkillPackage } from '../../skills/package/skill-package.ts';
import { keysOf, type TrustAsked, type TrustVerdict, trustFor } from '../../skills/trust.ts';
import type { Reader } from '../../store/transaction.ts';
import {
  ABI_ALLOC,
  ABI_FUNCTIONS,
  ABI_MODULE,
  type AbiFunction,
} from '../../tiers/a-wasm/engine/abi.table.ts';
import { linkToWorld, needOf, worldRow } from '../../tiers/a-wasm/engine/world.ts';
import type { Gateway } from '../gateway.ts';
import { type CaseResult, runCases } from './run-cases.ts';
import type { Acting } from './skill-acts.ts';

/** A complete audit: the static checks, then the test cases of the package, run without any capability. */

/** Null: the cases are not run. */
type CaseRun = (Acting & { readonly signal: AbortSignal }) | null;

export async function examine(gateway: Gateway, pkg: SkillPackage, cases: CaseRun): Promise<AuditReport> {
  const subject = subjectOf(pkg, await auditBench(gateway, pkg));
  const looked = findingsIn(subject);
  const about = { palisade: gateway.version, modules: subject.modules.map(importsOf) };
  const isRefused = looked.some(({ severity }) => severity === 'refusal');
  // What must not run is not run for its test cases either.
  if (cases === null || isRefused) return reportOf(pkg, looked, { cases: null, ...about });
  const mostMs = AUDIT_LIMITS.casesMs;
  const results = await runCases(gateway, { ...cases, pkg, withCapabilities: false, mostMs });
  return reportOf(pkg, [...looked, ...findingsOf(results)], { cases: countsOf(results), ...about });
}

function findingsOf(results: readonly CaseResult[]): readonly AuditFinding[] {
  const told = (verdict: CaseResult['verdict'], tell: (result: CaseResult) => AuditFinding) =>
    results
      .filter((each) => each.verdict === verdict && (verdict === 'failed' || each.case.needs.length === 0))
      .slice(0, AUDIT_LIMITS.findingsPerCheck)
      .map(tell);
  return [...told('failed', failed), ...told('not-run', notRun)];
}

function failed({ case: tried, why }: CaseResult): AuditFinding {
  return {
    id: 'cases/failed',
    severity: 'refusal',
    where: tried.file,
    sentence: harmless(`The case "${tried.name}" of ${tried.tool} did not end as it should: ${why}.`),
    remedy: 'Do not use this version; its author can reproduce it with `palisade skill test`.',
  };
}

/** It needs nothing, and something on the auditor's side was in the way: how it would have ended is unknown. */
function notRun({ case: { file, name }, why }: CaseResult): AuditFinding {
  return {
    id: 'cases/not-run',
    severity: 'warning',
    where: file,
    sentence: harmless(`The case "${name}" could not be run: ${why}.`),
    remedy: 'Audit it as a principal that the policies permit to call tools of the category "skill-test".',
  };
}

function countsOf(results: readonly CaseResult[]): CaseCounts {
  const count = (wanted: CaseResult['verdict']) => results.filter(({ verdict }) => verdict === wanted).length;
  return { passed: count('passed'), failed: count('failed'), notRun: count('not-run') };
}

/** The package of an installed skill, read from disk and compared to the byte; throws `skill/changed` if it differs. */
export async function storedPackage(
  { skills }: Pick<Gateway, 'skills'>,
  { id, version, artifact }: Pick<InstalledSkill, 'id' | 'version' | 'artifact'>,
): Promise<SkillPackage> {
  const pkg = await openPackage(skills.artifacts.read(artifact));
  const { manifest } = pkg;
  // Boundary: a row that names the bytes of another skill must not be a way to run them.
  if (manifest.id === id && manifest.version === version) return pkg;
  throw new CodedError(
    'skill/changed',
    `Cannot use ${id}@${version}: its stored package is ${manifest.id}@${manifest.version}`,
  );
}

/** The texts of a package for its readers. */
export function proseOf({ entries }: SkillPackage): string {
  return Buffer.from(entries.get(PACKAGE_FILES.prose) ?? new Uint8Array(0)).toString('utf8');
}

/** What an audit needs from other modules: the ABI, the world of components, schemas, trust, advisories. */

const ABI: AuditBench['abi'] = {
  module: ABI_MODULE,
  alloc: ABI_ALLOC,
  functions: ABI_FUNCTIONS.map((row) => ({ name: row.name, type: typeOf(row), needs: row.needs })),
};

/** What the modules of a package are looked at with; it is the same for all gateways of a version. */
export const MODULE_BENCH: Pick<AuditBench, 'abi' | 'linkComponent'> = {
  abi: ABI,
  linkComponent: (component) => {
    const { bytes, imports } = linkToWorld(component);
    const rows = imports.map((each) => ({ each, row: worldRow(each) }));
    const judged = rows.map(({ each, row }) => ({
      ...each,
      need: row ? needOf(row) : null,
      abi: row?.abi,
    }));
    return { bytes, imports: judged };
  },
};

/** The inputs of an audit for one package, in the current state of the gateway. */
export async function auditBench(gateway: Gateway, pkg: SkillPackage): Promise<AuditBench> {
  const { Schemas } = await import('../../registry/schema.ts');
  const schemas = new Schemas();
  return {
    ...MODULE_BENCH,
    schemaProblem: (schema) => schemas.problemOf(schema),
    trust: trustOf(gateway.store, pkg, { nowMs: gateway.clock.nowMs(), use: 'load' }),
    advisories: gateway.skills.terms.advisories(),
    palisade: gateway.version,
  };
}

/** Whether the key of a package is currently valid for its publisher. */
export function trustOf(
  reader: Reader,
  { signer, manifest }: Pick<SkillPackage, 'signer' | 'manifest'>,
  asked: Pick<TrustAsked, 'nowMs' | 'use' | 'firstUse'>,
): TrustVerdict {
  const { publisher } = manifest;
  return trustFor(keysOf(reader, publisher), { ...asked, publisher, keyId: signer?.keyId ?? null });
}

function typeOf({ params, result }: AbiFunction): string {
  return `(${params.map(([, type]) => type).join(', ')}) -> ${result ?? '()'}`;
}
