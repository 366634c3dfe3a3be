import { FEATURES, isSupported } from '@palisade/wasm';
import { type Audit, auditModule } from '../module/audit.ts';
import { linkedModule } from '../module/component.ts';
import { tellModuleErrors } from '../module/errors.ts';
import { type ModuleFile, readModuleFile } from '../module/file.ts';
import { printAudit } from '../module/show.ts';
import type { Invocation } from '../verb.ts';

const LINKED =
  'It is a component. Everything above but the first lines is of the one core module that it is linked into.';

/** Looks at a module, or at what a component is linked into, without compiling or running it. */
export function run(invocation: Invocation): Promise<number> {
  const { print } = invocation;
  return tellModuleErrors(print, async () => {
    const file = await readModuleFile(invocation);
    const linked = linkedModule(file.bytes);
    const audit = auditModule(linked ?? file.bytes);
    if (print.json) print.document({ ...documentOf(file, audit), isComponent: linked !== null });
    else {
      printAudit(print, file, audit);
      if (linked !== null) print.line(LINKED);
    }
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
