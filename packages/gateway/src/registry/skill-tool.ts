import { type Digest, digestValue } from '../core/digest.ts';
import { LIMIT_CEILINGS, narrow } from '../core/limits.ts';
import type { Risk, Tool, ToolAnnotations, ToolSkill } from '../core/tool.ts';
import type { WasmGrants } from '../core/wasm.ts';
import { formatAddress } from '../egress/address.ts';
import { widthOf } from '../egress/address-range.ts';
import type { Place } from '../egress/place.ts';
import { parseRule } from '../egress/rule.ts';
import type { SkillGrant } from '../skills/grant.ts';
import type { Manifest, ManifestTool } from '../skills/manifest/manifest.ts';

/** The tools of an installed skill, as records like every other: what the manifest says of them, met by what was granted. */

type GrantedSkill = {
  readonly manifest: Manifest;
  readonly artifact: Digest;
  /** Of the files of its package. */
  readonly digests: ReadonlyMap<string, Digest>;
  readonly grant: SkillGrant;
  readonly trust: ToolSkill['trust'];
  /** A file of its package; the reader checks it against the digest. */
  readonly read: (path: string) => Promise<Uint8Array>;
};

const CATEGORY = 'skill';
const RISKS: readonly Risk[] = ['low', 'medium', 'high'];

/** The id of a tool in the registry. */
export function toolIdOf(skill: string, tool: string): string {
  return `${skill}.${tool}`;
}

/** Every tool of a skill, bound to its bytes and to its grant: a call that was approved under another is not approved. */
export function skillTools(skill: GrantedSkill): readonly Tool[] {
  const { manifest, artifact, grant } = skill;
  const open = openGrants(grant.wasm);
  const shared = {
    category: CATEGORY,
    capabilities: capabilitiesOf(open),
    tier: 'a',
    limits: narrow(LIMIT_CEILINGS, grant.limits),
    paths: () => [],
    skill: { id: manifest.id, version: manifest.version, publisher: manifest.publisher, trust: skill.trust },
  } as const;
  const hosts = hostsOf(open);
  const bound = [
    { name: `${manifest.id}@${manifest.version}`, sha256: artifact },
    { name: 'grant', sha256: digestValue(grant) },
  ];
  return manifest.tools.map((tool) => {
    const sha256 = moduleDigest(skill, tool);
    return {
      ...shared,
      id: toolIdOf(manifest.id, tool.id),
      title: tool.name,
      description: tool.description,
      risk: higher(tool.risk, riskOf(open)),
      inputSchema: tool.inputSchema,
      outputSchema: tool.outputSchema,
      annotations: honestAnnotations(tool.annotations, open),
      hosts: () => hosts,
      artifacts: [...bound, { name: tool.module, sha256 }],
      executor: {
        kind: 'wasm',
        program: {
          skill: manifest.id,
          sha256,
          read: () => skill.read(tool.module),
          exportName: tool.export,
          grants: grant.wasm,
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

/** The grants without what was asked for and withheld: policies see what a call can do, not what it requested. */
export function openGrants(grants: WasmGrants): WasmGrants {
  return {
    ...grants,
    http: grants.http.filter((entry) => entry !== null),
    secrets: grants.secrets.filter(({ mayReveal, hosts }) => mayReveal || hosts.length > 0),
    storage: grants.storage.filter(({ read, write }) => read.length > 0 || write.length > 0),
    channels: grants.channels.filter(({ publish, receive }) => publish || receive),
  };
}

/** Boundary: a manifest that plays its risk down does not get below what its grant can do. */
function higher(one: Risk, other: Risk): Risk {
  return RISKS.indexOf(one) > RISKS.indexOf(other) ? one : other;
}

/** Boundary: what a manifest says about itself holds only as far as its grant leaves it true. */
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

/* What the grants of a module mean for policies and people. Pure. */

/** What a module can be granted. */
export type GrantKind = 'http' | 'secret' | 'storage' | 'channel' | 'log' | 'clock' | 'random' | 'config';

/** Kinds that reach what is there beside the call and after it. */
const REACHING: ReadonlySet<string> = new Set<GrantKind>(['http', 'secret', 'storage', 'channel']);
const REVEAL = 'secret:reveal';

/** The kinds of what was granted, in one order; and, where a secret may be read, one more for that. */
export function capabilitiesOf(grants: WasmGrants): readonly string[] {
  const isGranted: Readonly<Record<GrantKind, boolean>> = {
    http: grants.http.length > 0,
    secret: grants.secrets.length > 0,
    storage: grants.storage.length > 0,
    channel: grants.channels.length > 0,
    log: grants.log,
    clock: grants.clock,
    random: grants.random,
    config: grants.config !== null,
  };
  const kinds = Object.entries(isGranted).flatMap(([kind, is]) => (is ? [kind] : []));
  return grants.secrets.some(({ mayReveal }) => mayReveal) ? [...kinds, REVEAL] : kinds;
}

/** Low where all that it can do is compute; what reaches further is for people to run. */
export function riskOf(grants: WasmGrants): Risk {
  return capabilitiesOf(grants).some((kind) => REACHING.has(kind)) ? 'medium' : 'low';
}

/** The hosts of the http grants as policies see them: a name, `*.name`, an address or a range. */
export function hostsOf({ http }: WasmGrants): readonly string[] {
  const hosts = http.flatMap((entry) => {
    const rule = entry === null ? null : parseRule(entry);
    return rule?.ok ? [writePlace(rule.value.place)] : [];
  });
  return [...new Set(hosts)];
}

function writePlace(place: Place): string {
  if (place.kind === 'name') return place.name;
  if (place.kind === 'below') return `*.${place.name}`;
  const { family, first, bits } = place.range;
  const address = formatAddress({ family, value: first });
  return bits === widthOf(family) ? address : `${address}/${bits}`;
}

/** The grants as `--grant` takes them, for people to read and for an approval to be bound to. */
export function spellGrants(grants: WasmGrants): readonly string[] {
  return [
    ...grants.http.map((entry) => `http=${entry}`),
    ...grants.secrets.map(
      ({ name, mayReveal, hosts }) =>
        `secret=${name}${mayReveal ? ':reveal' : ''}${hosts.length === 0 ? '' : `@${hosts.join()}`}`,
    ),
    ...grants.storage.map(({ read, write }) => `storage=${read.join()}${write.length === 0 ? ':ro' : ''}`),
    ...grants.channels.map(
      ({ name, publish, receive }) =>
        `channel=${name}${publish && receive ? '' : publish ? ':publish' : ':receive'}`,
    ),
    ...(['log', 'clock', 'random'] as const).filter((kind) => grants[kind]),
    ...Object.entries(grants.config ?? {}).map(([key, value]) => `config:${key}=${value}`),
  ];
}
