import type { Limits } from '../limits.ts';
import type { Form } from '../meter/plan.ts';
import { type Compilation, completeCompilation, fuelByName } from './compile.ts';
import { writeHex } from './digest.ts';
import { type Expected, openDiskForm, refusal, requireSeal } from './disk-form.ts';
import { type FileTerms, readFileTerms } from './file-terms.ts';
import { keyOf } from './key.ts';
import { PAGE_BYTES } from './memory.ts';
import { CONTROL_PREFIX } from './names.ts';
import { recipeOf } from './recipe.ts';

/** What a file must agree with to be revived by an engine. */
export type ReviveTerms = Expected & {
  readonly limits: Limits;
  readonly form: Form;
  readonly isDeterministic: boolean;
};

/** Compiles a serialized module. The bytes must not change in the meantime. Any mismatch is 'malformed'. */
export async function revive(sealed: Uint8Array<ArrayBuffer>, wanted: ReviveTerms): Promise<Compilation> {
  const { terms: text, code, key, file } = openDiskForm(sealed, wanted);
  // Both at once, on other threads: the compiled module is not handed out before the seal is verified.
  const [seal, compiled] = await Promise.all([
    requireSeal(sealed, wanted),
    WebAssembly.compile(code).catch((cause: unknown) => ({ cause })),
  ]);
  const terms = readFileTerms(text, wanted.limits);
  await requireTerms(terms, wanted);
  if (!(compiled instanceof WebAssembly.Module)) {
    throw refusal('V8 refuses its code', 'code that was compiled before', undefined, compiled.cause);
  }
  requireControls(compiled);
  const mostPages = Math.floor(terms.limits.memoryBytes / PAGE_BYTES);
  const { memories, ...outline } = terms.outline;
  const recipe = recipeOf({
    module: compiled,
    code,
    // Boundary: whatever the file says, a memory stays within the limits.
    outline: { ...outline, memories: memories.map(([min, max]) => [min, Math.min(max, mostPages)]) },
    hostFuel: fuelByName(terms.prices),
    hostCharged: new Set(terms.hostCharged),
    limits: terms.limits,
    isDeterministic: terms.isDeterministic,
  });
  const isKept = wanted.isKept !== false;
  return completeCompilation({ recipe, parts: terms, key, file, seal, isKept });
}

async function requireTerms(terms: FileTerms, wanted: ReviveTerms): Promise<void> {
  // Boundary: module, limits, prices and form are those of the digest.
  const key = writeHex(await keyOf(terms));
  if (key !== wanted.digest) throw refusal(`its terms are those of ${key}`, wanted.digest);
  if (terms.form !== wanted.form) throw refusal(`its form is ${terms.form}`, wanted.form);
  if (terms.isDeterministic !== wanted.isDeterministic) {
    throw refusal(`it is ${terms.isDeterministic ? '' : 'not '}deterministic`, 'what the engine is');
  }
}

function requireControls(module: WebAssembly.Module): void {
  const names = new Set(WebAssembly.Module.exports(module).map(({ name }) => name));
  for (const control of ['set', 'charge', 'left', 'why']) {
    if (!names.has(CONTROL_PREFIX + control))
      throw refusal(`its code has no ${CONTROL_PREFIX}${control}`, 'metered code');
  }
}
