import type { AuditCheck, AuditSubject, Sighting } from '../check.ts';
import { MODULE_CHECKS, type ModuleCheck } from '../module/checks.table.ts';

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
