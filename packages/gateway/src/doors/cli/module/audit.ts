import { MODULE_CHECKS, type ModuleCheck } from '../../../skills/audit/module/checks.table.ts';
import { type Looked, lookWhole } from '../../../skills/audit/module/look.ts';

/** Something that an audit of the module would say. */
export type ModuleFinding = {
  readonly severity: ModuleCheck['severity'];
  readonly sentence: string;
  readonly remedy: string;
};

/** All that can be told of a module without compiling or running it. */
export type Audit = Omit<Looked, 'refusal'> & { readonly findings: readonly ModuleFinding[] };

/** Looks at a module. Throws a WasmError for what is no module, or not one within the limits and features. */
export function auditModule(bytes: Uint8Array): Audit {
  const { refusal, ...looked } = lookWhole(bytes);
  const seen = { ...looked, refusal };
  const findings = MODULE_CHECKS.flatMap(({ severity, look, remedy }) => {
    const sentence = look(seen);
    if (sentence === null) return [];
    return [{ severity, sentence, remedy: typeof remedy === 'string' ? remedy : remedy(seen) }];
  });
  return { ...looked, findings };
}
