import { inspect, WasmError } from '@palisade/wasm';
import { CodedError } from '../../core/coded-error.ts';
import { type Digest, digestValue } from '../../core/digest.ts';
import { anyText, list, looseObject, type Shaped } from '../../core/json-shape.ts';
import { choice, optional, required, withDefault } from '../../core/shape.ts';
import { BOM_LIMITS, MAX_SHOWN_DIFFERENCES } from '../limits.ts';
import type { Manifest, ManifestComponent } from '../manifest/manifest.ts';
import { LOCK_FILE, type LockedPackage, lockedPackages } from './package-lock.ts';
import type { Contents } from './signature.ts';
import {
  type Entries,
  fileDifferences,
  modulesOf,
  PACKAGE_FILES,
  readDocument,
  type SkillPackage,
  showText,
} from './skill-package.ts';

/*
 * The bill of materials that packing makes: CycloneDX 1.6 with the modules and their digests, what skill.toml names,
 * what package-lock.json locks, and the tools that the modules say made them. It depends on the files alone: no time,
 * no randomness, and its serial number is derived from the digests.
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

/** The tools that produced a module; languages do not count. */
const TOOL_FIELDS: ReadonlySet<string> = new Set(['processed-by', 'sdk']);

/** The bill of materials of these files; the same files and version give the same bytes. */
export function makeBom(contents: Contents, manifest: Manifest, palisade: string): string {
  const components = new Map<string, Component>();
  const all = [
    ...modulesOf(contents.digests).map(moduleComponent),
    ...manifest.components.map(namedComponent),
    ...requireLocked(contents.entries).map(lockedComponent),
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

/** The package URL of a skill: purl has no type for skills, so it is a generic one below its publisher. */
function skillPurl({ publisher, id, version }: Pick<Manifest, 'publisher' | 'id' | 'version'>): string {
  return `pkg:generic/${publisher}/${id}@${encodeURIComponent(version)}`;
}

/** How a component of the manifest is known in the bill. */
function componentRef({ name, version, purl }: NamedComponent): string {
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
  const hashes = [{ alg: 'SHA-256', content: digest }];
  return { type: 'file', 'bom-ref': `file:${path}`, name: path, hashes };
}

function namedComponent(component: ManifestComponent): Component {
  const { name, version, purl, license } = component;
  const more = { ...licensed(license), ...(purl === null ? {} : { purl }) };
  return { type: 'library', 'bom-ref': componentRef(component), name, version, ...more };
}

function lockedComponent({ name, version, purl, sha512 }: LockedPackage): Component {
  const hashes = sha512 === null ? {} : { hashes: [{ alg: 'SHA-512', content: sha512 }] };
  return { type: 'library', 'bom-ref': purl, name, version, ...hashes, purl };
}

function licensed(license: string | null): Pick<Component, 'licenses'> {
  return license === null ? {} : { licenses: [{ license: { name: license } }] };
}

function requireLocked(entries: Entries): readonly LockedPackage[] {
  const lock = lockedPackages(entries);
  if (lock.ok) return lock.value;
  const message = `Cannot make ${PACKAGE_FILES.bom}: ${lock.problem}`;
  const remedy = 'Regenerate it with `npm install`, or remove it from the folder.';
  throw new CodedError('skill/invalid-package', message, { remedy });
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
    // Boundary: bytes that are not a module, or are a component, name no tools; the audit refuses them.
    if (error instanceof WasmError) return [];
    throw error;
  }
}

/** A UUID of version 8, which is for makers' own purposes, out of the digests. */
function serialOf(digests: ReadonlyMap<string, Digest>): string {
  const hex = digestValue([...digests]);
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  const [version, clock] = [`8${hex.slice(13, 16)}`, `${variant}${hex.slice(17, 20)}`];
  return [hex.slice(0, 8), hex.slice(8, 12), version, clock, hex.slice(20, 32)].join('-');
}

/** What is read of a bill of materials, whoever made it. */
const BOM_COMPONENT = looseObject({
  type: optional(anyText),
  name: required(anyText),
  version: optional(anyText),
  purl: optional(anyText),
  hashes: withDefault(list(looseObject({ alg: required(anyText), content: required(anyText) })), []),
});
const BOM = looseObject({
  bomFormat: required(choice(['CycloneDX']), '"bomFormat": "CycloneDX"'),
  metadata: optional(looseObject({ component: optional(BOM_COMPONENT) })),
  components: withDefault(list(BOM_COMPONENT), []),
});
type BomComponent = Shaped<typeof BOM_COMPONENT>;
type NamedComponent = Pick<ManifestComponent, 'name' | 'version' | 'purl'>;

/** Where the bill of materials does not fit the package: one sentence each, empty when it fits. */
export function checkBom(pkg: SkillPackage): readonly string[] {
  const bom = readDocument(pkg, PACKAGE_FILES.bom, BOM_LIMITS, BOM);
  if (!bom.ok) return [bom.problem];
  const { metadata, components } = bom.value;
  const files = components
    .filter(({ type }) => type === 'file')
    .map(({ name, hashes }) => [name, hashes.find(({ alg }) => alg === 'SHA-256')?.content ?? ''] as const);
  return [
    ...skillProblems(metadata?.component ?? null, pkg),
    ...fileDifferences(files, modulesOf(pkg.digests), pkg),
    ...missingComponents(components, pkg),
  ].slice(0, MAX_SHOWN_DIFFERENCES);
}

/** The components with a name and a version in the bill of materials; none where it cannot be read. */
export function bomComponents(pkg: SkillPackage): readonly NamedComponent[] {
  const bom = readDocument(pkg, PACKAGE_FILES.bom, BOM_LIMITS, BOM);
  const components = bom.ok ? bom.value.components : [];
  return components.flatMap(({ name, version, purl }) => (version === null ? [] : [{ name, version, purl }]));
}

function skillProblems(component: BomComponent | null, { manifest }: SkillPackage): readonly string[] {
  const expected = { name: manifest.id, version: manifest.version, purl: skillPurl(manifest) };
  return (['name', 'version', 'purl'] as const).flatMap((key) => {
    const is = component?.[key] ?? null;
    if (is === expected[key]) return [];
    return [`Its ${key} of the skill is ${showText(is)}, expected "${expected[key]}".`];
  });
}

function missingComponents(
  components: readonly BomComponent[],
  { manifest, entries }: SkillPackage,
): readonly string[] {
  const named = new Set(
    components.map(({ name, version, purl }) => componentRef({ name, version: version ?? '', purl })),
  );
  const asked = manifest.components.filter((each) => !named.has(componentRef(each)));
  const problems = asked.map(({ name, version }) => `It does not name "${name}" ${version} of skill.toml.`);
  const lock = lockedPackages(entries);
  if (!lock.ok) return [...problems, `The lock file cannot be compared with it: ${lock.problem}.`];
  const locked = lock.value.filter(({ purl }) => !named.has(purl));
  return [...problems, ...locked.map(({ purl }) => `It does not name "${purl}" of ${LOCK_FILE}.`)];
}
