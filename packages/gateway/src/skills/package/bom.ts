import { inspect, WasmError } from '@palisade/wasm';
import { CodedError } from '../../core/coded-error.ts';
import { type Digest, digestValue } from '../../core/digest.ts';
import type { Manifest, ManifestComponent } from '../manifest/manifest.ts';
import { modulesOf } from './digests.ts';
import { LOCK_FILE, type LockedPackage, readLock } from './package-lock.ts';
import { type Entries, PACKAGE_FILES } from './skill-package.ts';
import type { Contents } from './statement.ts';

/*
 * The bill of materials that packing makes: CycloneDX 1.6 with the modules and their digests, what skill.toml names,
 * what package-lock.json locks, and the tools that the modules say made them. It follows from the files alone: no time,
 * no chance, and its serial number is made of the digests.
 */

/** One component in the form of CycloneDX. */
type Component = {
  readonly type: 'file' | 'library' | 'application';
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version?: string;
  readonly scope?: 'excluded';
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly licenses?: readonly { readonly license: { readonly name: string } }[];
  readonly purl?: string;
};

/** Whose tools made a module; languages are none. */
const TOOL_FIELDS: ReadonlySet<string> = new Set(['processed-by', 'sdk']);

/** The bill of materials of these files; the same files and version give the same bytes. */
export function makeBom(contents: Contents, manifest: Manifest, palisade: string): string {
  const components = new Map<string, Component>();
  const all = [
    ...modulesOf(contents.digests).map(moduleComponent),
    ...manifest.components.map(namedComponent),
    ...lockedPackages(contents.entries).map(lockedComponent),
    ...toolComponents(contents),
  ];
  for (const each of all) if (!components.has(each['bom-ref'])) components.set(each['bom-ref'], each);
  const bom = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: `urn:uuid:${serialOf(contents.digests)}`,
    version: 1,
    metadata: {
      tools: { components: [{ type: 'application', name: 'palisade', version: palisade }] },
      component: skillComponent(manifest),
    },
    components: [...components.values()],
    dependencies: [{ ref: skillPurl(manifest), dependsOn: [...components.keys()] }],
  };
  return `${JSON.stringify(bom, null, 2)}\n`;
}

/** The package URL of a skill: there is no type for skills, so it is a generic one below its publisher. */
export function skillPurl({
  publisher,
  id,
  version,
}: Pick<Manifest, 'publisher' | 'id' | 'version'>): string {
  return `pkg:generic/${publisher}/${id}@${encodeURIComponent(version)}`;
}

/** How a component of the manifest is known in the bill. */
export function componentRef({
  name,
  version,
  purl,
}: Pick<ManifestComponent, 'name' | 'version' | 'purl'>): string {
  return purl ?? `component:${name}@${version}`;
}

function skillComponent(manifest: Manifest): object {
  const { id, version, publisher, description, license, homepage } = manifest;
  return {
    type: 'application',
    'bom-ref': skillPurl(manifest),
    publisher,
    name: id,
    version,
    description,
    ...licensed(license),
    purl: skillPurl(manifest),
    ...(homepage === null ? {} : { externalReferences: [{ type: 'website', url: homepage }] }),
  };
}

function moduleComponent([path, digest]: readonly [string, Digest]): Component {
  return {
    type: 'file',
    'bom-ref': `file:${path}`,
    name: path,
    hashes: [{ alg: 'SHA-256', content: digest }],
  };
}

function namedComponent(component: ManifestComponent): Component {
  const { name, version, purl, license } = component;
  return {
    type: 'library',
    'bom-ref': componentRef(component),
    name,
    version,
    ...licensed(license),
    ...(purl === null ? {} : { purl }),
  };
}

function lockedComponent({ name, version, purl, sha512 }: LockedPackage): Component {
  const hashes = sha512 === null ? {} : { hashes: [{ alg: 'SHA-512', content: sha512 }] };
  return { type: 'library', 'bom-ref': purl, name, version, ...hashes, purl };
}

function licensed(license: string | null): Pick<Component, 'licenses'> {
  return license === null ? {} : { licenses: [{ license: { name: license } }] };
}

function lockedPackages(entries: Entries): readonly LockedPackage[] {
  const bytes = entries.get(LOCK_FILE);
  if (bytes === undefined) return [];
  const lock = readLock(bytes);
  if (lock.ok) return lock.packages;
  throw new CodedError(
    'skill/invalid-package',
    `Cannot make ${PACKAGE_FILES.bom}: ${LOCK_FILE}: ${lock.what}`,
    {
      remedy: 'Have npm write it anew with `npm install`, or leave it out of the folder.',
    },
  );
}

/** The tools that the modules name in their producers sections, each once, by name and version. */
function toolComponents({ entries, digests }: Contents): readonly Component[] {
  const tools = new Map<string, Component>();
  for (const [path] of modulesOf(digests)) {
    for (const { field, name, version } of producersOf(entries.get(path) ?? new Uint8Array())) {
      if (!TOOL_FIELDS.has(field) || name === '') continue;
      const ref = `tool:${name}@${version}`;
      const named = version === '' ? { name } : { name, version };
      tools.set(ref, { type: 'application', 'bom-ref': ref, scope: 'excluded', ...named });
    }
  }
  return [...tools].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, component]) => component);
}

function producersOf(bytes: Uint8Array): ReturnType<typeof inspect>['producers'] {
  try {
    return inspect(bytes).producers;
  } catch (error) {
    // Boundary: bytes that are no module, or a component, name no tools; to refuse them is for the audit.
    if (error instanceof WasmError) return [];
    throw error;
  }
}

/** A UUID of version 8, which is for makers' own purposes, out of the digests. */
function serialOf(digests: ReadonlyMap<string, Digest>): string {
  const hex = digestValue([...digests]);
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}
