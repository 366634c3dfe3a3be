/** Lets agents call the tools of a skill without an approval for each call, by a policy that the operator reads first. */
import { CodedError } from '../../../core/coded-error.ts';
import { digestValue } from '../../../core/digest.ts';
import { formatPrincipal, parsePrincipal } from '../../../core/principal.ts';
import type { Gateway, Opened } from '../../../invoke/gateway.ts';
import { requireSkill } from '../../../invoke/skills/skill-acts.ts';
import {
  ALLOWED_SKILLS_FILE,
  type AllowedAgents,
  allowSkillPolicy,
  withAllowedSkill,
  withoutAllowedSkill,
} from '../../../policy/allow-policy.ts';
import type { SkillGrant } from '../../../skills/grant.ts';
import type { InstalledSkill } from '../../../skills/index/skill.ts';
import { reachOf } from '../../../skills/reach.ts';
import { confirm, requireAnswerable } from '../ask.ts';
import { parsedOf, principalOf } from '../input.ts';
import { actAs } from '../opened.ts';
import { operateOn } from '../operate.ts';
import type { Printer } from '../printer.ts';
import { parseReference } from '../skill/package-file.ts';
import type { Invocation } from '../verb.ts';

/** Whom a flag names; null without it. */
export function allowedAgentsOf(invocation: Invocation, flag: string): AllowedAgents | null {
  return parsedOf(invocation, flag, readAgents, '"agents" for all of them, or one as agent:NAME') ?? null;
}

function readAgents(raw: string): AllowedAgents | null {
  if (raw === 'agents') return 'agents';
  const principal = parsePrincipal(raw);
  return principal?.kind === 'agent' ? principal : null;
}

/** The policy for the tools of medium risk, ready to be shown; null where there is none: the others need none, or an approval. */
export function agentPolicyOf(
  invocation: Invocation,
  skill: Pick<InstalledSkill, 'id' | 'version' | 'artifact' | 'manifest' | 'report'>,
  grant: SkillGrant,
  to: AllowedAgents,
): string | null {
  const { id, version, artifact, manifest, report } = skill;
  const tools = manifest.tools
    .filter((tool) => reachOf(tool, grant, report?.modules).risk === 'medium')
    .map((tool) => `${id}.${tool.id}`);
  if (tools.length === 0) return null;
  return allowSkillPolicy({
    skill: { id, version, artifact, grant: digestValue(grant) },
    ...{ tools, to, by: formatPrincipal(principalOf(invocation)), nowMs: invocation.edge.clock.nowMs() },
  });
}

/** Shows what would be written, before anyone is asked. */
export function printAgentPolicy(print: Printer, policy: string | null): void {
  if (policy === null) {
    print.line(
      'None of its tools has medium risk: agents call those of low risk already, and high risk asks.',
    );
    return;
  }
  print.heading(`Policy that lets agents call it, for policies/${ALLOWED_SKILLS_FILE}`);
  for (const line of policy.trimEnd().split('\n')) print.line(line);
  print.line();
}

/** Adds the policy that was shown. It changes the set, so open requests for approval have to be made again. */
export async function addAgentPolicy(
  invocation: Invocation,
  gateway: Opened<Gateway>,
  policy: string,
): Promise<void> {
  const { files, filesDigest } = await operateOn(invocation, gateway, 'getPolicies', {});
  const text = withAllowedSkill(files[ALLOWED_SKILLS_FILE] ?? '', policy);
  const replaced = { files: { ...files, [ALLOWED_SKILLS_FILE]: text }, ifDigest: filesDigest };
  await operateOn(invocation, gateway, 'replacePolicies', replaced);
}

/** Removes every such policy for a skill; false where there is none. */
async function removeAgentPolicies(
  invocation: Invocation,
  gateway: Opened<Gateway>,
  skill: string,
): Promise<boolean> {
  const { files, filesDigest } = await operateOn(invocation, gateway, 'getPolicies', {});
  const text = withoutAllowedSkill(files[ALLOWED_SKILLS_FILE] ?? '', skill);
  if (text === null) return false;
  const replaced = { files: { ...files, [ALLOWED_SKILLS_FILE]: text }, ifDigest: filesDigest };
  await operateOn(invocation, gateway, 'replacePolicies', replaced);
  return true;
}

/** Says that the policy is in force, and how it is removed. */
export function printAllowed(print: Printer, id: string): void {
  print.note(
    'allowed',
    'green',
    `  by policies/${ALLOWED_SKILLS_FILE}, for exactly these bytes and this grant`,
  );
  print.next(`take it back with: palisade skill allow ${id} --remove`);
}

/** `palisade skill allow`: agents call its tools of medium risk without an approval for each call, or no longer do. */
export async function allow(invocation: Invocation): Promise<number> {
  const { args, print, flags } = invocation;
  const named = parseReference(args[0] ?? '');
  const agents = allowedAgentsOf(invocation, 'to') ?? 'agents';
  const question = { act: 'allow it', question: 'Type "allow" to add this policy', answer: 'allow' };
  if (flags.remove === true) return disallow(invocation, named.id);
  requireAnswerable(invocation, { ...question, needs: ['yes'] });
  return actAs(invocation, async (gateway) => {
    const skill = requireSkill(gateway.store, { ...named, version: named.version ?? null }, [
      'active',
      'approved',
    ]);
    const { id, version, grant, state } = skill;
    if (grant === null)
      throw new CodedError(
        'skill/wrong-state',
        `Cannot allow ${id}@${version}: it is ${state}, expected an approval`,
      );
    const policy = agentPolicyOf(invocation, skill, grant, agents);
    printAgentPolicy(print, policy);
    if (policy === null) return print.result({ id, version, policy, file: null }, () => undefined);
    await confirm(invocation, { ...question, needs: ['yes'] });
    await addAgentPolicy(invocation, gateway, policy);
    return print.result({ id, version, policy, file: ALLOWED_SKILLS_FILE }, () => printAllowed(print, id));
  });
}

function disallow(invocation: Invocation, id: string): Promise<number> {
  const { print } = invocation;
  return actAs(invocation, async (gateway) => {
    const removed = await removeAgentPolicies(invocation, gateway, id);
    return print.result({ id, removed }, () => {
      if (removed) print.note('removed', 'yellow', `  agents need an approval for each call of ${id} again`);
      else
        print.note(
          'nothing to remove',
          'yellow',
          `  policies/${ALLOWED_SKILLS_FILE} has no policy for ${id}`,
        );
    });
  });
}
