import type { Digest } from '../../core/digest.ts';
import {
  anyText,
  ifPresent,
  list,
  literal,
  object,
  orNull,
  type Shaped,
  whole,
} from '../../core/json-shape.ts';
import { choice, required, type Shape, table } from '../../core/shape.ts';
import type { JsonSchema } from '../../core/tool.ts';
import type { Advisory } from '../advisories.ts';
import type { SkillPackage } from '../package/skill-package.ts';
import type { TrustVerdict } from '../trust.ts';
import type { ModuleSubject } from './module/module-subject.ts';
import type { Material } from './prose/material.ts';

/** Something that a check saw: where, what it is, and what to do about it where the remedy of the check does not fit. */
export type Sighting = { readonly where: string; readonly what: string; readonly remedy?: string };

type Remark = string | Omit<Sighting, 'where'>;

/** What a check says of one thing that it looked at; null: nothing. */
type Remarks = Remark | null | readonly Remark[];

export function sightingsAt(where: string, remarks: Remarks): readonly Sighting[] {
  const all = remarks === null ? [] : [remarks].flat();
  return all.map((each) => (typeof each === 'string' ? { where, what: each } : { where, ...each }));
}

/** Makes the checks of all things of a kind: `list` says where each is, and a check what there is to say of it. */
export function each<Thing>(
  list: (subject: AuditSubject) => Iterable<readonly [where: string, thing: Thing]>,
): (look: (thing: Thing, subject: AuditSubject) => Remarks) => AuditCheck['look'] {
  return (look) =>
    function* (subject) {
      for (const [where, thing] of list(subject)) yield* sightingsAt(where, look(thing, subject));
    };
}

/** What is said of these if there are any. */
export function ifAny<T>(found: readonly T[], say: (found: readonly T[]) => string): string | null {
  return found.length === 0 ? null : say(found);
}

/** What is audited, read once for all checks. */
export type AuditSubject = {
  readonly pkg: SkillPackage;
  readonly bench: AuditBench;
  /** The modules that a tool names. */
  readonly modules: readonly ModuleSubject[];
  /** The texts that people and models read, with what is notable in them. */
  readonly texts: readonly Material[];
};

/** One thing that an audit checks for. A check only reads: it never throws, and it changes nothing. */
export type AuditCheck = {
  readonly id: string;
  readonly severity: AuditSeverity;
  /** What it looks for. */
  readonly sentence: string;
  /** What to do about it; left out: every sighting says it. */
  readonly remedy?: string;
  readonly look: (subject: AuditSubject) => Iterable<Sighting>;
};

type Weighed = { readonly id: string; readonly severity: AuditSeverity };

/** Makes the rows of a table of checks, by their severity. */
export function severities<Row extends Weighed>() {
  const rowsOf = (severity: AuditSeverity) => (id: Row['id'], row: Omit<Row, keyof Weighed>) =>
    ({ id, severity, ...row }) as Row;
  return { refusal: rowsOf('refusal'), warning: rowsOf('warning'), note: rowsOf('note') };
}

export const { refusal, warning, note } = severities<AuditCheck>();

/** What an audit needs and the audit does not know: the ABI, the world of components, schemas, trust and advisories. */
export type AuditBench = {
  readonly abi: {
    /** The module that host functions are imported from. */
    readonly module: string;
    /** The export that allocates bytes. */
    readonly alloc: string;
    /** Types are written like `(i32, i32) -> i64`; `needs` is the capability that a function requires, if any. */
    readonly functions: readonly {
      readonly name: string;
      readonly type: string;
      readonly needs: string | null;
    }[];
  };
  /** Makes one core module of a component that fits the world. Throws a WasmError for any other. */
  readonly linkComponent: (bytes: Uint8Array) => {
    readonly bytes: Uint8Array;
    readonly imports: readonly {
      readonly module: string;
      readonly name: string;
      readonly need: string | null;
      /** The function of the ABI that it becomes, null where it reaches nothing; undefined: it is unknown. */
      readonly abi: string | null | undefined;
    }[];
  };
  /** Why a schema cannot be used; null when it can. */
  readonly schemaProblem: (schema: JsonSchema) => string | null;
  readonly trust: TrustVerdict;
  readonly advisories: readonly Advisory[];
  /** The version that audits. */
  readonly palisade: string;
};

/** A refusal prevents approval; a warning must be accepted by a person; a note is informational. */
const SEVERITY = choice(['refusal', 'warning', 'note']);
export type AuditSeverity = Shaped<typeof SEVERITY>;

const FINDING = object({
  /** Of the check that found it. */
  id: anyText,
  severity: SEVERITY,
  /** A file of the package, with a line where there is one, or a part of the manifest. */
  where: anyText,
  sentence: anyText,
  remedy: anyText,
});
export type AuditFinding = Shaped<typeof FINDING>;

const CASES = object({ passed: whole, failed: whole, notRun: whole });
export type CaseCounts = Shaped<typeof CASES>;

/** The functions of the ABI that a module imports; null: they could not be determined. */
const MODULE_IMPORTS = object({ path: anyText, imports: orNull(list(anyText)) });
export type ModuleImports = Shaped<typeof MODULE_IMPORTS>;

const REPORTED = {
  format: literal(1),
  skill: anyText,
  version: anyText,
  artifact: anyText as Shape<Digest>,
  verdict: choice(['passed', 'failed']),
  findings: list(FINDING),
  /** How many checks looked. */
  checks: whole,
  /** How the test cases of the package ended; null: they were not run. */
  cases: orNull(CASES),
  /** Of the palisade that audited. */
  palisade: anyText,
};
const REPORTED_OBJECT = object(REPORTED);
export type AuditReport = Shaped<typeof REPORTED_OBJECT> & {
  /** What each module that a tool names can use; left out by a palisade that did not look. */
  readonly modules?: readonly ModuleImports[];
};

/** The form in which a report is kept. */
export const REPORT = table({
  ...Object.fromEntries(
    Object.entries(REPORTED).map(([key, shape]) => [key, required(shape as Shape<unknown>)]),
  ),
  modules: ifPresent(list(MODULE_IMPORTS)),
}) as Shape<AuditReport>;
export type AuditVerdict = AuditReport['verdict'];
