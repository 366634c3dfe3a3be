/* What the prose of a server's tools gives reason to doubt, by the same checks that skills are audited with. */

import type { AuditSubject } from '../../skills/audit/check.ts';
import { PROSE_CHECKS } from '../../skills/audit/checks/prose.table.ts';
import { fold } from '../../skills/audit/prose/fold.ts';
import { findHidden } from '../../skills/audit/prose/hidden.ts';
import { type Material, stringsOf } from '../../skills/audit/prose/material.ts';
import { findPhrases } from '../../skills/audit/prose/phrases.ts';
import type { Definition } from '../../upstreams/definition.ts';

export type ProseFinding = {
  /** The id of the check, as docs/skill-audit.md has it. */
  readonly check: string;
  readonly severity: string;
  readonly where: string;
  readonly what: string;
};

const MOST_STRINGS = 2_000;
const MOST_FINDINGS = 200;

/** Everything that the checks see in titles, descriptions and schemas; never more than a reader could look at. */
export function findingsIn(definitions: readonly Definition[]): readonly ProseFinding[] {
  const texts = definitions.flatMap(textsOf);
  // The prose checks look at texts and at nothing else of a subject.
  const subject = { texts } as unknown as AuditSubject;
  const findings: ProseFinding[] = [];
  for (const { id, severity, look } of PROSE_CHECKS)
    for (const { where, what } of look(subject)) {
      if (findings.length === MOST_FINDINGS) return findings;
      findings.push({ check: id, severity, where, what });
    }
  return findings;
}

function textsOf({ name, title, description, inputSchema, outputSchema }: Definition): readonly Material[] {
  const place = `the tool "${name}"`;
  return [
    material('name', `${place}, title`, title ?? ''),
    material('listed', `${place}, description`, description),
    material('listed', `${place}, inputSchema`, stringsOf(inputSchema, MOST_STRINGS).join('\n\n')),
    material('listed', `${place}, outputSchema`, stringsOf(outputSchema, MOST_STRINGS).join('\n\n')),
  ].filter(({ text }) => text !== '');
}

function material(kind: 'name' | 'listed', where: string, text: string): Material {
  const folded = fold(text);
  return {
    kind,
    where,
    text,
    hasLines: false,
    folded,
    phrases: findPhrases(folded),
    hidden: findHidden(text),
  };
}
