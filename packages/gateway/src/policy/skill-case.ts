import { parsePrincipal } from '../core/principal.ts';
import type { SkillActFacts } from './skill-act.ts';

/** The skill that a case of a policy test is about. */
export type SkillCase = Pick<SkillActFacts, 'skill' | 'about'>;

type Field = { readonly isValid: (value: unknown) => boolean; readonly expected: string };

const TEXT: Field = { isValid: isText, expected: 'a text' };
const TEXTS: Field = {
  isValid: (value) => Array.isArray(value) && value.every(isText),
  expected: 'a list of texts',
};

const FIELDS: Readonly<Record<string, Field>> = {
  id: { isValid: isSkillId, expected: 'a skill such as "acme.text"' },
  publisher: TEXT,
  version: TEXT,
  trust: TEXT,
  state: TEXT,
  capabilities: TEXTS,
  hosts: TEXTS,
  has_wildcards: { isValid: (value) => typeof value === 'boolean', expected: 'true or false' },
  verdict: { isValid: isVerdict, expected: '"passed", "failed" or "none"' },
  findings: TEXTS,
  installed_by: {
    isValid: (value) => typeof value === 'string' && parsePrincipal(value) !== null,
    expected: 'a principal such as "user:grace"',
  },
};

/** Reads the table `skill` of a case, or says what is wrong with it. What it leaves out is as of a skill that asks nothing. */
export function readSkillCase(raw: Readonly<Record<string, unknown>>): SkillCase | string {
  for (const [key, value] of Object.entries(raw)) {
    const field = Object.hasOwn(FIELDS, key) ? FIELDS[key] : undefined;
    if (field === undefined) return `"skill.${key}" is not known, expected ${Object.keys(FIELDS).join(', ')}`;
    if (!field.isValid(value)) return `"skill.${key}" is not valid, expected ${field.expected}`;
  }
  if (raw.id === undefined) return 'the skill has no "id", expected a skill such as "acme.text"';
  const id = String(raw.id);
  const { publisher = id.split('.')[0], version = '1.0.0', trust = 'operator', verdict = 'none' } = raw;
  return {
    skill: { id, publisher: String(publisher), version: String(version), trust: String(trust) },
    about: {
      state: String(raw.state ?? 'new'),
      capabilities: textsOf(raw.capabilities),
      hosts: textsOf(raw.hosts),
      hasWildcards: raw.has_wildcards === true,
      verdict: isVerdict(verdict) ? verdict : 'none',
      findings: textsOf(raw.findings),
      installedBy: raw.installed_by === undefined ? null : String(raw.installed_by),
    },
  };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isSkillId(value: unknown): boolean {
  return isText(value) && /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(value);
}

function isVerdict(value: unknown): value is 'passed' | 'failed' | 'none' {
  return value === 'passed' || value === 'failed' || value === 'none';
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}
