import type { Asks } from '../../../core/wasm.ts';
import { hasGrant } from '../../../core/wasm.ts';
import { CAPABILITIES, grantAll, isGrantKind } from '../../capabilities/kinds.ts';
import type { AuditCheck, AuditSubject, Sighting } from '../check.ts';
import { MODULE_CHECKS, type ModuleCheck } from '../module/checks.table.ts';
import type { ModuleSubject } from '../module/module-subject.ts';

/** The capabilities that the manifest requests, as imports need them. */
export function declaredNeeds(asks: Asks): ReadonlySet<string> {
  const all = grantAll(asks);
  return new Set(Object.keys(CAPABILITIES).filter((need) => isGrantKind(need) && hasGrant(all, need)));
}

/** The key of the manifest that requests a capability. */
export function keyOf(need: string): string {
  return `capabilities.${isGrantKind(need) ? CAPABILITIES[need].manifestKey : need}`;
}

/** Needs declared but imported by no module. A secret that is only sent is used by modules that make requests. */
export function unusedNeeds(asks: Asks, modules: readonly ModuleSubject[]): readonly string[] {
  // An unreadable module is refused elsewhere; what it uses is unknown.
  if (modules.some(({ looked }) => looked === null)) return [];
  const used = new Set(modules.flatMap(({ imports }) => imports.map(({ need }) => need)));
  const isOnlySent = asks.secrets.every(({ mayReveal }) => !mayReveal);
  return [...declaredNeeds(asks)].filter(
    (need) => !used.has(need) && !(need === 'secret' && isOnlySent && used.has('http')),
  );
}

/** The checks of every module, as the audit of a skill weighs them. */
export const SHARED_MODULE_CHECKS: readonly AuditCheck[] = MODULE_CHECKS.flatMap((check) => {
  const { id, sentence, severity, inSkills = severity } = check;
  if (inSkills === null) return [];
  return [{ id, severity: inSkills, sentence, look: (subject: AuditSubject) => lookWith(check, subject) }];
});

function* lookWith({ look, remedy }: ModuleCheck, { modules }: AuditSubject): Iterable<Sighting> {
  for (const { path, looked } of modules) {
    if (looked === null) continue;
    // How much memory it may have is for the quota of the skill.
    const seen = { ...looked, needs: looked.needs.filter(({ limit }) => limit !== 'memoryBytes') };
    const what = look(seen);
    if (what !== null)
      yield { where: path, what, remedy: typeof remedy === 'string' ? remedy : remedy(seen) };
  }
}
