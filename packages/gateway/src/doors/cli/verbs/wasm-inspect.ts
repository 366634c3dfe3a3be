import { FEATURES, isSupported } from '@palisade/wasm';
import { type Audit, auditModule } from '../module/audit.ts';
import { tellModuleErrors } from '../module/errors.ts';
import { type ModuleFile, readModuleFile } from '../module/file.ts';
import { printAudit } from '../module/show.ts';
import type { Invocation } from '../verb.ts';

/** Looks at a module without compiling or running it. */
export function run(invocation: Invocation): Promise<number> {
  const { print } = invocation;
  return tellModuleErrors(print, async () => {
    const file = await readModuleFile(invocation);
    const audit = auditModule(file.bytes);
    if (print.json) print.document(documentOf(file, audit));
    else printAudit(print, file, audit);
    return isAccepted(audit) ? 0 : 2;
  });
}

function isAccepted({ findings }: Audit): boolean {
  return findings.every(({ severity }) => severity !== 'refusal');
}

function documentOf({ name, sha256 }: ModuleFile, audit: Audit) {
  const { facts, metered, needs, findings } = audit;
  const { features, memory, table, largestDense, names, bodies, ...plain } = facts;
  return {
    ok: isAccepted(audit),
    file: name,
    sha256,
    ...plain,
    features: FEATURES.map(({ name: feature, allowed }) => ({
      name: feature,
      used: feature === 'mvp' || features.includes(feature),
      allowed,
      supported: isSupported(feature),
    })),
    memory: { minPages: memory.min, maxPages: memory.max ?? null },
    table: { minElements: table.min, maxElements: table.max ?? null },
    largestDense: largestDense ?? null,
    names: { ...names, module: names.module ?? null },
    bodies: bodies ?? null,
    metered: metered === null ? null : { bytes: metered.bytes.length, form: metered.form },
    limits: needs,
    findings,
  };
}
