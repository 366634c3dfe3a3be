import { formatPrincipal, type Principal } from '../core/principal.ts';
import type { EntityJson } from './cedar.ts';
import { CACHED_PRINCIPALS } from './limits.ts';

/** From `agent:ada` to the names of its groups. */
export type Groups = ReadonlyMap<string, readonly string[]>;

const TYPES = { agent: 'Agent', user: 'User', service: 'Service' } as const;

/** Knows which groups and tenant a principal is in, and keeps the entities of the recent ones. */
export class Directory {
  readonly #groups: Groups;
  readonly #entities = new Map<string, EntityJson>();

  constructor(groups: Groups) {
    this.#groups = groups;
  }

  /** The principal with its groups and its tenant as parents; both are named directly, so neither needs an entity. */
  entityOf(principal: Principal, tenant: string): EntityJson {
    const name = formatPrincipal(principal);
    const key = `${tenant} ${name}`;
    let entity = this.#entities.get(key);
    if (entity === undefined) {
      const groups = this.#groups.get(name) ?? [];
      const parents = [...groups.map((id) => ({ type: 'Group', id })), { type: 'Tenant', id: tenant }];
      entity = { uid: { type: TYPES[principal.kind], id: principal.name }, attrs: {}, parents };
      if (this.#entities.size >= CACHED_PRINCIPALS) this.#entities.clear();
      this.#entities.set(key, entity);
    }
    return entity;
  }
}
