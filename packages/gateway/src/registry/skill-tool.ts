/** The tools of an installed skill, as ordinary records: what the manifest says, limited to what was granted. */
import { type Digest, digestValue } from '../core/digest.ts';
import { LIMIT_CEILINGS, narrow } from '../core/limits.ts';
import type { Tool, ToolAnnotations, ToolSkill } from '../core/tool.ts';
import type { WasmGrants } from '../core/wasm.ts';
import { openGrants } from '../skills/capabilities/kinds.ts';
import type { SkillGrant } from '../skills/grant.ts';
import type { Manifest, ManifestTool } from '../skills/manifest/manifest.ts';
import { grantsOfModule, type Imports, reachOf } from '../skills/reach.ts';

export type GrantedSkill = {
  readonly manifest: Manifest;
  readonly artifact: Digest;
  /** For the files of its package. */
  readonly digests: ReadonlyMap<string, Digest>;
  readonly grant: SkillGrant;
  readonly trust: ToolSkill['trust'];
  /** What its modules import, as its audit saw it; undefined: nothing is known, and every tool has the whole grant. */
  readonly modules: Imports;
  /** A file of its package; the reader checks that it matches the digest. */
  readonly read: (path: string) => Promise<Uint8Array>;
};

const CATEGORY = 'skill';

/** The id of a tool in the registry. */
export function toolIdOf(skill: string, tool: string): string {
  return `${skill}.${tool}`;
}

/**
 * Every tool of a skill, bound to its bytes and its grant: an approval under another grant does not apply. Each has as
 * much of the grant as its own module can use, and runs with that.
 */
export function skillTools(skill: GrantedSkill): readonly Tool[] {
  const { manifest, artifact, grant, modules } = skill;
  const granted = digestValue(grant);
  const shared = {
    category: CATEGORY,
    tier: 'a',
    limits: narrow(LIMIT_CEILINGS, grant.limits),
    paths: () => [],
    skill: {
      ...{ id: manifest.id, version: manifest.version, publisher: manifest.publisher, trust: skill.trust },
      ...{ artifact, grant: granted },
    },
  } as const;
  const bound = [
    { name: `${manifest.id}@${manifest.version}`, sha256: artifact },
    { name: 'grant', sha256: granted },
  ];
  return manifest.tools.map((tool) => {
    const sha256 = moduleDigest(skill, tool);
    const grants = grantsOfModule(grant.wasm, tool.module, modules);
    const { risk, capabilities, hosts } = reachOf(tool, grant, modules);
    return {
      ...shared,
      id: toolIdOf(manifest.id, tool.id),
      title: tool.name,
      description: tool.description,
      risk,
      capabilities,
      inputSchema: tool.inputSchema,
      outputSchema: tool.outputSchema,
      annotations: honestAnnotations(tool.annotations, openGrants(grants)),
      hosts: () => hosts,
      artifacts: [...bound, { name: tool.module, sha256 }],
      executor: {
        kind: 'wasm',
        program: {
          skill: manifest.id,
          sha256,
          read: () => skill.read(tool.module),
          exportName: tool.export,
          grants,
        },
      },
    };
  });
}

function moduleDigest({ digests, manifest }: GrantedSkill, { module }: ManifestTool): Digest {
  const sha256 = digests.get(module);
  if (sha256 === undefined)
    throw new TypeError(`Cannot use ${manifest.id}: its package has no "${module}", expected every module`);
  return sha256;
}

/** Boundary: a manifest's claims about itself count only as far as its grant leaves them true. */
function honestAnnotations(claimed: ToolAnnotations, open: WasmGrants): ToolAnnotations {
  const canWrite =
    open.http.length > 0 ||
    open.storage.some(({ write }) => write.length > 0) ||
    open.channels.some(({ publish }) => publish);
  return {
    readOnly: !canWrite,
    destructive: canWrite && claimed.destructive,
    idempotent: claimed.idempotent,
    openWorld: open.http.length > 0 || open.channels.length > 0,
  };
}
