import type { ToolCall } from '../core/call.ts';
import { ALL_SCOPES, type Caller, type Scope } from '../core/caller.ts';
import { CodedError } from '../core/coded-error.ts';
import type { Outcome } from '../core/outcome.ts';
import { formatPrincipal, type Principal } from '../core/principal.ts';
import type { Tool } from '../core/tool.ts';
import { requireAdministrator } from '../invoke/administer.ts';
import type { Gateway, Opened, Records } from '../invoke/gateway.ts';
import type { Acting } from '../invoke/skills/skill-acts.ts';
import { isVisible, visibleTools } from '../invoke/visible-tools.ts';
import { authorizeAct } from '../policy/authorize.ts';
import type { PolicyEngine } from '../policy/engine.ts';

/*
 * Who sees what, decided here and nowhere else. Every caller sees what is its own. Seeing what others of its tenant did
 * needs a credential with the scope and the policies' permission to `readJournal`. What belongs to another tenant does
 * not exist for it, and what belongs to the whole gateway is for callers of the gateway's own tenant. The owner of the
 * state directory, at the command line, could read all of its files anyway, so reads everything. Changes are not
 * decided here: the line asks the policies about each of them.
 */

/** A caller of a door, or the owner of the state directory at the command line. */
export type OperationCaller = Caller & { readonly isOwner?: true };

/** The part of a context that says who reads what of which gateway. */
export type Reading = {
  readonly gateway: Opened<Records> & { readonly policy?: PolicyEngine };
  readonly caller: OperationCaller;
};

/** What something belongs to. */
type Owned = { readonly tenant: string; readonly principal: string };

const EVERY_SCOPE: ReadonlySet<Scope> = new Set(ALL_SCOPES);

/** The owner of the state directory, who acts as this principal. Only a process that opened the directory makes one. */
export function localOwner(principal: Principal, tenant: string): OperationCaller {
  return { principal, tenant, scopes: EVERY_SCOPE, credential: 'process', approver: null, isOwner: true };
}

/** A credential that lacks the one scope that an operation needs. */
export class InsufficientScope extends CodedError {
  readonly scope: Scope;

  constructor(scope: Scope) {
    const remedy = `Use a token with that scope: \`palisade token create --scopes ${scope} …\`.`;
    super(
      'door/insufficient-scope',
      `Cannot do this: the credential lacks the scope "${scope}", expected one that has it`,
      { remedy },
    );
    this.scope = scope;
  }
}

/** Boundary: a credential is valid for its scopes alone, whatever its principal may do. */
export function requireScope({ scopes }: Caller, scope: Scope | null): void {
  if (scope !== null && !scopes.has(scope)) throw new InsufficientScope(scope);
}

/** Refuses a credential that has none of these scopes. */
function requireOneOf({ scopes }: Caller, wanted: readonly Scope[]): void {
  if (wanted.some((scope) => scopes.has(scope))) return;
  throw new CodedError(
    'door/insufficient-scope',
    `Cannot read: the credential lacks the scopes ${wanted.join(', ')}, expected one of them`,
  );
}

/** Refuses callers that the policies do not permit to read what others of their tenant did. */
export function requireReader(reading: Reading): void {
  if (reading.caller.isOwner) return;
  const { allowed, message } = readRuling(reading);
  if (!allowed) throw new CodedError('policy/denied', message);
}

/** Refuses callers of other tenants than the gateway's own. */
export function requireHome({ gateway, caller }: Reading): void {
  const { tenant } = gateway.config.gateway;
  // Boundary: no policy about its own tenant lets a tenant reach what all of them share.
  if (caller.isOwner || caller.tenant === tenant) return;
  throw new CodedError(
    'policy/denied',
    `Cannot operate the gateway as ${formatPrincipal(caller.principal)} of tenant "${caller.tenant}": expected tenant "${tenant}"`,
  );
}

/** Refuses callers that may not read what belongs to the whole gateway. */
export function requireHomeReader(reading: Reading): void {
  requireHome(reading);
  requireReader(reading);
}

/** Refuses callers that may not list what only administrators see. The owner reads it without administering. */
export function requireAdministrativeReader({ gateway, caller }: Reading): void {
  if (caller.isOwner) return;
  requireAdministrator(wholeGateway(gateway), caller.principal, caller.tenant);
}

function readRuling({ gateway, caller: { principal, tenant } }: Reading) {
  const nowMs = gateway.clock.nowMs();
  return authorizeAct(wholeGateway(gateway).policy, principal, 'readJournal', { tenant, nowMs });
}

function wholeGateway(gateway: Reading['gateway']): Gateway {
  if (gateway.policy !== undefined) return gateway as unknown as Gateway;
  throw new TypeError('Cannot ask the policies: only the records are open');
}

/** What a caller may see of things that principals own. */
export type View = {
  /** Only of this tenant; null: of all. */
  readonly tenant: string | null;
  /** Only of this principal; null: of all of the tenant. */
  readonly principal: string | null;
};

/** What this caller sees of what principals did; the credential must have one of the scopes, and may have one for all. */
export function viewOf(
  reading: Reading,
  scopes: { readonly any: readonly Scope[]; readonly forAll: readonly Scope[] },
): View {
  const { caller } = reading;
  if (caller.isOwner) return { tenant: null, principal: null };
  requireOneOf(caller, scopes.any);
  const readsAll = scopes.forAll.some((scope) => caller.scopes.has(scope)) && readRuling(reading).allowed;
  return { tenant: caller.tenant, principal: readsAll ? null : formatPrincipal(caller.principal) };
}

/** Whether something exists for a caller with this view. */
export function isSeen({ tenant, principal }: View, owned: Owned): boolean {
  // Boundary: whatever the policies say, what belongs to another tenant does not exist.
  return (
    (tenant === null || owned.tenant === tenant) && (principal === null || owned.principal === principal)
  );
}

/** Whether something belongs to the caller. */
export function isOwn({ principal, tenant }: Caller, owned: Owned): boolean {
  return owned.tenant === tenant && owned.principal === formatPrincipal(principal);
}

/** The tenant whose things a caller sees where no principal owns them; null: those of all. The owner may name one. */
export function tenantOf({ caller }: Pick<Reading, 'caller'>, named: string | null = null): string | null {
  // Boundary: whichever tenant another caller names, it sees its own.
  return caller.isOwner ? named : caller.tenant;
}

/** The tenants whose records a caller sees, with null for records of the gateway itself; undefined: all of them. */
export function recordTenantsOf({ gateway, caller }: Reading): readonly (string | null)[] | undefined {
  if (caller.isOwner) return undefined;
  const { tenant } = caller;
  return tenant === gateway.config.gateway.tenant ? [tenant, null] : [tenant];
}

type ToolReading = { readonly gateway: Gateway; readonly caller: OperationCaller };

/** A page of the tools that some call of this caller could be permitted to, by id; of all tools for the owner. */
export function seenTools(
  { gateway, caller }: ToolReading,
  after: string | null,
  limit: number,
): readonly Tool[] {
  if (caller.isOwner) return gateway.registry.page(after, limit);
  const seen = visibleTools(gateway, caller.principal, caller.tenant);
  return (after === null ? seen : seen.filter(({ id }) => id > after)).slice(0, limit);
}

/** The tool of that id, if it exists for this caller. */
export function seenTool({ gateway, caller }: ToolReading, id: string): Tool | undefined {
  if (caller.isOwner) return gateway.registry.find(id)?.tool;
  return visibleTools(gateway, caller.principal, caller.tenant).find((tool) => tool.id === id);
}

/** Refusals that reveal nothing about the tool: they come before the lookup, or for any tool. */
const OF_THE_GATEWAY = /^(door|session|store|attest|config)\/|^policy\/unavailable$/;

/**
 * Boundary: a call of a tool that its principal could never call is answered exactly like one of a tool that does not
 * exist, through every door and however late, whatever the policies or its schema said. The journal has the decision.
 */
export function isHiddenCall(
  gateway: Gateway,
  { tool, principal, tenant }: Pick<ToolCall, 'tool' | 'principal' | 'tenant'>,
  { status, code }: Pick<Outcome, 'status' | 'code'>,
): boolean {
  if (status !== 'refused' || OF_THE_GATEWAY.test(code)) return false;
  return !isVisible(gateway, principal, tenant, tool);
}

/** The caller, as the line takes it. */
export function actingOf({ caller }: Pick<Reading, 'caller'>): Acting {
  return { by: caller.principal, tenant: caller.tenant };
}
