import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ProcessTerms } from '../../src/core/process.ts';
import { authorize } from '../../src/policy/authorize.ts';
import type { PolicyEngine } from '../../src/policy/engine.ts';
import {
  ADA,
  BOB,
  COUNT,
  checkedCall,
  engineWith,
  FACTS,
  makeTool,
  PERMIT_ALL,
  preparedProcess,
} from './sample.ts';

/* What policies are told about the network and the place of a command. The policies are those that docs/policy.md shows. */

const PAGE = readFileSync(join(import.meta.dirname, '../../../../docs/policy.md'), 'utf8');
const RUN = makeTool({ id: 'palisade.process.run', category: 'process', risk: 'medium', tier: 'c' });
const BUILDERS = { groups: new Map([['user:bob', ['builders']]]) };

function recipe(id: string): string {
  const [text] = new RegExp(`@id\\("${id}"\\)[^;]*;`).exec(PAGE) ?? [];
  if (text === undefined) throw new Error(`docs/policy.md has no recipe "${id}"`);
  return `${PERMIT_ALL}${text}`;
}

function verdict(engine: PolicyEngine, terms: Partial<ProcessTerms>, principal = ADA): string {
  const call = { ...checkedCall(RUN, { text: '' }, principal), process: preparedProcess(terms) };
  return authorize(engine, call, FACTS).verdict;
}

describe('context.process.egressHosts', () => {
  test.each([
    ['an entry of the policy', ['api.example.com'], 'allow'],
    ['all entries of the policy', ['*.example.org', 'api.example.com'], 'allow'],
    ['no network', [], 'allow'],
    ['an entry more', ['api.example.com', 'evil.example'], 'deny'],
    ['a wider entry', ['*.example.com'], 'deny'],
    ['the same host in another spelling', ['API.example.com'], 'deny'],
  ])('lets an agent run with %s or not', (_, egressHosts, expected) => {
    const engine = engineWith(recipe('agents-run-with-known-hosts'));
    expect(verdict(engine, { egressHosts })).toBe(expected);
    expect(verdict(engine, { egressHosts }, BOB)).toBe('allow');
  });

  test('is no reason to refuse a call that is no command', () => {
    const engine = engineWith(recipe('agents-run-with-known-hosts'));
    expect(authorize(engine, checkedCall(COUNT, { text: '' }), FACTS).verdict).toBe('allow');
  });

  test('can be as long as the longest list of an operator', () => {
    const engine = engineWith(recipe('agents-run-with-known-hosts'));
    const egressHosts = Array.from({ length: 10_000 }, (_, i) => `host-${i}.example.com`);
    expect(verdict(engine, { egressHosts })).toBe('deny');
    expect(verdict(engine, { egressHosts }, BOB)).toBe('allow');
  });
});

describe('context.process.secrets', () => {
  test.each([
    ['somebody who uses none', ADA, [], 'allow'],
    ['somebody who may not use one', ADA, ['github'], 'deny'],
    ['somebody who may', BOB, ['github'], 'allow'],
    ['somebody who may use another', BOB, ['github', 'production'], 'deny'],
  ])('decides upon %s', (_, principal, secrets, expected) => {
    const engine = engineWith(recipe('secrets-are-for-builders'), BUILDERS);
    expect(verdict(engine, { secrets }, principal)).toBe(expected);
  });
});

describe('context.process.workspaceRoot', () => {
  test.each([
    ['the root of the policy', '/srv/projects/site', 'allow'],
    ['another root', '/srv/projects/other', 'deny'],
    ['a root around it', '/srv/projects', 'deny'],
  ])('lets an agent work in %s or not', (_, root, expected) => {
    const engine = engineWith(recipe('agents-work-on-the-site'));
    const prepared = preparedProcess({ workspace: '/srv/projects/site' });
    const process = { ...prepared, facts: { ...prepared.facts, root } };
    const call = { ...checkedCall(RUN, { text: '' }), process };
    expect(authorize(engine, call, FACTS).verdict).toBe(expected);
  });
});
