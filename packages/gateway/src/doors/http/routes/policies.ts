import { join } from 'node:path';
import { parsePrincipal } from '../../../core/principal.ts';
import { doorCall } from '../../../invoke/invoke.ts';
import { checkTexts, replacePolicies } from '../../../invoke/replace-policies.ts';
import { checkDirectory } from '../../../policy/check.ts';
import type { PolicyFile } from '../../../policy/policy-set.ts';
import { checkDocument, explanationDocument, policiesDocument } from '../../documents/policies.ts';
import { checkCall, explainNow } from '../../explained-call.ts';
import { requireHome, requireReader } from '../may-see.ts';
import { type Asked, type Route, route } from '../route.ts';
import {
  checkBody,
  checked,
  explainBody,
  explanation,
  policies,
  replaceBody,
  replaced,
} from '../schemas/policy.ts';
import { actingOf, document, json } from './answer.ts';

/* The policies are of the whole gateway: they decide about every tenant, and those of its own see and replace them. */

const TAG = 'policies';

function requireSeer(asked: Pick<Asked, 'gateway' | 'caller'>): void {
  requireHome(asked);
  requireReader(asked);
}

const getPolicies = route({
  method: 'GET',
  path: '/v1/policies',
  name: 'getPolicies',
  tag: TAG,
  sentence: 'Shows the policies that decide, and the files as they are.',
  scope: 'read',
  replies: { 200: document(policies, 'The policies.') },
  handle: async (asked) => {
    requireSeer(asked);
    return json(policiesDocument(asked.gateway));
  },
});

const replace = route({
  method: 'PUT',
  path: '/v1/policies',
  name: 'replacePolicies',
  tag: TAG,
  sentence: 'Replaces all policy files at once, if they are valid and nobody else changed them meanwhile.',
  scope: 'policy',
  body: { type: 'application/json', schema: replaceBody },
  replies: { 200: document(replaced, 'The policies that decide from now on.') },
  handle: async (asked) => {
    requireHome(asked);
    const { gateway, body } = asked;
    const { ifDigest, force } = body;
    const files = filesOf(body.files);
    const result = replacePolicies(gateway, { ...actingOf(asked), files, ifDigest, force });
    if (result.ok) return json({ ...policiesDocument(gateway), warnings: result.warnings });
    const { problems, warnings } = checkDocument(result);
    const [first] = problems;
    const where = first === undefined ? '' : ` (${first.file}:${first.line}:${first.column})`;
    return {
      kind: 'problem',
      code: 'policy/invalid',
      detail: `Cannot replace the policies: ${first?.message ?? 'the check found problems'}${where}`,
      more: { problems, warnings },
    };
  },
});

const check = route({
  method: 'POST',
  path: '/v1/policies/check',
  name: 'checkPolicies',
  tag: TAG,
  sentence: 'Checks policy files without using them.',
  scope: 'read',
  body: { type: 'application/json', schema: checkBody },
  replies: { 200: document(checked, 'What the check found; `ok` may be false.') },
  handle: async (asked) => {
    requireSeer(asked);
    const { gateway, body } = asked;
    const directory = join(gateway.store.directory, 'policies');
    const result =
      body.files === undefined
        ? checkDirectory(directory, (named) => gateway.registry.named(named))
        : checkTexts(gateway, filesOf(body.files));
    return json(checkDocument(result));
  },
});

const explain = route({
  method: 'POST',
  path: '/v1/policies/explain',
  name: 'explainCall',
  tag: TAG,
  sentence: 'Explains why a call would be allowed or not, without running or recording anything.',
  scope: 'read',
  body: { type: 'application/json', schema: explainBody },
  replies: { 200: document(explanation, 'The verdict, and what it comes from.') },
  handle: async (asked) => {
    requireSeer(asked);
    const { gateway, caller, body } = asked;
    const { tool, input = {}, run = null, timeoutMs = null } = body;
    const principal = parsePrincipal(body.principal ?? '') ?? caller.principal;
    const rawInput = JSON.stringify(input);
    const call = doorCall(
      gateway,
      { ...caller, principal },
      { tool, rawInput, run, timeoutMs, door: 'http' },
    );
    const explained = explainNow(gateway, await checkCall(gateway, call), call.receivedAtMs);
    return json(explanationDocument(principal, tool, explained));
  },
});

function filesOf(files: Readonly<Record<string, string>>): readonly PolicyFile[] {
  return Object.entries(files)
    .map(([name, text]) => ({ name, text }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

export const policiesRoutes: readonly Route[] = [getPolicies, replace, check, explain];
