import type { WasmGrants } from '../core/wasm.ts';
import type { SpelledAsk } from './asks.ts';
import type { SkillGrant } from './grant.ts';

/** Every single thing that a grant allows, each in words of its own; what is closed is not among them, nor is a value. */
export function termsOf(grants: WasmGrants): readonly string[] {
  const { http, secrets, storage, channels } = grants;
  return [
    ...new Set([
      ...http.flatMap((entry) => (entry === null ? [] : [`http=${entry}`])),
      ...secrets.flatMap(({ name, scope = 'any', hosts, mayReveal }) => [
        ...hosts.map((host) => `secret=${name}@${host} (${scope})`),
        ...(mayReveal ? [`reveal=${name} (${scope})`] : []),
      ]),
      ...storage.flatMap(({ read }) => read.map((prefix) => `storage:read=${prefix}`)),
      ...storage.flatMap(({ write }) => write.map((prefix) => `storage:write=${prefix}`)),
      ...channels.flatMap(({ name, publish, receive }) => [
        ...(publish ? [`channel=${name}:publish`] : []),
        ...(receive ? [`channel=${name}:receive`] : []),
      ]),
      ...(['log', 'clock', 'random'] as const).filter((kind) => grants[kind]),
    ]),
  ];
}

/** What became of one thing that was asked for, and which of its terms are granted. `open`: nobody has decided yet. */
export type Stand = {
  readonly stand: 'open' | 'granted' | 'narrowed' | 'withheld';
  readonly granted: readonly string[];
};

/** How one thing that is asked for stands under a grant. */
export function standOf({ terms }: SpelledAsk, grant: SkillGrant | null): Stand {
  if (grant === null) return { stand: 'open', granted: [] };
  const all = termsOf(grant.wasm);
  const granted = terms.filter((term) => all.includes(term));
  if (granted.length === terms.length) return { stand: 'granted', granted };
  return { stand: granted.length === 0 ? 'withheld' : 'narrowed', granted };
}
