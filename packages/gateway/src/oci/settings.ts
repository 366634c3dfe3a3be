import type { RegistryRule } from '../config/config.ts';
import { digestBytes } from '../core/digest.ts';
import { isCapabilityName } from '../core/wasm.ts';
import { parseRegistry, type RegistryHost } from './reference.ts';
import type { RegistrySettings } from './session.ts';

/** What the operator configured of a registry; null: it is not in palisade.toml. */
export function ruleOf(rules: readonly RegistryRule[], { text }: RegistryHost): RegistryRule | null {
  return rules.find(({ name }) => nameOf(name) === text) ?? null;
}

/** How a registry is used, with the default of everything that is not configured. */
export function settingsOf(rule: RegistryRule | null, registry: RegistryHost): RegistrySettings {
  return {
    scheme: rule?.scheme ?? null,
    tokenHosts: (rule?.tokenHosts ?? []).map(nameOf),
    blobHosts: (rule?.blobHosts ?? []).map(nameOf),
    secret: rule?.secret ?? secretOf(registry),
  };
}

function nameOf(text: string): string {
  const registry = parseRegistry(text);
  return registry.ok ? registry.value.text : text.toLowerCase();
}

/**
 * The secret that has the log-in of a registry. Its name begins with `oci.`, so that a secret that was set for something
 * else is never sent to a registry, and no two registries have the same.
 */
function secretOf({ text }: RegistryHost): string {
  const [, address, port = ''] = /^\[(.*)\](?::(.*))?$/.exec(text) ?? [];
  const host = address === undefined ? text.replace(':', '-') : `${address.replaceAll(':', '_')}-${port}`;
  const name = `oci.${host.replace(/-$/, '')}`;
  return isCapabilityName(name) ? name : `oci.${digestBytes(text).slice(0, 32)}`;
}
