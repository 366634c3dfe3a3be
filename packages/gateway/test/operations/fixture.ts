import type { Json } from '../../src/core/json.ts';
import type { Principal } from '../../src/core/principal.ts';
import type { Tool } from '../../src/core/tool.ts';
import { makeTool, openTestGateway, type TestGateway, type Wishes } from '../fixture/gateway.ts';
import { callerOf } from './ask.ts';

/* A gateway with a tool of each kind, and people and agents of two tenants. */

const BOB: Principal = { kind: 'agent', name: 'bob' };
const MARY: Principal = { kind: 'user', name: 'mary' };

/** Grace operates; Mary is a user who may approve and nothing else; Ada and Bob are agents. */
export const POLICIES = `
@id("calls") permit(principal, action == Action::"call", resource);
@id("launch") forbid(principal, action == Action::"call", resource == Tool::"test.launch") unless { context.approved };
@id("hidden") forbid(principal is Agent, action == Action::"call", resource == Tool::"test.hidden");
@id("approve") permit(principal is User, action == Action::"approve", resource);
@id("read") permit(principal == User::"grace", action == Action::"readJournal", resource);
@id("operate") permit(principal == User::"grace", action == Action::"administer", resource);
`;

export const ada = callerOf({ kind: 'agent', name: 'ada' }, ['call', 'read']);
export const bob = callerOf(BOB, ['call', 'read']);
export const mary = callerOf(MARY);
export const grace = callerOf({ kind: 'user', name: 'grace' });
/** The same names in another tenant. */
export const otherAda = callerOf(ada.principal, ['call', 'read'], 'acme');
export const otherGrace = callerOf(grace.principal, undefined, 'acme');

export type OperationsFixture = {
  readonly gateway: TestGateway;
  /** How often the tool of the calls that wait was run. */
  readonly runs: () => number;
  /** Resolves when a call waits inside its tool. */
  readonly held: () => Promise<void>;
  /** Lets all calls that wait go on. */
  readonly letGo: () => void;
};

/** Waits inside `test.hold` until it is let go or cancelled. */
export async function openFixture(wishes: Wishes = {}): Promise<OperationsFixture> {
  let runs = 0;
  const going = new Set<() => void>();
  const waiting: (() => void)[] = [];
  const hold = (input: Json, signal: AbortSignal) => {
    runs += 1;
    return new Promise<Json>((resolve, reject) => {
      going.add(() => resolve(input));
      signal.addEventListener('abort', () => reject(signal.reason));
      for (const wake of waiting.splice(0)) wake();
    });
  };
  const echo = async (input: Json) => input;
  const tools: readonly Tool[] = [
    makeTool('test.echo', echo),
    makeTool('test.hold', hold),
    makeTool('test.launch', echo),
    makeTool('test.hidden', echo, {
      inputSchema: { type: 'object', properties: { key: { type: 'integer' } }, required: ['key'] },
    }),
  ];
  const gateway = await openTestGateway({ policies: POLICIES, tools, ...wishes });
  return {
    gateway,
    runs: () => runs,
    held: () => (going.size > 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    letGo: () => {
      for (const go of going) go();
      going.clear();
    },
  };
}
