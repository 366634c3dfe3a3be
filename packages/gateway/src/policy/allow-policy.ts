import { canonicalize } from '@palisade/sdk';
import { isoTime } from '../core/clock.ts';
import { type CodedError, wrongUsage } from '../core/coded-error.ts';
import { isJsonObject, type Json } from '../core/json.ts';
import { type Principal, parsePrincipal } from '../core/principal.ts';
import type { JsonSchema } from '../core/tool.ts';
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
