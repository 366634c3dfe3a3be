/**
 * The bill of materials of a release, as CycloneDX: what is bundled in `palisade`, what npm installs beside it, and the
 * launchers with the C library that is linked into each. It has no time and no random number in it.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { BUNDLED } from '../licences.mjs';

/** The file in a release. */
export const BOM = 'palisade.cdx.json';

/** Makes the bill from the built gateway, the lock file and the launchers. */
export function billOf({ gateway, lock, launchers, version, libraries }) {
  const manifest = JSON.parse(readFileSync(join(gateway, 'package.json'), 'utf8'));
  const bundled = JSON.parse(readFileSync(join(gateway, 'dist', BUNDLED), 'utf8'));
  const installed = closureOf(manifest.dependencies, lock.packages);
  const own = reference('palisade', version);
  const components = [
    ...bundled.map((each) => ({
      ...npmComponent(each, lock),
      scope: 'required',
      properties: [how('bundled')],
    })),
    ...installed.map((each) => ({ ...npmComponent(each, lock), properties: [how('installed')] })),
    ...launchers.map(({ released }) => launcherComponent(released, version)),
    ...libraries.map(libraryComponent),
  ];
  const unique = [...new Map(components.map((each) => [each['bom-ref'], each])).values()];
  const byReference = (a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1);
  const bill = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        type: 'application',
        'bom-ref': own,
        name: 'palisade',
        version,
        purl: own,
        ...licence('Apache-2.0'),
      },
    },
    components: unique.sort(byReference),
    dependencies: [
      {
        ref: own,
        dependsOn: [...bundled, ...installed].map(({ name, version: each }) => reference(name, each)).sort(),
      },
      ...launchers.map(({ released, target }) => ({
        ref: reference(released.package, version),
        dependsOn: libraries.filter(({ arch }) => arch === target.arch).map(libraryReference),
      })),
    ],
  };
  return { ...bill, serialNumber: `urn:uuid:${uuidOf(JSON.stringify(bill))}` };
}

/** What npm installs for these names, each with its own version, as the lock file has them. */
function closureOf(names, packages) {
  const found = new Map();
  const visit = (dependencies) => {
    for (const name of Object.keys(dependencies ?? {})) {
      const entry = packages[`node_modules/${name}`];
      if (entry === undefined || found.has(name)) continue;
      const folder = entry.link ? packages[entry.resolved] : entry;
      found.set(name, { name, version: folder.version, license: folder.license });
      visit({ ...folder.dependencies, ...folder.optionalDependencies });
    }
  };
  visit(names);
  return [...found.values()];
}

function npmComponent({ name, version, license }, { packages }) {
  const entry = Object.entries(packages).find(
    ([path, each]) => path.endsWith(`node_modules/${name}`) && each.version === version,
  );
  const [algorithm, digest = ''] = (entry?.[1].integrity ?? '').split('-');
  const hashes =
    algorithm === 'sha512'
      ? [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }]
      : [];
  const purl = reference(name, version);
  return { type: 'library', 'bom-ref': purl, name, version, purl, ...licence(license), hashes };
}

function launcherComponent({ package: name, sha256 }, version) {
  const purl = reference(name, version);
  const hashes = [{ alg: 'SHA-256', content: sha256 }];
  const about = {
    scope: 'optional',
    properties: [how('installed where os and cpu fit; the digest is of the program')],
  };
  return {
    type: 'application',
    'bom-ref': purl,
    name,
    version,
    purl,
    ...licence('Apache-2.0'),
    hashes,
    ...about,
  };
}

function libraryComponent({ name, version, licence: id, debian, arch }) {
  const purl = libraryReference({ debian, version, arch });
  const about = { properties: [how(`linked into the launcher of linux-${arch}`)] };
  return { type: 'library', 'bom-ref': purl, name, version, purl, ...licence(id), ...about };
}

function libraryReference({ debian, version, arch }) {
  return `pkg:deb/debian/${debian}@${encodeURIComponent(version)}?for=${arch}`;
}

function licence(id) {
  const isExpression = / (AND|OR|WITH) /.test(id);
  return { licenses: [isExpression ? { expression: id } : { license: { id } }] };
}

function how(value) {
  return { name: 'palisade:how', value };
}

function reference(name, version) {
  return `pkg:npm/${name.replace('@', '%40')}@${version}`;
}

/** A name from a digest, in the form of a UUID of version 8. */
function uuidOf(text) {
  const hex = createHash('sha256').update(text).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-a${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
