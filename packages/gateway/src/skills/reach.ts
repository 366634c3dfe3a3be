/** What the single tools of a skill can do: a grant is for the skill, and reaches a tool as far as its own module can use it. */
import type { Risk } from '../core/tool.ts';
import type { WasmGrants } from '../core/wasm.ts';
import type { ModuleImports } from './audit/check.ts';
import { hostsOf } from './capabilities/http.ts';
import { capabilitiesOf, openGrants, riskOf, usableGrants } from './capabilities/kinds.ts';
import type { SkillGrant } from './grant.ts';
import type { ManifestTool } from './manifest/manifest.ts';

/** What the audit of these bytes saw each module import; left out: it did not look. */
export type Imports = readonly ModuleImports[] | undefined;

/** What policies see of a tool, and people before they approve it. */
export type Reach = {
  readonly risk: Risk;
  readonly capabilities: readonly string[];
  readonly hosts: readonly string[];
};

const RISKS: readonly Risk[] = ['low', 'medium', 'high'];

/** The grant that a module runs with. Boundary: where nothing is known of a module, all of it. */
export function grantsOfModule(grants: WasmGrants, path: string, modules: Imports): WasmGrants {
  const found = modules?.find((module) => module.path === path);
  return usableGrants(grants, found === undefined ? null : found.imports);
}

/** What a tool can do under a grant of its skill. */
export function reachOf(
  { module, risk }: Pick<ManifestTool, 'module' | 'risk'>,
  grant: SkillGrant,
  modules: Imports,
): Reach {
  const open = openGrants(grantsOfModule(grant.wasm, module, modules));
  return { risk: higher(risk, riskOf(open)), capabilities: capabilitiesOf(open), hosts: hostsOf(open) };
}

/** Boundary: a manifest cannot claim a risk below what its grant can do. */
function higher(one: Risk, other: Risk): Risk {
  return RISKS.indexOf(one) > RISKS.indexOf(other) ? one : other;
}
