import { NO_GRANTS, type WasmGrants } from '../../../core/wasm.ts';
import type { ParsedGrant } from '../../../skills/capabilities/capability.ts';
import { CAPABILITIES, isGrantKind } from '../../../skills/capabilities/kinds.ts';
import { wrongUsage } from '../input.ts';

/** Each is a capability of its own, which the guest asks for by its position. */
const MOST_GRANTS = 64;

/** The grants of all `--grant`; each must have exactly one of the forms. */
export function readGrants(words: readonly string[]): WasmGrants {
  if (words.length > MOST_GRANTS)
    throw wrongUsage(
      `Cannot grant that many: --grant is given ${words.length} times, expected at most ${MOST_GRANTS}`,
    );
  const granted = new Set<string>();
  let grants = NO_GRANTS;
  for (const word of words) {
    const parsed = parseGrant(word);
    if (!parsed.ok) throw badGrant(word, parsed.problem);
    const { what, addTo } = parsed.value;
    if (granted.has(what)) throw badGrant(word, { is: `${what} is granted twice`, expected: 'it once' });
    granted.add(what);
    grants = { ...grants, ...addTo(grants) };
  }
  return grants;
}

/** Boundary: a word grants what it says and nothing else; one that is nearly a form is refused, never mended. */
function parseGrant(word: string): ParsedGrant {
  const [, kind = '', rest] = /^([a-z]+)([=:].*)?$/s.exec(word) ?? [];
  if (!isGrantKind(kind)) {
    const forms = Object.values(CAPABILITIES).map(({ form }) => form);
    throw badGrant(word, { is: 'it is not a grant', expected: `one of ${forms.join(', ')}` });
  }
  const { form, parseGrant: parse } = CAPABILITIES[kind];
  const sign = form.charAt(kind.length);
  if (sign === '' && rest !== undefined) throw badGrant(word, { is: 'it has a value', expected: form });
  if (sign !== '' && (rest?.[0] !== sign || rest.length === 1))
    throw badGrant(word, { is: 'it has no value', expected: form });
  return parse((rest ?? '').slice(1));
}

function badGrant(word: string, { is, expected }: { readonly is: string; readonly expected: string }) {
  return wrongUsage(`Cannot use --grant "${word}": ${is}, expected ${expected}`);
}
