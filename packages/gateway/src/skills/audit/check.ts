import type { SkillPackage } from '../package/skill-package.ts';
import type { AuditBench } from './bench.ts';
import type { ModuleSubject } from './module/module-subject.ts';
import type { Material } from './prose/material.ts';
import type { AuditSeverity } from './report.ts';

/** Something that a check saw: where, what it is, and what to do about it. */
export type Sighting = { readonly where: string; readonly what: string; readonly remedy: string };

/** What is audited, read once for all checks. */
export type AuditSubject = {
  readonly pkg: SkillPackage;
  readonly bench: AuditBench;
  /** The modules that a tool names. */
  readonly modules: readonly ModuleSubject[];
  /** The texts that people and models read, with what stands out in them. */
  readonly texts: readonly Material[];
};

/** One thing that an audit looks for. A check only looks: it never throws, and it changes nothing. */
export type AuditCheck = {
  readonly id: string;
  readonly severity: AuditSeverity;
  /** What it looks for. */
  readonly sentence: string;
  readonly look: (subject: AuditSubject) => Iterable<Sighting>;
};
