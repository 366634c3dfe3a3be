/**
 * What one kind of capability is to everything that handles it before a module runs: the keys of skill.toml that ask
 * for it and their checks, the grant that follows from that and what the operator can withhold of it, the sentences for
 * people, and the form in which `palisade wasm run --grant` takes it. One file here describes one kind, the table in
 * kinds.ts lists them, and nothing else knows them. The numbers and shapes that a run needs are in core/wasm.ts.
 */
import { accept, type Result, reject, type ValuePath } from '../../core/result.ts';
import type { Shape } from '../../core/shape.ts';
import { type Misfit, misfitAt, type ShapeProblem } from '../../core/shape-problem.ts';
import {
  type Asks,
  CAPABILITY_NAME_SHAPE,
  type GrantKind,
  isCapabilityName,
  type WasmGrants,
} from '../../core/wasm.ts';
import type { Checked } from '../manifest/checked.ts';
import type { ManifestKey } from '../manifest/key-rows.ts';

export type Capability = {
  readonly kind: GrantKind;
  /** Whether it reaches what exists beside the call and after it; only that can be withheld. */
  readonly isReaching: boolean;

  /** The key below `capabilities` that asks for it, and every key below it with its rule. */
  readonly manifestKey: string;
  readonly keys: readonly ManifestKey[];
  /** What its keys must be to each other; what did not fit its own key is not checked again. */
  readonly check?: (asks: Checked, context: CheckContext) => void;
  /** What is asked for, of a table in which nothing was found. */
  readonly readAsks: (asks: Checked) => Partial<Asks>;
  /** What is kept of it in the database. */
  readonly shapes: {
    readonly asks: { readonly [K in keyof Asks]?: Shape<Asks[K]> };
    readonly grants: { readonly [K in keyof WasmGrants]?: Shape<WasmGrants[K]> };
  };

  /** Each single thing that is asked for, for people to decide on. */
  readonly describe: (asks: Asks) => readonly AskRow[];
  /** Options that withhold more or less than one of these. */
  readonly withholdings?: (asks: Asks) => readonly string[];

  /** The grant of all that is asked for. */
  readonly grantAll: (asks: Asks) => Partial<WasmGrants>;
  /** The grants without what the option removes; one that was withheld keeps its position, and is closed. */
  readonly withhold?: (grants: WasmGrants, word: string) => Partial<WasmGrants>;
  /** What else still allows what the option should remove, spelled as it would be withheld; null: nothing. */
  readonly covering?: (word: string, left: WasmGrants, asks: Asks) => string | null;
  /** What is left of it for a module that imports only these functions of the ABI; every position is kept. */
  readonly usable: (grants: WasmGrants, imports: ReadonlySet<string>) => Partial<WasmGrants>;
  /** Without the closed ones. */
  readonly openOnly?: (grants: WasmGrants) => Partial<WasmGrants>;
  /** Every single thing that is allowed, each in a spelling of its own; what is closed is not among them, nor is a value. */
  readonly terms: (grants: WasmGrants) => readonly string[];

  /** As `--grant` takes it, and what that gives. */
  readonly form: string;
  readonly sentence: string;
  /** Reads what follows the sign behind the kind. Boundary: what is nearly right is refused, never corrected. */
  readonly parseGrant: (value: string) => ParsedGrant;
  readonly spellGrants: (grants: WasmGrants) => readonly string[];
};

/** One thing that is asked for: how it is spelled to withhold it, a sentence, and the terms that a grant of all of it has. */
export type AskRow = {
  readonly spelling: string;
  readonly sentence: string;
  readonly terms: readonly string[];
};

export type CheckContext = {
  /** Whether the manifest says that hosts by wildcard and the root of the storage are meant. */
  readonly mayBeWild: boolean;
  readonly found: ShapeProblem[];
};

/** A `--grant` that was read: what must not be granted twice, and the grants with it. */
export type ParsedGrant = Result<
  { readonly what: string; readonly addTo: (grants: WasmGrants) => Partial<WasmGrants> },
  Misfit
>;

export const WILD_HINT = 'allow_wildcards = true under [capabilities] says that it is meant';

/** Reports what is wrong with the value at a path below `capabilities`. */
export function report({ found }: CheckContext, path: ValuePath, misfit: Misfit): void {
  found.push(misfitAt(['capabilities', ...path], misfit));
}

/** `NAME[:MODE]` behind the kind of a `--grant`. */
export function parseNameAndMode(
  value: string,
  modes: readonly string[],
): Result<{ readonly name: string; readonly mode: string | null }, Misfit> {
  const [name = '', mode, ...more] = value.split(':');
  if (!isCapabilityName(name))
    return reject({ is: `its name is "${name}"`, expected: CAPABILITY_NAME_SHAPE });
  if (more.length === 0 && (mode === undefined || modes.includes(mode)))
    return accept({ name, mode: mode ?? null });
  const expected = [...modes.map((each) => `"${each}"`), 'nothing'].join(' or ');
  return reject({ is: `"${[mode, ...more].join(':')}" follows its name`, expected });
}
