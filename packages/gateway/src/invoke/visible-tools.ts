import { cached } from '../core/cached.ts';
import { formatPrincipal, type Principal } from '../core/principal.ts';
import type { Tool } from '../core/tool.ts';
import { visibility } from '../policy/visible.ts';
import type { Registry } from '../registry/registry.ts';
import type { Gateway } from './gateway.ts';

/*
 * The tools that are visible to a caller, the same at every door: a tool that no call of this principal could ever be
 * permitted to use is hidden. Lists are made again only when policies or tools have changed.
 */

type Shown = { readonly tools: readonly Tool[]; readonly ids: ReadonlySet<string> };
type Lists = {
  readonly version: string;
  readonly all: readonly Tool[];
  readonly byPrincipal: Map<string, Shown>;
};
type Listing = Pick<Gateway, 'policy' | 'registry'>;

/** The maximum of cached lists; beyond it, all are dropped. */
const MOST_LISTS = 256;
const PAGE = 1_000;

const lists: WeakMap<Registry, Lists> = new WeakMap();

/** Changes whenever some list could have changed. */
export function toolsVersion({ policy, registry }: Listing): string {
  policy.refresh();
  return `${registry.version()}-${policy.setDigest ?? 'none'}`;
}

/** The tools that some call of this principal could be permitted to use, in the order of their ids. */
export function visibleTools(gateway: Listing, principal: Principal, tenant: string): readonly Tool[] {
  return shownTo(gateway, principal, tenant).tools;
}

/** Whether a tool is visible, or would be if it were listed at all. */
export function isVisible(gateway: Listing, principal: Principal, tenant: string, toolId: string): boolean {
  if (shownTo(gateway, principal, tenant).ids.has(toolId)) return true;
  const tool = gateway.registry.find(toolId)?.tool;
  const isMethod = tool?.executor.kind === 'upstream' && tool.executor.method !== undefined;
  return isMethod && visibility(gateway.policy, principal, tenant)(tool);
}

function shownTo(gateway: Listing, principal: Principal, tenant: string): Shown {
  const { all, byPrincipal } = currentLists(gateway);
  const key = `${tenant} ${formatPrincipal(principal)}`;
  const make = () => {
    const tools = all.filter(visibility(gateway.policy, principal, tenant));
    return { tools, ids: new Set(tools.map(({ id }) => id)) };
  };
  return cached(byPrincipal, key, make, MOST_LISTS);
}

function currentLists(gateway: Listing): Lists {
  const { registry } = gateway;
  const version = toolsVersion(gateway);
  let current = lists.get(registry);
  if (current?.version !== version) {
    current = { version, all: allTools(registry), byPrincipal: new Map() };
    lists.set(registry, current);
  }
  return current;
}

function allTools(registry: Registry): readonly Tool[] {
  const tools: Tool[] = [];
  for (;;) {
    const page = registry.page(tools.at(-1)?.id ?? null, PAGE);
    tools.push(...page);
    if (page.length < PAGE) return tools;
  }
}
