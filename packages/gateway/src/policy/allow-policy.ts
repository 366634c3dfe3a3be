import { canonicalize } from '@palisade/sdk';
import { isoTime } from '../core/clock.ts';
import { type CodedError, wrongUsage } from '../core/coded-error.ts';
import { digestBytes } from '../core/digest.ts';
import { isJsonObject, type Json } from '../core/json.ts';
import { formatPrincipal, type Principal, parsePrincipal } from '../core/principal.ts';
import type { JsonSchema, ToolSkill } from '../core/tool.ts';
import { type InputPlan, planInput } from './input-type.ts';

/*
 * A policy that permits what one approval request asked for, until a time: the same principal, the same tool and the same
 * input, except for fields that the operator leaves free. It is text for the operator to read and confirm, in a file of
 * its own; when its time is over it permits nothing, and the next one that is written takes its place.
 */

export const ALLOWED_FILE = '80-allowed.cedar';
const HEAD =
  '// Written by `palisade approvals allow`. Policies whose time is over permit nothing, and are removed with the next one.\n';
const ENTITIES: Readonly<Record<Principal['kind'], string>> = {
  agent: 'Agent',
  user: 'User',
  service: 'Service',
};
const IDENTIFIER = /^[A-Za-z_][A-Za-z0-9_]*$/;

export type Allowing = {
  readonly request: {
    readonly id: string;
    readonly principal: string;
    readonly tool: string;
    readonly inputText: string;
  };
  readonly inputSchema: JsonSchema;
  /** The fields of the input that may have any value. */
  readonly free: readonly string[];
  readonly by: string;
  readonly nowMs: number;
  readonly untilMs: number;
};

/** The text of the policy; a request that cannot be written as one is refused. */
export function allowPolicy({ request, inputSchema, free, by, nowMs, untilMs }: Allowing): string {
  const principal = parsePrincipal(request.principal);
  if (principal === null) throw unwritable(`"${request.principal}" is not a principal`);
  const until = isoTime(untilMs);
  const conditions = [`context.now < datetime("${until}")`, ...inputConditions(request, inputSchema, free)];
  return [
    `// ${request.id}, allowed by ${by} at ${isoTime(nowMs)}.`,
    `@id("allowed-${request.id.slice(-8)}-${until
      .slice(0, 16)
      .replace(/[^0-9T]/g, '')
      .toLowerCase()}")`,
    `@expires("${until}")`,
    `permit (principal == ${ENTITIES[principal.kind]}::${literal(principal.name)}, action == Action::"call", resource == Tool::${literal(request.tool)})`,
    `when {\n  ${conditions.join(' &&\n  ')}\n};\n`,
  ].join('\n');
}

/** Boundary: with nothing left free the whole input is compared, also what no schema declares. */
function inputConditions(
  { inputText }: Allowing['request'],
  inputSchema: JsonSchema,
  free: readonly string[],
): readonly string[] {
  if (free.length === 0) return [`context.inputText == ${literal(inputText)}`];
  const input = JSON.parse(inputText) as Json;
  const { fields } = planInput(inputSchema);
  const kept = { kind: 'record' as const, fields: fields.filter(({ name }) => !free.includes(name)) };
  return conditionsOf('context.input', kept, input);
}

/** What makes a value equal to this one: every declared field has the same value, or is absent in both. */
function conditionsOf(path: string, plan: InputPlan, value: Json): readonly string[] {
  if (plan.kind === 'number') return [`${path}.text == ${literal(canonicalize(value))}`];
  if (plan.kind !== 'record') return [`${path} == ${cedarOf(plan, value)}`];
  if (!isJsonObject(value)) throw unwritable('its input is not of its schema');
  return plan.fields.flatMap(({ name, required, plan: inner }) => {
    const here = IDENTIFIER.test(name) ? `${path}.${name}` : `${path}[${literal(name)}]`;
    const has = `${path} has ${IDENTIFIER.test(name) ? name : literal(name)}`;
    const own = Object.hasOwn(value, name) ? (value[name] ?? null) : null;
    if (own === null) return required ? [] : [`!(${has})`];
    return [...(required ? [] : [has]), ...conditionsOf(here, inner, own)];
  });
}

function cedarOf(plan: InputPlan, value: Json): string {
  if (plan.kind === 'set' && Array.isArray(value))
    return `[${value.map((each) => cedarOf(plan.element, each)).join(', ')}]`;
  if (plan.kind === 'number')
    return `{ floor: ${Math.floor(Number(value))}, text: ${literal(canonicalize(value))} }`;
  if (plan.kind === 'long' || plan.kind === 'bool') return String(value);
  if (plan.kind === 'record' || plan.kind === 'set') throw unwritable('it has a list of objects');
  return literal(plan.kind === 'string' ? String(value) : canonicalize(value));
}

/*
 * A policy that lets agents call the tools of medium risk of one skill without an approval for each call. It is bound to
 * the bytes of the package and to its grant: after any other approval it permits nothing.
 */

export const ALLOWED_SKILLS_FILE = '81-allowed-skills.cedar';
const SKILLS_HEAD =
  '// Written by `palisade skill allow` and `palisade skill approve --allow`; `palisade skill allow ID --remove` removes one.\n';

/** All agents, or one of them. */
export type AllowedAgents = 'agents' | Principal;

export type AllowingSkill = {
  readonly skill: Pick<ToolSkill, 'id' | 'version' | 'artifact' | 'grant'>;
  /** Ids of tools. */
  readonly tools: readonly string[];
  readonly to: AllowedAgents;
  readonly by: string;
  readonly nowMs: number;
};

/** The text of the policy; the tools that it names are all that it is about. */
export function allowSkillPolicy({ skill, tools, to, by, nowMs }: AllowingSkill): string {
  const { id, version, artifact, grant } = skill;
  const who =
    to === 'agents' ? 'principal is Agent' : `principal == ${ENTITIES[to.kind]}::${literal(to.name)}`;
  const conditions = [
    'resource has skill && resource.skill has artifact && resource.skill has grant',
    `resource.skill.version == ${literal(version)}`,
    `resource.skill.artifact == ${literal(artifact)}`,
    `resource.skill.grant == ${literal(grant)}`,
    `[${tools.map((tool) => `Tool::${literal(tool)}`).join(', ')}].contains(resource)`,
  ];
  const whose = to === 'agents' ? 'agents' : `agent-${digestBytes(formatPrincipal(to)).slice(0, 12)}`;
  return [
    `// ${id}@${version}, allowed by ${by} at ${isoTime(nowMs)}.`,
    `@id("${skillPolicyId(id)}${whose}")`,
    `permit (${who}, action == Action::"call", resource in Skill::${literal(id)})`,
    `when {\n  ${conditions.join(' &&\n  ')}\n};\n`,
  ].join('\n');
}

/** An id has no colon, so no skill's name begins with that of another. */
function skillPolicyId(skill: string): string {
  return `allowed-skill-${skill}--`;
}

/** The file with this policy in place of one for the same skill and agents; what an operator wrote there stays. */
export function withAllowedSkill(file: string, policy: string): string {
  const [, id = ''] = /^@id\("([^"]*)"\)$/m.exec(policy) ?? [];
  const kept = skillBlocks(file).filter((block) => !block.includes(`@id("${id}")`));
  return [SKILLS_HEAD.trimEnd(), ...kept, policy.trim()].join('\n\n').concat('\n');
}

/** The file without the policies for a skill; null where it has none. */
export function withoutAllowedSkill(file: string, skill: string): string | null {
  const blocks = skillBlocks(file);
  const kept = blocks.filter((block) => !block.includes(`@id("${skillPolicyId(skill)}`));
  if (kept.length === blocks.length) return null;
  return [SKILLS_HEAD.trimEnd(), ...kept].join('\n\n').concat('\n');
}

function skillBlocks(file: string): readonly string[] {
  const rest = file.startsWith(SKILLS_HEAD) ? file.slice(SKILLS_HEAD.length) : file;
  return rest
    .split(/\n{2,}/)
    .map((block) => block.trim())
    .filter((block) => block !== '');
}

function unwritable(is: string): CodedError {
  const remedy =
    'Leave that field free with --any, or write the policy by hand; docs/policy.md has examples.';
  return wrongUsage(`Cannot write the policy: ${is}, expected an input that a policy can compare`, remedy);
}

/** A Cedar string that a person can read and that ends nothing: quotes, backslashes and anything unprintable are escaped. */
function literal(text: string): string {
  const escaped = text.replace(/[^ !#-[\]-~]/gu, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`);
  return `"${escaped}"`;
}

/** The file with one more policy, without those whose time is over; what an operator wrote there stays. */
export function withAllowed(file: string, policy: string, nowMs: number): string {
  const rest = file.startsWith(HEAD) ? file.slice(HEAD.length) : file;
  const kept = rest.split(/\n{2,}/).filter((block) => {
    const [, until] = /^@id\("allowed-[^"]*"\)\n@expires\("([^"]*)"\)$/m.exec(block) ?? [];
    return block.trim() !== '' && (until === undefined || Date.parse(until) > nowMs);
  });
  return [HEAD.trimEnd(), ...kept.map((block) => block.trim()), policy.trim()].join('\n\n').concat('\n');
}
