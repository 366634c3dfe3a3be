import type { Fault } from './attempt.ts';
import { FIXES, NAMESPACE_SETTINGS, NAMESPACE_STEPS, OTHER_FIX } from './fixes.table.ts';

/** Reads a small file of the kernel; null where there is none. */
export type ReadSetting = (path: string) => string | null;

/** The fix for a fault. A setting of the kernel that forbids namespaces comes first, as it explains the rest. */
export function fixOf({ step, errno }: Fault, read: ReadSetting): string {
  const setting = NAMESPACE_STEPS.includes(step) ? forbiddingSetting(read) : null;
  const row = FIXES.find(
    ({ steps, errnos }) =>
      steps.includes(step) && (errnos.length === 0 || (errno !== null && errnos.includes(errno))),
  );
  return setting?.fix ?? row?.fix ?? OTHER_FIX;
}

/** Which setting of the kernel forbids user namespaces; null where none does. */
export function forbiddingSetting(read: ReadSetting): (typeof NAMESPACE_SETTINGS)[number] | null {
  return NAMESPACE_SETTINGS.find(({ path, forbids }) => read(path)?.trim() === forbids) ?? null;
}
