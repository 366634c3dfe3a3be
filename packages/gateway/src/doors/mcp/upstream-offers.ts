import { cached } from '../../core/cached.ts';
import type { Caller } from '../../core/caller.ts';
import type { Tool } from '../../core/tool.ts';
import type { Gateway } from '../../invoke/gateway.ts';
import { toolsVersion } from '../../invoke/visible-tools.ts';
import { visibility } from '../../policy/visible.ts';
import type { UpstreamOffer } from '../../registry/upstream-tools.ts';
import { fitsTemplate, type ListedPrompt, type ListedResource } from '../../upstreams/listed.ts';
import { ownerOf } from './door.ts';

/*
 * The prompts and resources of upstream servers that each caller sees: those that were accepted, of servers of which
 * the caller may get prompts or read resources. A server cannot impersonate us, nor one listed before it.
 */

type Completed = { readonly complete: Tool | null };
export type OfferedPrompt = Completed & { readonly prompt: ListedPrompt; readonly get: Tool };
export type OfferedResource = Completed & { readonly resource: ListedResource; readonly read: Tool };

type Offered = {
  /** By the names that clients know. */
  readonly prompts: ReadonlyMap<string, OfferedPrompt>;
  readonly resources: ReadonlyMap<string, OfferedResource>;
  /** By the templates of their addresses. */
  readonly templates: ReadonlyMap<string, OfferedResource>;
};

const MOST_LISTS = 64;
/** Addresses of this scheme are ours. */
const OWN = /^palisade:/i;

export class UpstreamOffers {
  readonly #gateway: Gateway;
  readonly #kept = new Map<string, Offered>();

  constructor(gateway: Gateway) {
    this.#gateway = gateway;
  }

  /** What this caller sees, made once and kept until something changes. */
  of(caller: Caller): Offered {
    const { policy, upstreams } = this.#gateway;
    const make = () =>
      makeOffered(upstreams.tools.offers(), visibility(policy, caller.principal, caller.tenant));
    return cached(this.#kept, `${toolsVersion(this.#gateway)} ${ownerOf(caller)}`, make, MOST_LISTS);
  }

  /** The resource at this address, or the template that it is of. */
  at(caller: Caller, uri: string): OfferedResource | null {
    const { resources, templates } = this.of(caller);
    // Boundary: addresses of our scheme are answered by us alone.
    if (OWN.test(uri)) return null;
    const listed = resources.get(uri);
    if (listed !== undefined) return listed;
    const fitting = [...templates.values()].find(({ resource }) => fitsTemplate(resource.uri, uri));
    return fitting ?? null;
  }
}

function makeOffered(offers: readonly UpstreamOffer[], isVisible: (tool: Tool) => boolean): Offered {
  const prompts = new Map<string, OfferedPrompt>();
  const resources = new Map<string, OfferedResource>();
  const templates = new Map<string, OfferedResource>();
  for (const { rule, listed, method } of offers) {
    const seen = (name: Parameters<typeof method>[0]) => {
      const tool = method(name);
      return tool !== null && isVisible(tool) ? tool : null;
    };
    const complete = seen('completion/complete');
    const get = seen('prompts/get');
    if (get !== null)
      for (const prompt of listed.prompts)
        addOnce(prompts, `${rule.prefix}${prompt.name}`, { prompt, get, complete });
    const read = seen('resources/read');
    if (read === null) continue;
    for (const resource of listed.resources) addOnce(resources, resource.uri, { resource, read, complete });
    for (const resource of listed.templates) addOnce(templates, resource.uri, { resource, read, complete });
  }
  return { prompts, resources, templates };
}

function addOnce<T>(map: Map<string, T>, key: string, value: T): void {
  if (!map.has(key) && !OWN.test(key)) map.set(key, value);
}
